import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareBlock } from '../../../pipelines/mempool/expected-block.js'
import { LeanMempool } from '../../../pipelines/mempool/lean-mempool.js'
import { fullId } from '../../../pipelines/mempool/lean-tx.js'
import { naiveBlocks } from '../../harness/naive-fees.js'
import { idOf, leanOf, type MadeTx } from './lean.js'

const NOW = 10_000
const MAX_WEIGHT = 12_000

const shapes = fc.array(
  fc.record({
    fee: fc.bigInt(0n, 3_000n),
    vsize: fc.integer({ min: 60, max: 400 }),
    age: fc.integer({ min: 0, max: 400 }),
    parents: fc.array(fc.nat(), { maxLength: 2 }),
    isMined: fc.boolean(),
    isKnown: fc.boolean(),
  }),
  { maxLength: 40 },
)

interface Scene {
  readonly mempool: readonly MadeTx[]
  readonly mined: readonly MadeTx[]
}

/** Makes a mempool and a block: some of its transactions, some that were never seen, and some that conflict with the mempool's. */
function sceneOf(made: typeof shapes extends fc.Arbitrary<infer T> ? T : never): Scene {
  const all = made.map(({ fee, vsize, age, parents }, index): MadeTx => {
    const ids = [...new Set(parents.filter(() => index > 0).map((each) => each % index))]
    const spends = ids.map((id) => ({ txid: idOf(id), vout: index }))
    return {
      txid: idOf(index),
      fee,
      vsize,
      firstSeen: NOW - age,
      spends: [...spends, { txid: idOf(5_000 + index), vout: 7 }],
    }
  })
  const isMined = (index: number): boolean => {
    const { isMined: own, parents } = made[index]!
    return own && parents.every((each) => index === 0 || isMined(each % index))
  }
  const mempool = all.filter((_, index) => made[index]!.isKnown || !isMined(index))
  const mined = all.flatMap((tx, index) => {
    if (isMined(index)) return [tx]
    // Every third of the others has a competitor in the block.
    if (index % 3 > 0) return []
    return [{ ...tx, txid: idOf(9_000 + index), spends: [{ txid: idOf(5_000 + index), vout: 7 }] }]
  })
  return { mempool, mined }
}

function naiveComparison({ mempool, mined }: Scene) {
  const ids = new Set(mempool.map(({ txid }) => txid))
  const byId = new Map(mempool.map((tx) => [tx.txid, tx]))
  const depends = (tx: MadeTx): string[] => tx.spends.map(({ txid }) => txid).filter((txid) => ids.has(txid))
  const nodes = mempool.map((tx) => ({ ...tx, weight: tx.vsize * 4, depends: depends(tx) }))
  const [expected, following] = naiveBlocks(nodes, MAX_WEIGHT, 2)
  const expectedIds = expected?.txids ?? new Set<string>()
  const minedIds = new Set(mined.map(({ txid }) => txid))
  const spent = new Set(
    mined.flatMap(({ spends }) => spends.map(({ txid, vout }) => `${txid}:${String(vout)}`)),
  )
  const weightOf = (txs: readonly MadeTx[]): number => txs.reduce((sum, { vsize }) => sum + vsize * 4, 0)
  const isConflict = ({ spends }: MadeTx): boolean =>
    spends.some(({ txid, vout }) => spent.has(`${txid}:${String(vout)}`))
  const missing = [...expectedIds].filter((txid) => !minedIds.has(txid))
  const reasonsOf = (txid: string): string[] => {
    const tx = byId.get(txid)!
    if (isConflict(tx)) return ['conflict']
    const parents = depends(tx).filter((each) => missing.includes(each))
    if (parents.length > 0) return parents.flatMap(reasonsOf)
    if (mined.length === 0) return ['empty']
    if (NOW - tx.firstSeen < 180) return ['fresh']
    // Which of these it is depends on the place.
    return weightOf(mined) >= 0.95 * MAX_WEIGHT ? ['no_room', 'unknown'] : ['unknown']
  }
  const added = [...minedIds].filter((txid) => !expectedIds.has(txid))
  return {
    expected,
    mined: { count: mined.length, weight: weightOf(mined) },
    matched: [...expectedIds].filter((txid) => minedIds.has(txid)).length,
    missing: new Map(missing.map((txid) => [txid, reasonsOf(txid)])),
    added: new Map(
      added.map((txid) => [
        txid,
        !ids.has(txid)
          ? ['unseen']
          : following?.txids.has(txid) === true
            ? ['next', 'low_rate']
            : ['low_rate'],
      ]),
    ),
  }
}

