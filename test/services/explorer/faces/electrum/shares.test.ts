import { expect, it } from 'vitest'
import { Shares } from '../../../../../services/explorer/faces/electrum/shares.js'

it('refuses what is too much of one client, or of all clients', () => {
  const shares = new Shares({ all: 5, each: 2 })
  expect([1, 2, 3].map(() => shares.take('192.0.2.1'))).toEqual([true, true, false])
  expect([1, 2].map(() => shares.take('192.0.2.2'))).toEqual([true, true])
  expect(shares.take('192.0.2.3')).toBe(true)
  expect(shares.take('192.0.2.4')).toBe(false)
  expect(shares.total).toBe(5)
  shares.give('192.0.2.1', 2)
  expect(shares.total).toBe(3)
  expect([1, 2, 3].map(() => shares.take('192.0.2.1'))).toEqual([true, true, false])
})

it('bounds clients of this machine only together: one may be a proxy', () => {
  const shares = new Shares({ all: 4, each: 1 })
  for (const client of ['127.0.0.1', '0000000000000000', '127.0.0.1', '127.0.0.1'])
    expect(shares.take(client)).toBe(true)
  expect(shares.take('127.0.0.1')).toBe(false)
})
