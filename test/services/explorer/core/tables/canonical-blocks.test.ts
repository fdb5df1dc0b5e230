import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { blockTag } from '../../../../../pipelines/chain/block.js'
import { ChainView, MissingBlock } from '../../../../../pipelines/tables/chain-view.js'
import type { Head } from '../../../../../pipelines/tables/head.js'
import { EncodedRows, table } from '../../../../../pipelines/tables/rowbinary.js'
import type { BlockRow } from '../../../../../services/explorer/core/tables/blocks.js'
import { blockKey } from '../../../../../services/explorer/core/tables/point-keys.js'
import {
  CanonicalBlocks,
  nextCanonicalBlocks,
} from '../../../../../services/explorer/core/tables/canonical-blocks.js'

const ROWS = table('blocks', { height: 'u32', hash: 'hash', time: 'u32' })
const FINALITY = 100

const hashOf = (height: number, branch: string): string =>
  createHash('sha256')
    .update(`${branch} ${String(height)}`)
    .digest('hex')
const timeOf = (hash: string): number => Number.parseInt(hash.slice(0, 8), 16)

/** Returns the view of a chain, given the hashes of all blocks by height and of those that were replaced. */
function viewOf(hashes: readonly string[], replaced: ReadonlyMap<string, number>): ChainView {
  const tipHeight = hashes.length - 1
  const finalHeight = Math.max(-1, tipHeight - FINALITY)
  const tail = new Map(hashes.map((hash, height) => [height, hash] as const).slice(finalHeight + 1))
  const stale = new Map([...replaced].filter(([, height]) => height <= finalHeight))
  return new ChainView({ tipHeight, tipHash: hashes.at(-1) ?? '', finalHeight } as Head, tail, stale)
}

/** Tables with the blocks of a chain, which record the ranges that are read. */
function tablesOf(hashes: readonly string[]) {
  const read: [from: number, to: number][] = []
  const bytes = (_: string, params: Readonly<Record<string, unknown>> = {}): Promise<Buffer> => {
    const { from, to } = params as { from: number; to: number }
    read.push([from, to])
    const rows = hashes
      .slice(from, to + 1)
      .map((hash, at) => ({ height: from + at, hash, time: timeOf(hash) }))
    // Parts that are not merged yet have rows twice, in any order.
    const encoded = new EncodedRows(ROWS, [...rows.reverse(), ...rows.slice(0, 3)])
    return Promise.resolve(Buffer.from(encoded.bytes))
  }
  const getAll = (keys: Iterable<string>): Promise<Map<string, BlockRow>> => {
    const heights = Array.from(keys, (key) => Buffer.from(key, 'hex').readUInt32LE())
    read.push([Math.min(...heights), Math.max(...heights)])
    const rows = heights.flatMap((height) => {
      const hash = hashes[height]
      return hash === undefined ? [] : [{ height, hash, time: timeOf(hash) } as BlockRow]
    })
    return Promise.resolve(new Map(rows.map((row) => [blockKey(row.height, row.hash), row])))
  }
  return { read, bytes, blocks: { getAll, get: () => Promise.reject(new Error('not used')) } }
}

function expectChain(blocks: CanonicalBlocks, hashes: readonly string[]): void {
  expect(blocks.length).toBe(hashes.length)
  expect(hashes.map((_, height) => blocks.hashAt(height))).toEqual(hashes)
  expect(hashes.every((hash, height) => blocks.has(height, blockTag(hash)))).toBe(true)
  expect(hashes.every((hash, height) => blocks.timeAt(height) === timeOf(hash))).toBe(true)
}

