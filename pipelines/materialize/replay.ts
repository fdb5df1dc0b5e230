import type { EventLog } from '../log/port.js'
import { loadChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { latestHead } from '../tables/head.js'
import { BLOCK_TABLES } from '../tables/visible.js'
import { newestWriter } from '../tables/writers.js'
import { BlockWriter } from './block-writer.js'
import { blocksAt, positionsFrom } from './repair.js'
import { sumsOf, WorkingChain } from './working-chain.js'

/** What was asked cannot be replayed: said in words for the operator. */
export class CannotReplay extends Error {
  override readonly name = 'CannotReplay'
}

export interface ReplayOptions {
  readonly from: number
  /** Inclusive. */
  readonly to: number
  /** Called when the blocks up to a height are written again. */
  readonly progress: (height: number) => void | Promise<void>
}

/** Blocks written at once. */
const BATCH = 50

/**
 * Writes the rows of the chain's blocks between two heights again, from the log, while everything goes on: a row is a pure
 * function of its block's hash, so what was right stays as it is, and what was lost is there again. Delivery: at least once,
 * idempotent. It takes over nothing: heads are the materializer's alone.
 * @throws CannotReplay for heights that are not of the chain; LogShrank where the log does not hold them.
 */
export async function replay(
  db: Database,
  log: EventLog,
  { from, to, progress }: ReplayOptions,
): Promise<void> {
  const head = await latestHead(db)
  if (head === undefined) throw new CannotReplay('nothing is indexed yet')
  if (from > to || to > head.tipHeight)
    throw new CannotReplay(`heights must be from 0 to ${String(head.tipHeight)}, the lower one first`)
  const positions = (await positionsFrom(log, head, from)).slice(0, to - from + 1)
  const writer = new BlockWriter(db)
  const view = await loadChainView(db, head)
  for (let at = 0; at < positions.length; at += BATCH) {
    const blocks = await blocksAt(log, positions.slice(at, at + BATCH))
    const below = from + at - 1
    const ground = {
      // A reorganisation meanwhile leaves these blocks stale, and their rows what they were.
      filter: new WorkingChain(view).filter(below),
      sums: await sumsOf(db, below, blocks[0]?.header.prevHash ?? ''),
      writer: await newestWriter(db),
    }
    await writer.write(blocks, head.chain, ground, false)
    await progress(below + blocks.length)
  }
}

/** Folds the copies of rows into one, the newest: after it a row that had been altered is as it was written again. */
export async function foldCopies(
  db: Database,
  progress: (done: number, total: number) => void,
): Promise<void> {
  for (const [done, table] of BLOCK_TABLES.entries()) {
    progress(done, BLOCK_TABLES.length)
    await db.command(`OPTIMIZE TABLE ${table} FINAL`)
  }
  progress(BLOCK_TABLES.length, BLOCK_TABLES.length)
}
