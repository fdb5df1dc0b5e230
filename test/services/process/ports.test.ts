import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../services/process/ports.js'

describe('a free port', () => {
  it('is none that an outgoing connection can take before it is used, and is not returned twice', async () => {
    const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()))
    expect(new Set(ports).size).toBe(ports.length)
    const range = await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').catch(() => '32768 60999')
    expect(Math.max(...ports)).toBeLessThan(Number(range.split(/\s/)[0]))
  })

  it('is returned to one process only, also before that listens', async () => {
    const range = { from: 31_000, to: 31_040 }
    const own = await Promise.all(Array.from({ length: 20 }, () => freePort('127.0.0.1', range)))
    const code = `
      const { freePort } = await import('./dist/services/process/ports.js')
      const ports = Array.from({ length: 10 }, () => freePort('127.0.0.1', ${JSON.stringify(range)}))
      console.log(JSON.stringify(await Promise.all(ports)))`
    const child = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
    const others = JSON.parse(child.stdout) as number[]
    expect(new Set([...own, ...others]).size).toBe(30)
  })

  it('is refused on an address that this machine does not have', async () => {
    await expect(freePort('192.0.2.1')).rejects.toThrow('EADDRNOTAVAIL')
  })
})
