import type { ChainView } from '../../../../pipelines/tables/chain-view.js'
import type { BlockRow } from '../tables/blocks.js'
import type { Tables } from '../tables/tables.js'
import { newBlocks } from '../tables/new-blocks.js'

/** A block of the last days, with the columns that statistics need. */
export interface RecentBlock {
  readonly height: number
  readonly blockHash: string
  /** Unix seconds. */
  readonly time: number
  readonly bits: number
  /** 64 hexadecimal digits. */
  readonly chainwork: string
  /** `blocks.payouts` as hex; empty if the coinbase pays no address. */
  readonly payouts: string
  /** Hex. */
  readonly coinbaseScript: string
}

/** The longest window of statistics, plus the block below it. */
export const MAX_RECENT = 20_161

type Queries = Pick<Tables, 'query' | 'blocks'>

/** The chain's newest blocks, lowest first, up to the tip. */
export type RecentBlocks = readonly RecentBlock[]

/** Derives the recent blocks of a view from the recent blocks of an earlier view: reads only the blocks above the common blocks. */
export async function nextRecentBlocks(
  tables: Queries,
  before: RecentBlocks,
  view: ChainView,
): Promise<RecentBlocks> {
  const { tipHeight } = view.head
  const unchanged = before.slice(0, commonLength(before, view))
  const from = Math.max(0, (unchanged.at(-1)?.height ?? -1) + 1, tipHeight - MAX_RECENT + 1)
  const added = from > tipHeight ? [] : await blocksOf(tables, view, from, tipHeight)
  return [...unchanged, ...added].slice(-MAX_RECENT)
}

/** Returns how many of the blocks, from the lowest, are on the view's chain. */
export function commonLength(blocks: RecentBlocks, view: ChainView): number {
  let length = blocks.length
  for (; length > 0; length--) {
    const block = blocks[length - 1]
    if (
      block !== undefined &&
      block.height <= view.head.tipHeight &&
      view.isCanonical(block.height, block.blockHash)
    )
      break
  }
  return length
}

async function blocksOf(tables: Queries, view: ChainView, from: number, to: number): Promise<RecentBlock[]> {
  const few = await newBlocks(tables, view, from)
  if (few !== undefined) return few.map(recentBlockOf)
  const sql = `SELECT height, lower(hex(hash)) AS blockHash, time, bits, lower(hex(blocks.chainwork)) AS chainwork,
      lower(hex(blocks.payouts)) AS payouts, lower(hex(coinbase_script)) AS coinbaseScript FROM blocks
    WHERE height BETWEEN {from:UInt32} AND {to:UInt32} AND ${view.sqlFilter('height', 'hash')}
    ORDER BY height LIMIT 1 BY height`
  return tables.query<RecentBlock>(sql, { from, to })
}

const recentBlockOf = ({ payouts, coinbaseScript, ...row }: BlockRow): RecentBlock => ({
  height: row.height,
  blockHash: row.hash,
  time: row.time,
  bits: row.bits,
  chainwork: row.chainwork,
  payouts: payouts.toString('hex'),
  coinbaseScript: coinbaseScript.toString('hex'),
})
