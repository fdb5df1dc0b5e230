import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { ChainView } from '../../../../../pipelines/tables/chain-view.js'
import type { Head } from '../../../../../pipelines/tables/head.js'
import { EncodedRows, table } from '../../../../../pipelines/tables/rowbinary.js'
import { BLOCK_COLUMNS } from '../../../../../pipelines/tables/schema.js'
import {
  CanonicalBlocks,
  nextCanonicalBlocks,
} from '../../../../../services/explorer/core/tables/canonical-blocks.js'
import { MAX_LOOKED_UP, newBlocks } from '../../../../../services/explorer/core/tables/new-blocks.js'
import { nextRecentBlocks } from '../../../../../services/explorer/core/state/recent-blocks.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { blockKey } from '../../../../../services/explorer/core/tables/point-keys.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'

const logger = pino({ level: 'silent' })
const hashOf = (height: number): string => height.toString(16).padStart(64, '0')
const READ_BLOCKS = table('blocks', BLOCK_COLUMNS)

/** Returns the view of a chain with these heights above the final one. */
function viewOf(finalHeight: number, tipHeight: number): ChainView {
  const heights = Array.from({ length: tipHeight - finalHeight }, (_, index) => finalHeight + 1 + index)
  const head = { tipHeight, tipHash: hashOf(tipHeight), finalHeight } as Head
  return new ChainView(head, new Map(heights.map((height) => [height, hashOf(height)])), new Map())
}

/** The row of a block, in which only the columns that the state keeps differ from zero. */
function rowOf(height: number) {
  const zeros = Object.fromEntries(
    Object.entries(BLOCK_COLUMNS).map(([column, type]) => [
      column,
      { hash: '00'.repeat(32), bytes: Buffer.alloc(0), u64: 0n, u256: 0n, sum: 0n }[type as string] ?? 0,
    ]),
  )
  const own = {
    height,
    hash: hashOf(height),
    time: 1_000 + height,
    bits: 7,
    payouts: Buffer.from('0151', 'hex'),
  }
  return { ...zeros, ...own } as never
}

async function tablesWith(heights: readonly number[]) {
  const queries: string[] = []
  const bytes = (sql: string): Promise<Buffer> => {
    queries.push(sql)
    return Promise.resolve(Buffer.from(new EncodedRows(READ_BLOCKS, heights.map(rowOf)).bytes))
  }
  const query = (sql: string): Promise<never> => Promise.reject(new Error(`queried ${sql}`))
  const database = new AvailableDatabase({ query, bytes, ping: () => Promise.resolve(true) }, logger)
  await database.start()
  return { tables: new Tables(database), queries, database }
}

describe('the blocks of a new head', () => {
  it('are read by one query for all parts of the state', async () => {
    const { tables, queries, database } = await tablesWith([0, 1, 2])
    const view = viewOf(-1, 2)
    const [tip, canonical, recent] = await Promise.all([
      tables.blocks.get(blockKey(2, hashOf(2))),
      nextCanonicalBlocks(tables, CanonicalBlocks.NONE, view),
      nextRecentBlocks(tables, [], view),
    ])
    expect(queries).toHaveLength(1)
    expect(tip?.time).toBe(1_002)
    expect([0, 1, 2].map((height) => canonical.hashAt(height))).toEqual([0, 1, 2].map(hashOf))
    expect(recent.map(({ height, blockHash, time }) => [height, blockHash, time])).toEqual(
      [0, 1, 2].map((height) => [height, hashOf(height), 1_000 + height]),
    )
    expect(recent[0]).toMatchObject({
      bits: 7,
      payouts: '0151',
      coinbaseScript: '',
      chainwork: '00'.repeat(32),
    })
    database.close()
  })

  it('are read by ranges if they are many or final, and not at all if there are none', async () => {
    const { tables, queries, database } = await tablesWith([])
    expect(await newBlocks(tables, viewOf(-1, MAX_LOOKED_UP), 0)).toBeUndefined()
    expect(await newBlocks(tables, viewOf(5, 8), 5)).toBeUndefined()
    expect(await newBlocks(tables, viewOf(5, 8), 9)).toEqual([])
    expect(queries).toEqual([])
    expect(await newBlocks(tables, viewOf(5, 8), 6)).toEqual([])
    expect(queries).toHaveLength(1)
    database.close()
  })
})