describe('the blocks of a chain', () => {
  const NONE = new Map<string, number>()

  it('are read completely at the start, and then only above the common ones', async () => {
    const hashes = Array.from({ length: 70_000 }, (_, height) => hashOf(height, 'main'))
    const first = tablesOf(hashes)
    const blocks = await nextCanonicalBlocks(first, CanonicalBlocks.NONE, viewOf(hashes, NONE))
    expectChain(blocks, hashes)
    expect(first.read).toEqual([
      [0, 65_535],
      [65_536, 69_999],
    ])
    const longer = [...hashes, hashOf(70_000, 'main'), hashOf(70_001, 'main')]
    const second = tablesOf(longer)
    expectChain(await nextCanonicalBlocks(second, blocks, viewOf(longer, NONE)), longer)
    expect(second.read).toEqual([[70_000, 70_001]])
    expectChain(blocks, hashes)
  })

  it('do not contain other blocks of the same heights, nor blocks above the tip', async () => {
    const hashes = Array.from({ length: 10 }, (_, height) => hashOf(height, 'main'))
    const blocks = await nextCanonicalBlocks(tablesOf(hashes), CanonicalBlocks.NONE, viewOf(hashes, NONE))
    expect(hashes.some((_, height) => blocks.has(height, blockTag(hashOf(height, 'other'))))).toBe(false)
    expect(blocks.has(10, blockTag(hashOf(10, 'main')))).toBe(false)
    expect(blocks.has(9, blockTag(hashes[8] ?? ''))).toBe(false)
    expect(() => blocks.hashAt(10)).toThrow(RangeError)
    expect(CanonicalBlocks.NONE.has(0, 0)).toBe(false)
  })

  it('follow every reorganisation, above and below the final height, without a change of earlier chains', async () => {
    let random = 7
    const below = (limit: number): number => {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31
      return random % limit
    }
    let hashes = Array.from({ length: 3_000 }, (_, height) => hashOf(height, 'main'))
    const replaced = new Map<string, number>()
    let blocks = await nextCanonicalBlocks(tablesOf(hashes), CanonicalBlocks.NONE, viewOf(hashes, NONE))
    const earlier: [CanonicalBlocks, readonly string[]][] = []
    for (let round = 0; round < 40; round++) {
      earlier.push([blocks, hashes])
      const fork = hashes.length - 1 - below(round % 4 === 0 ? 2_000 : 30)
      for (let height = fork + 1; height < hashes.length; height++) replaced.set(hashes[height] ?? '', height)
      const grown = fork + 1 + below(1_500)
      const branch = Array.from({ length: grown - fork }, (_, at) => hashOf(fork + 1 + at, String(round)))
      hashes = [...hashes.slice(0, fork + 1), ...branch]
      const tables = tablesOf(hashes)
      blocks = await nextCanonicalBlocks(tables, blocks, viewOf(hashes, replaced))
      expectChain(blocks, hashes)
      expect(tables.read).toEqual([[fork + 1, hashes.length - 1]])
    }
    for (const [chain, expected] of earlier) expectChain(chain, expected)
  })

  it('shrink with the chain, to nothing', async () => {
    const hashes = Array.from({ length: 1_500 }, (_, height) => hashOf(height, 'main'))
    const blocks = await nextCanonicalBlocks(tablesOf(hashes), CanonicalBlocks.NONE, viewOf(hashes, NONE))
    for (const length of [1_200, 1_024, 0]) {
      const shorter = hashes.slice(0, length)
      const tables = tablesOf(shorter)
      expectChain(await nextCanonicalBlocks(tables, blocks, viewOf(shorter, NONE)), shorter)
      expect(tables.read).toEqual([])
    }
  })

  it('are found by the beginning and by the end of their hashes, the newest first', async () => {
    // As of blocks with proof of work: up to six zeros at the beginning.
    const hashes = Array.from({ length: 2_100 }, (_, height) =>
      hashOf(height, 'main')
        .slice(height % 7)
        .padStart(64, '0'),
    )
    const blocks = await nextCanonicalBlocks(tablesOf(hashes), CanonicalBlocks.NONE, viewOf(hashes, NONE))
    const naive = (digits: string, most: number): object[] =>
      hashes
        .map((hash, height) => ({ height, hash }))
        .filter(({ hash }) => hash.startsWith(digits) || hash.endsWith(digits))
        .reverse()
        .slice(0, most)
    const some = [0, 1, 2, 3, 4, 1_023, 1_024, 2_047, 2_048, 2_099].map((height) => hashes[height] ?? '')
    const queries = some.flatMap((hash) =>
      [4, 5, 6, 7, 8, 63, 64].flatMap((length) => [hash.slice(0, length), hash.slice(-length)]),
    )
    for (const digits of [...queries, '0000', '7777', 'abcd', '0000a'])
      for (const most of [1, 3, 10_000])
        expect(blocks.matching(digits, most), digits).toEqual(naive(digits, most))
    expect(blocks.matching('0000', 10_000).length).toBeGreaterThan(100)
    expect(CanonicalBlocks.NONE.matching('0000', 10)).toEqual([])
  })

  it('are found by their time: the lowest of that time or later', async () => {
    const hashes = Array.from({ length: 1_100 }, (_, height) => hashOf(height, 'main'))
    const blocks = await nextCanonicalBlocks(tablesOf(hashes), CanonicalBlocks.NONE, viewOf(hashes, NONE))
    const highest = Math.max(...hashes.map(timeOf))
    for (const time of [0, highest, highest - 1, 0xffff_f000, ...hashes.slice(1_020, 1_030).map(timeOf)]) {
      const naive = hashes.findIndex((hash) => timeOf(hash) >= time)
      expect(blocks.firstFrom(time)).toBe(naive === -1 ? undefined : naive)
    }
    expect(blocks.firstFrom(highest + 1)).toBeUndefined()
  })

  it('are not built from tables in which one is missing', async () => {
    const hashes = Array.from({ length: 5 }, (_, height) => hashOf(height, 'main'))
    const building = nextCanonicalBlocks(
      tablesOf(hashes.slice(0, 4)),
      CanonicalBlocks.NONE,
      viewOf(hashes, NONE),
    )
    await expect(building).rejects.toThrow(MissingBlock)
  })
})
