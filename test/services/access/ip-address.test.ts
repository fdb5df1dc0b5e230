import { describe, expect, it } from 'vitest'
import { classifyIp } from '../../../services/access/ip-address.js'

describe('addresses of the public Internet', () => {
  it.each(['8.8.8.8', '1.1.1.1', '223.255.255.1', '2606:4700::1111', '2a00:1450:4001:81b::200e'])(
    'include %s',
    (address) => {
      expect(classifyIp(address)).toEqual({ address, isPublic: true })
    },
  )

  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.8.8.8'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1', '192.168.1.1'],
    ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::7f00:1', 'fc00::1', 'fd12::1', 'fe80::1', 'fec0::1', 'ff02::1', '2001:db8::1'],
    // IPv4 within IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
    ...['::ffff:127.0.0.1', '::ffff:a00:1', '::10.0.0.1', '::ffff:0:127.0.0.1', '64:ff9b::127.0.0.1'],
    ...[
      '64:ff9b:1::1',
      '2002:7f00:1::',
      '2001:0:4136:e378:8000:63bf:3fff:fdd2',
      '100::1',
      '4000::1',
      '3fff::1',
    ],
  ])('do not include %s', (address) => {
    expect(classifyIp(address)?.isPublic).toBe(false)
  })

  it('include a mapped address if its IPv4 address is one', () => {
    expect(classifyIp('::ffff:8.8.8.8')).toEqual({ address: '8.8.8.8', isPublic: true })
  })

  it.each(['', 'localhost', '127.1', '0x7f000001', '2130706433', '::1%lo', '1.2.3.4.5'])(
    'are not spelled %j',
    (text) => {
      expect(classifyIp(text)).toBeUndefined()
    },
  )
})