describe('the comparison of a block with the expected one', () => {
  it('is that of a naive computation, for any families of transactions and any part of them in the block', async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(shapes, fc.integer({ min: 1, max: 3 }), async (made, scale) => {
        const scene = sceneOf(made.map((each) => ({ ...each, vsize: each.vsize * scale })))
        const mempool = new LeanMempool()
        mempool.change([], scene.mempool.map(leanOf))
        const result = await compareBlock(mempool, scene.mined.map(leanOf), MAX_WEIGHT, NOW)
        const naive = naiveComparison(scene)
        expect(result.expected).toEqual({
          count: naive.expected?.txids.size ?? 0,
          weight: naive.expected?.weight ?? 0,
          vsize: naive.expected?.vsize ?? 0,
          fees: naive.expected?.fees ?? 0n,
        })
        expect(result.mined).toMatchObject(naive.mined)
        expect(result.matched.count).toBe(naive.matched)
        expect(result.expected.count - result.matched.count).toBe(naive.missing.size)
        expect(new Set(result.missing.map(({ tx }) => fullId(tx.txid)))).toEqual(
          new Set(naive.missing.keys()),
        )
        expect(new Set(result.added.map(({ tx }) => fullId(tx.txid)))).toEqual(new Set(naive.added.keys()))
        for (const { tx, reason, rated } of result.missing) {
          seen.add(reason)
          expect(naive.missing.get(fullId(tx.txid))).toContain(reason)
          expect(rated).toMatchObject(naive.expected!.packages.get(fullId(tx.txid))!)
        }
        for (const { tx, reason } of result.added) {
          seen.add(reason)
          expect(naive.added.get(fullId(tx.txid))).toContain(reason)
        }
      }),
      { numRuns: 300, seed: 11 },
    )
    expect([...seen].sort()).toEqual(['conflict', 'fresh', 'low_rate', 'unknown', 'unseen'])
  })

  it('names those at the end of a full block, those that follow it, and those of an empty block', async () => {
    // By falling fee rates; thirty fill the block.
    const txs = Array.from({ length: 35 }, (_, index): MadeTx => {
      const spends = [{ txid: idOf(100 + index), vout: 0 }]
      return { txid: idOf(index), fee: BigInt(100_000 - index * 1_000), vsize: 100, firstSeen: 0, spends }
    })
    const mempool = new LeanMempool()
    mempool.change([], txs.map(leanOf))
    const mined = txs.filter((_, index) => ![3, 29].includes(index) && index < 32)
    const full = await compareBlock(mempool, mined.map(leanOf), MAX_WEIGHT, NOW)
    const reasonsOf = (all: readonly { tx: { txid: string }; reason: string }[]) =>
      all.map(({ tx, reason }) => [fullId(tx.txid), reason])
    expect(reasonsOf(full.missing)).toEqual([
      [idOf(3), 'unknown'],
      [idOf(29), 'no_room'],
    ])
    // One fits into a twentieth of a block.
    expect(reasonsOf(full.added)).toEqual([
      [idOf(30), 'next'],
      [idOf(31), 'low_rate'],
    ])
    const empty = await compareBlock(mempool, [], MAX_WEIGHT, NOW)
    expect(empty.missing).toHaveLength(30)
    expect(new Set(empty.missing.map(({ reason }) => reason))).toEqual(new Set(['empty']))
  })
})
