import { describe, expect, it } from 'vitest'
import { minimumOf } from '../../../../../../services/explorer/core/reads/fees/basis.js'

describe('the minimum fee rate', () => {
  it('is that of the node: of its mempool, or of what it relays', () => {
    const rate = (fees: Parameters<typeof minimumOf>[0]): number => {
      const { fee, vsize } = minimumOf(fees)
      return Number(fee) / vsize
    }
    expect(rate(undefined)).toBe(1)
    expect(rate({ mempoolMin: 5_000n, minRelay: 1_000n })).toBe(5)
    expect(rate({ mempoolMin: 100n, minRelay: 100n })).toBe(0.1)
    expect(rate({ mempoolMin: 100n, minRelay: 2_000n })).toBe(2)
  })
})
