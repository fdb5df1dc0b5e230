import { describe, expect, it } from 'vitest'
import { MAX_CLUSTER } from '../../../../../../pipelines/mempool/packages.js'
import { packagesInBlock } from '../../../../../../services/explorer/core/reads/mempool/block-contents.js'

const idOf = (at: number): string => at.toString(16).padStart(64, '0')
const tx = (at: number, fee: bigint, parent?: number) => ({
  txid: idOf(at),
  fee,
  size: 100,
  vsize: 100,
  weight: 400,
  outpoints: parent === undefined ? [] : [`${idOf(parent)}00000000`],
})

describe('the packages of a block', () => {
  it('are those of a parent whose child pays for it', () => {
    const packages = packagesInBlock([tx(1, 100n), tx(2, 900n, 1), tx(3, 500n), tx(4, 50n, 9)])
    const pair = { fee: 1_000n, vsize: 200 }
    expect([...packages].sort()).toEqual([
      [idOf(1), pair],
      [idOf(2), pair],
    ])
  })

  it('leave out a longer chain than packages are computed for, in time that does not grow with its square', () => {
    const chain = Array.from({ length: 20 * MAX_CLUSTER }, (_, at) =>
      tx(at + 1, BigInt(at), at === 0 ? undefined : at),
    )
    const begin = performance.now()
    expect(packagesInBlock(chain).size).toBe(0)
    expect(performance.now() - begin).toBeLessThan(5_000)
  })
})
