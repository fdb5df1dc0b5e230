import { describe, expect, it } from 'vitest'
import { blockTag } from '../../../pipelines/chain/block.js'
import { ChainView, continuedView } from '../../../pipelines/tables/chain-view.js'
import type { Head } from '../../../pipelines/tables/head.js'
import { useDatabase } from '../../harness/engine.js'

/** A hash that ends with a tag. */
const hashOf = (start: string, tag: string): string => start.repeat(28) + tag

describe('the tag of a block', () => {
  it('is the last four bytes of its hash in display order', () => {
    expect(blockTag(hashOf('00', '8000abcd'))).toBe(0x8000_abcd)
    expect(blockTag(hashOf('ff', '00000001'))).toBe(1)
  })
})

describe('the filter by tags', () => {
  const db = useDatabase()
  const FINAL = 3_000_000
  /** Blocks by height: of the chain and of another branch. Tags are repeated at other heights, but not at the same one. */
  const chain = ['ffffffff', '00000001', '00000002', '00000003'].map((tag) => hashOf('11', tag))
  const other = ['00000001', 'ffffffff', '00000003', '00000002'].map((tag) => hashOf('22', tag))
  const lowest = FINAL - 1

  /** Returns the rows, of both branches, that a condition accepts: [height, whether its block is on the chain]. */
  async function accepted(filter: string): Promise<(readonly [number, boolean])[]> {
    const rows = [chain, other].flatMap((hashes, branch) =>
      hashes.map((hash, at) => `(${String(lowest + at)}, ${String(blockTag(hash))}, ${String(branch)})`),
    )
    const sql = `SELECT height, branch FROM values('height UInt32, block_tag UInt32, branch UInt8', ${rows.join(', ')})
      WHERE ${filter} ORDER BY height, branch`
    const found = await db().query<{ height: number; branch: number }>(sql)
    return found.map(({ height, branch }) => [height, branch === 0] as const)
  }

  it('accepts exactly the rows of the blocks of the chain', async () => {
    const head = { tipHeight: FINAL + 2, tipHash: chain[3] ?? '', finalHeight: FINAL } as Head
    const tail = new Map(chain.slice(2).map((hash, at) => [FINAL + 1 + at, hash]))
    const stale = new Map(other.slice(0, 2).map((hash, at) => [hash, lowest + at]))
    const view = new ChainView(head, tail, stale)
    expect(await accepted(view.tagFilter())).toEqual([0, 1, 2, 3].map((at) => [lowest + at, true]))
    const named = view.tagFilter('rows.height', 'rows.block_tag')
    expect(named).not.toBe(view.tagFilter())
  })

  it('accepts rows above the final height only of known blocks, and all others if no block is stale', async () => {
    const head = { tipHeight: FINAL, tipHash: chain[1] ?? '', finalHeight: FINAL } as Head
    const view = new ChainView(head, new Map(), new Map())
    expect(await accepted(view.tagFilter())).toEqual([
      [lowest, true],
      [lowest, false],
      [FINAL, true],
      [FINAL, false],
    ])
  })
})

describe('a view that is continued by heads', () => {
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name) => hashOf(`1${name}`, '00000001')) as [
    string,
    string,
    string,
    string,
    string,
  ]
  const start = { position: 5, tipHeight: 11, tipHash: b, finalHeight: 9 } as Head
  const stale = new Map([[hashOf('22', '00000001'), 8]])
  const view = new ChainView(
    start,
    new Map([
      [10, a],
      [11, b],
    ]),
    stale,
  )
  const replacing = {
    position: 8,
    previous: 5,
    tipHeight: 12,
    tipHash: d,
    finalHeight: 10,
    disconnected: [b],
    connected: [c, d],
  } as unknown as Head
  const extended = {
    position: 9,
    previous: 8,
    tipHeight: 13,
    tipHash: e,
    finalHeight: 11,
    disconnected: [],
    connected: [e],
  } as unknown as Head

  it('has their blocks, and those below as before', () => {
    const next = continuedView(view, [replacing, extended])
    expect(next?.head).toEqual({ ...extended, finalHeight: 9 })
    expect([10, 11, 12, 13].map((height) => next?.hashAt(height))).toEqual([a, c, d, e])
    expect(next?.isCanonical(11, b)).toBe(false)
    expect(next?.stale).toEqual(stale)
    expect(view.hashAt(11)).toBe(b)
  })

  it.each([
    ['that follow another position', { ...replacing, previous: 4 }],
    ['that disconnect a block that is not the tip', { ...replacing, disconnected: [a] }],
    ['that lower the final height', { ...replacing, finalHeight: 8 }],
    ['whose height is not that of their blocks', { ...replacing, tipHeight: 13 }],
  ])('is not continued by heads %s', (_what, head) => {
    expect(continuedView(view, [head])).toBeUndefined()
  })
})
