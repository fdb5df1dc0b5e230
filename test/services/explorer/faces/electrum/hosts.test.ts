import { expect, it } from 'vitest'
import { hostsOf } from '../../../../../services/explorer/faces/electrum/hosts.js'

it('lists the ports of each host, and the usual ones of its protocols', () => {
  const urls = 'tcp://a.example:50001, ssl://a.example:7000,wss://b.example/electrum,ssl://[2001:db8::1],'
  expect(hostsOf(urls)).toEqual({
    'a.example': { tcp_port: 50_001, ssl_port: 7_000 },
    'b.example': { wss_port: 443 },
    '[2001:db8::1]': { ssl_port: 50_002 },
  })
  expect(hostsOf(undefined)).toEqual({})
})
