import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findFork } from '../../../../pipelines/poll/chain/fork.js'

/** Two chains that share `shared` blocks; comparisons are counted. */
function chains(shared: number, own: number, node: number): { requested: number; fork: Promise<number> } {
  const result = { requested: 0, fork: Promise.resolve(0) }
  result.fork = findFork({
    ownTip: shared + own - 1,
    nodeTip: shared + node - 1,
    ownHash: (height) => Promise.resolve(height < shared ? `${height}` : `own ${height}`),
    nodeHash: (height) => {
      result.requested++
      return Promise.resolve(height < shared ? `${height}` : `node ${height}`)
    },
  })
  return result
}

describe('findFork', () => {
  it('finds the last block in common, for any two chains', async () => {
    const length = fc.integer({ min: 0, max: 300 })
    await fc.assert(
      fc.asyncProperty(length, length, length, async (shared, own, node) => {
        expect(await chains(shared, own, node).fork).toBe(shared - 1)
      }),
    )
  })

  it('makes few comparisons: one without a fork, eighteen at a depth of 400', async () => {
    const requested = async (shared: number, own: number, node: number): Promise<number> => {
      const result = chains(shared, own, node)
      await result.fork
      return result.requested
    }
    expect(await requested(1000, 0, 5)).toBe(1)
    expect(await requested(1000, 1, 2)).toBeLessThanOrEqual(3)
    expect(await requested(100_000, 400, 401)).toBeLessThanOrEqual(18)
  })

  it('treats a height at which the node no longer has a block as different', async () => {
    const fork = await findFork({
      ownTip: 9,
      nodeTip: 9,
      ownHash: (height) => Promise.resolve(String(height)),
      nodeHash: (height) => Promise.resolve(height > 4 ? undefined : String(height)),
    })
    expect(fork).toBe(4)
  })
})
