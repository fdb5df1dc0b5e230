import { describe, expect, it } from 'vitest'
import {
  decodePayouts,
  encodePayouts,
  MAX_PAYOUTS,
  payoutsOf,
} from '../../../../pipelines/chain/columns/payouts.js'
import { REGTEST } from '../../../../pipelines/chain/networks.js'

const script = (index: number): Buffer => Buffer.from(`0014${index.toString(16).padStart(40, '0')}`, 'hex')
const paid = (value: bigint, index: number) => ({ value, script: script(index) })

describe('the payouts of a coinbase', () => {
  it('are those of outputs with value and address, the largest first, and of equal ones the first', () => {
    const outputs = [
      paid(0n, 1),
      paid(5n, 2),
      { value: 99n, script: Buffer.from('6a0141', 'hex') },
      paid(2n ** 60n, 3),
      paid(5n, 4),
      paid(2n ** 60n + 1n, 5),
      paid(5n, 2),
    ]
    const expected = [5, 3, 2, 4, 2].map(script)
    expect(payoutsOf(outputs, REGTEST)).toEqual(expected)
    expect(decodePayouts(encodePayouts(expected))).toEqual(expected)
    expect(decodePayouts(encodePayouts(payoutsOf([paid(0n, 1)], REGTEST)))).toEqual([])
  })

  it('are bounded, however many outputs there are', () => {
    const outputs = Array.from({ length: 5_000 }, (_, index) => paid(BigInt(index), index))
    const kept = Array.from({ length: MAX_PAYOUTS }, (_, index) => script(4_999 - index))
    expect(payoutsOf(outputs, REGTEST)).toEqual(kept)
  })
})
