import { coded, StartRefused } from '../../errors.js'
import type { EventLog } from '../../log/port.js'
import { type ChainView, loadChainView } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'
import { onEachShard } from '../../tables/cluster/shards.js'
import { latestHead } from '../../tables/head.js'
import { SchemaMismatch, tablesOf } from '../../tables/schema-version.js'
import { BLOCK_TABLES } from '../../tables/visible.js'
import { newestWriter, SHOWN_HEADS } from '../../tables/writers.js'
import { BlockWriter } from '../apply/block-writer.js'
import { LogShrank } from '../poison.js'
import { type ChainEnd, positionsFrom, rewrite } from './repair.js'
import { WorkingChain } from '../working-chain.js'

/** Thrown if a replay is not possible; the message is for the operator. */
export class CannotReplay extends coded('HW_CANNOT_REPLAY', StartRefused) {}

export interface ReplayOptions {
  readonly from: number
  /** Inclusive. */
  readonly to: number
  /** See `OwnRowsOptions`: with another value than before, bodies of transactions are removed from the tables, or are added. */
  readonly hasBodies?: boolean | undefined
  /** Called when the blocks up to a height are written again. */
  readonly progress: (height: number) => void | Promise<void>
}

/**
 * Writes the rows of the chain's blocks between two heights again, from the log, while all processes continue. A row is a pure
 * function of its block's hash, so correct rows stay the same, and lost rows are restored. Delivery: at least once, idempotent.
 * Does not take over from the materializer, which alone writes heads.
 * @throws CannotReplay for heights outside of the chain; SchemaMismatch; LogShrank if the log does not contain the blocks.
 */
export async function replay(db: Database, log: EventLog, options: ReplayOptions): Promise<void> {
  const { from, to } = options
  const tables = await tablesOf(db)
  if (tables instanceof SchemaMismatch) throw tables
  await db.pinEngineRun()
  const head = await latestHead(db)
  if (head === undefined) throw new CannotReplay('nothing is indexed yet')
  if (from > to || to > head.tipHeight)
    throw new CannotReplay(`heights must be from 0 to ${String(head.tipHeight)}, the lower one first`)
  let view = await loadChainView(db, head)
  await rewriteSpan({ db, log, view }, options)
  // In `txs`, rows of blocks that have left the chain meanwhile may have replaced rows of blocks of the chain.
  for (let top = to; ; top = view.head.tipHeight) {
    const newest = await latestHead(db)
    if (newest === undefined) return
    const now = await loadChainView(db, newest)
    const left = leftFrom(view, now)
    if (left === undefined || left > top) return
    view = now
    const span = { ...options, from: left, to: newest.tipHeight, progress: () => undefined }
    await rewriteSpan({ db, log, view }, span)
  }
}

async function rewriteSpan(
  { db, log, view }: { readonly db: Database; readonly log: EventLog; readonly view: ChainView },
  { from, to, progress, hasBodies }: ReplayOptions,
): Promise<void> {
  const positions = await positionsBetween(db, log, view, from, to)
  const chain = new WorkingChain(view)
  const number = (): Promise<bigint> => newestWriter(db)
  const writer = new BlockWriter(db, undefined, undefined, hasBodies)
  await rewrite({ db, log, writer, chain, number }, positions, async (height) => {
    await db.assertNoLostWrites()
    await progress(height)
  })
}

/** Returns a height at or below the lowest block of a view that is not part of a later one; undefined if all are. */
function leftFrom(view: ChainView, now: ChainView): number | undefined {
  if (now.head.finalHeight < view.head.finalHeight) return now.head.finalHeight + 1
  return [...view.tail].find(([height, hash]) => !now.isCanonical(height, hash))?.[0]
}

/**
 * Returns the positions of the events that connected the chain's blocks between two heights. Reads the log backwards from the
 * position of the newest head that connected the upper one, or from its end if the blocks are not there, as after a repair.
 */
async function positionsBetween(
  db: Database,
  log: EventLog,
  view: ChainView,
  from: number,
  to: number,
): Promise<number[]> {
  const top = await topAt(db, view, to)
  if (top !== undefined) {
    try {
      return await positionsFrom(log, top, from)
    } catch (error) {
      if (!(error instanceof LogShrank)) throw error
    }
  }
  const end = { ...view.head, position: await log.last('chain') }
  return (await positionsFrom(log, end, from)).slice(0, to - from + 1)
}

/**
 * Returns the chain's block at a height and the position of the newest head that connected it; undefined if either is missing.
 */
async function topAt(db: Database, view: ChainView, height: number): Promise<ChainEnd | undefined> {
  const block = `SELECT hash FROM blocks WHERE height = ${String(height)} AND ${view.sqlFilter('height', 'hash')} LIMIT 1`
  const sql = `SELECT lower(hex((${block}) AS top)) AS hash, toString(max(position)) AS newest, count() AS heads
    FROM heads WHERE has(connected, assumeNotNull(top)) AND ${SHOWN_HEADS}`
  const [row] = await db.query<{ hash: string; newest: string; heads: string }>(sql)
  if (row === undefined || row.heads === '0') return undefined
  const { chain } = view.head
  return { position: Number(row.newest), chain, tipHeight: height, tipHash: row.hash }
}

/** Merges the copies of each row into the newest one, so that a row that had been altered is as it was written last. */
export async function mergeCopies(
  db: Database,
  progress: (done: number, total: number) => void,
): Promise<void> {
  for (const [done, table] of BLOCK_TABLES.entries()) {
    progress(done, BLOCK_TABLES.length)
    await onEachShard(db, table, (local) => `OPTIMIZE TABLE ${local} FINAL`)
  }
  progress(BLOCK_TABLES.length, BLOCK_TABLES.length)
}
