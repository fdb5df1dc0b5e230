import { type BlockId, blockTag } from '../../../../pipelines/chain/block.js'
import { blocksFilter } from '../../../../pipelines/tables/chain-view.js'
import { SCRIPT_TX_COLUMNS } from '../../../../pipelines/tables/schema.js'
import { Selection } from '../../../../pipelines/tables/selection.js'
import { HEADS_OF_STATE } from '../../../../pipelines/tables/writers.js'
import { netChange } from '../state/overlay.js'
import { lastOfScript, locatedOf, pageOfScript } from '../reads/script.js'
import type { CanonicalBlocks } from '../tables/canonical-blocks.js'
import type { ChainState } from '../state/state.js'
import { blockTxKey } from '../tables/point-keys.js'
import type { ScriptRow } from '../tables/lookups.js'
import type { Tables } from '../tables/tables.js'

/** A confirmed transaction of a script. */
export interface ScriptTx {
  readonly txid: string
  readonly height: number
  /** Received minus sent, base units. */
  readonly change: bigint
}

/** The changes of a script between two states of the chain. */
export interface ScriptChanges {
  /** The txids in blocks that left the chain, some of which may be confirmed again. */
  readonly left: readonly string[]
  /** The transactions in blocks that joined it, in the order of the chain. */
  readonly confirmed: readonly ScriptTx[]
}

/** The number of rows of a script that are read first; blocks rarely contain more of its transactions. */
const FIRST_ROWS = 16
/** A client that has missed more blocks than this reads the state again. */
const MAX_BLOCKS = 2_000
const MAX_HEADS = 1_000

/** Returns the height of the highest block that two chains share, -1 if there is none. */
export function forkHeight(one: CanonicalBlocks, other: CanonicalBlocks): number {
  let height = Math.min(one.length, other.length) - 1
  while (height >= 0 && one.hashAt(height) !== other.hashAt(height)) height--
  return height
}

/** Returns the transactions of a script in the blocks of a chain above a height, in its order. @throws DatabaseUnavailable. */
export async function transactionsAbove(
  script: string,
  fork: number,
  chain: ChainState,
  tables: Tables,
): Promise<ScriptTx[]> {
  const last = await lastOfScript({ chain, tables }, script)
  if (last === undefined || last.height <= fork) return []
  for (let count = FIRST_ROWS; ; count *= 4) {
    const from = Math.max(1, last.ordinal - count + 1)
    const page = await pageOfScript({ chain, tables }, script, { from, to: last.ordinal }, [])
    const above = page.filter(({ row }) => row.height > fork)
    if (from === 1 || above.length < page.length) return withTxids(above, tables)
  }
}

async function withTxids(
  page: readonly { readonly row: ScriptRow; readonly change: bigint }[],
  tables: Tables,
): Promise<ScriptTx[]> {
  const located = await locatedOf(page, { tables })
  return located.map(({ txid, height }, at) => ({ txid, height, change: page[at]?.change ?? 0n }))
}

/** Returns the changes of a script between two states. @throws DatabaseUnavailable. */
export async function changesBetween(
  script: string,
  before: ChainState,
  now: ChainState,
  tables: Tables,
): Promise<ScriptChanges> {
  const fork = forkHeight(before.blocks, now.blocks)
  const [left, confirmed] = await Promise.all([
    before.height > fork ? transactionsAbove(script, fork, before, tables) : [],
    now.height > fork ? transactionsAbove(script, fork, now, tables) : [],
  ])
  return { left: left.map(({ txid }) => txid), confirmed }
}

/** The blocks that joined and left the chain after a position. */
export interface Missed {
  readonly fork: number
  readonly disconnected: readonly BlockId[]
}

/**
 * Returns what a client has missed that knows the state at a position of the log; undefined if it is too much.
 * @throws DatabaseUnavailable.
 */
export async function missedSince(
  position: number,
  now: ChainState,
  tables: Tables,
): Promise<Missed | undefined> {
  const sql = `SELECT tip_height AS tip, arrayMap(each -> lower(hex(each)), connected) AS joined,
      arrayMap(each -> lower(hex(each)), disconnected) AS gone FROM heads
    WHERE heads.position > {from:Int64} AND heads.position <= {to:Int64} AND ${HEADS_OF_STATE}
      AND (notEmpty(connected) OR notEmpty(disconnected)) ORDER BY heads.position LIMIT 1 BY heads.position LIMIT ${String(MAX_HEADS + 1)}`
  type Row = { tip: string; joined: string[]; gone: string[] }
  const rows = await tables.query<Row>(sql, { from: position, to: now.position })
  if (rows.length > MAX_HEADS) return undefined
  const { connected, disconnected } = netChange(
    rows.map(({ tip, joined, gone }) => ({
      tipHeight: Number(tip),
      connected: joined,
      disconnected: gone,
    })),
  )
  if (connected.length + disconnected.length > MAX_BLOCKS) return undefined
  const lowest = Math.min(...[...connected, ...disconnected].map(({ height }) => height), now.height + 1)
  return { fork: lowest - 1, disconnected }
}

const ROW = new Selection(SCRIPT_TX_COLUMNS)

/** Returns the changes of a script that a client has missed. @throws DatabaseUnavailable. */
export async function missedOf(
  script: string,
  { fork, disconnected }: Missed,
  now: ChainState,
  tables: Tables,
): Promise<ScriptChanges> {
  const confirmed = now.height > fork ? await transactionsAbove(script, fork, now, tables) : []
  if (disconnected.length === 0) return { left: [], confirmed }
  const heights = disconnected.map(({ height }) => height)
  const span = { script, from: Math.min(...heights), to: Math.max(...heights) }
  const rows = await ROW.bytes(
    tables.unchecked,
    `FROM script_txs WHERE script_hash = unhex({script:String}) AND height BETWEEN {from:UInt32} AND {to:UInt32}
      AND ${blocksFilter(disconnected)}`,
    span,
  )
  const disconnectedKeys = new Set(
    disconnected.map(({ height, hash }) => `${String(height)} ${String(blockTag(hash))}`),
  )
  const left = rows.filter((row) => disconnectedKeys.has(`${String(row.height)} ${String(row.blockTag)}`))
  const txids = await tables.txids.getAll(left.map(blockTxKey))
  return { left: [...new Set(txids.values())], confirmed }
}
