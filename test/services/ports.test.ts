import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../services/ports.js'

describe('a free port', () => {
  it('is none that an outgoing connection can take before it is used, and is not returned twice', async () => {
    const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()))
    expect(new Set(ports).size).toBe(ports.length)
    const range = await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').catch(() => '32768 60999')
    expect(Math.max(...ports)).toBeLessThan(Number(range.split(/\s/)[0]))
  })

  it('is refused on an address that this machine does not have', async () => {
    await expect(freePort('192.0.2.1')).rejects.toThrow('EADDRNOTAVAIL')
  })
})
