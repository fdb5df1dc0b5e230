import type { ChainEvent } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { hexOf } from '../../chain/hash.js'
import { isBlock } from '../../chain/block.js'
import { type Network, networkNamed } from '../../chain/networks.js'
import { generationOf, offsetOf } from '../../events/positions.js'
import type { EventLog, LogRecord } from '../../log/port.js'
import { batchesBack } from '../../log/records.js'
import type { Logger } from '../../logger.js'
import type { Database } from '../../tables/clickhouse.js'
import type { Head } from '../../tables/head.js'
import { UNSYNCED_BLOCKS } from '../../tables/schema.js'
import type { BlockWriter } from '../apply/block-writer.js'
import { type ConnectedBlock, decodeBlock, decodeEvent } from '../apply/decode.js'
import { LogShrank } from '../poison.js'
import type { WorkingChain } from '../working-chain.js'

/** The number of records read at once when reading backwards. */
const CHUNK = 16
/** The number of blocks written again on every start, regardless of the tables. */
const ALWAYS = 50
/** The number of blocks written at once. */
const BATCH = 50

/** The event that a head was made from. */
type HeadEvent = Pick<Head, 'position' | 'epoch' | 'sequence' | 'tipHeight' | 'tipHash'>

/** Returns an error if the log does not contain the event that a head was made from; undefined if it does. */
export async function lostHead(log: EventLog, head: HeadEvent): Promise<LogShrank | undefined> {
  const offset = offsetOf(head.position)
  const [record] = await log.read('chain', offset, 1)
  const event = record?.position === offset ? readableEvent(record) : undefined
  if (event !== undefined && isEventOf(event, head)) return undefined
  return new LogShrank(
    `position ${String(offset)} of topic chain does not contain the event that the newest head was made from; the log lost its end, or is a different log`,
  )
}

/** Checks that the log contains the event that a head was made from. @throws LogShrank if it does not. */
export async function assertContains(log: EventLog, head: Head): Promise<void> {
  const lost = await lostHead(log, head)
  if (lost !== undefined) throw lost
}

function isEventOf({ epoch, sequence, generation, event }: ChainEvent, head: HeadEvent): boolean {
  if (epoch !== head.epoch || sequence !== head.sequence) return false
  if (generation !== generationOf(head.position)) return false
  if (event.case === 'blockConnected') return hexOf(event.value.hash) === head.tipHash
  return event.case !== 'blockDisconnected' || event.value.height === head.tipHeight + 1
}

/** The objects with which blocks are written again. */
export interface Rewriting {
  readonly db: Database
  readonly log: EventLog
  readonly writer: BlockWriter
  readonly chain: WorkingChain
  /** Returns the chain's writer number. */
  readonly number: () => bigint | Promise<bigint>
}

/**
 * Writes the blocks of a head's chain again from the lowest block of which a power failure has lost rows, at least the last
 * blocks; and the rows of blocks of other branches, which can still be read by hash, that the failure may have lost.
 */
export async function repair(rewriting: Rewriting, head: Head, logger: Logger): Promise<void> {
  if (head.tipHeight < 0) return
  const { db, log } = rewriting
  const lost = await lowestLost(db, head)
  const count = head.tipHeight - Math.max(0, Math.min(head.tipHeight - ALWAYS + 1, lost)) + 1
  const { positions, others } = await heldOf(log, head, count)
  const from = head.tipHeight - positions.length + 1
  if (lost < from)
    throw new LogShrank(
      `topic chain does not contain block ${String(from - 1)} of the head's chain`,
      lost - 1,
    )
  if (positions.length > ALWAYS) logger.warn({ from, to: head.tipHeight }, 'rows missing, writing them again')
  if (Number.isFinite(lost)) await restore(rewriting, others, from)
  await rewrite(rewriting, positions)
}

/**
 * Writes the blocks of a head's chain above a height again, as far as the log contains them.
 * @param rewriting its `chain` must be the head's chain.
 * @returns the height above which all are written.
 * @throws as `BlockWriter.write`.
 */
export async function rewriteAbove(rewriting: Rewriting, head: Head, height: number): Promise<number> {
  const { positions } = await heldOf(rewriting.log, head, head.tipHeight - height)
  const below = head.tipHeight - positions.length
  await rewrite(rewriting, positions)
  return below
}

/**
 * Writes the rows of point tables of blocks again. Skips blocks without a row in `blocks`: damage in the log may contain blocks
 * that were never indexed.
 */
async function restore(
  { db, log, writer, chain: { network }, number }: Rewriting,
  blocks: readonly HeldBlock[],
  from: number,
): Promise<void> {
  if (network === undefined) return
  const sql = 'SELECT DISTINCT lower(hex(hash)) AS id FROM blocks WHERE height >= {from:UInt32}'
  const indexedHashes = new Set((await db.query<{ id: string }>(sql, { from })).map(({ id }) => id))
  const positions = blocks.filter(({ hash }) => indexedHashes.has(hash)).map(({ position }) => position)
  for (let at = 0; at < positions.length; at += BATCH)
    await writer.restore(await blocksAt(log, positions.slice(at, at + BATCH), network), {
      network,
      writer: await number(),
    })
}

/**
 * Writes the rows of consecutive blocks of a chain again.
 * @param positions of the events that connected the blocks, lowest block first.
 * @param onWritten called when the blocks up to a height are written.
 */
export async function rewrite(
  { db, log, writer, chain, number }: Rewriting,
  positions: readonly number[],
  onWritten?: (height: number) => Promise<void>,
): Promise<void> {
  const { network } = chain
  if (network === undefined) return
  for (let at = 0; at < positions.length; at += BATCH) {
    const blocks = await blocksAt(log, positions.slice(at, at + BATCH), network)
    for (const { part, isRepeated } of await writer.parts(blocks)) {
      const [lowest] = part
      if (lowest === undefined) continue
      const parent = { height: lowest.height - 1, hash: lowest.header.prevHash }
      const state = await chain.parentState(db, await number(), parent)
      await writer.rewrite(part, state, chain.filter(chain.written.height), isRepeated)
      await onWritten?.(parent.height + part.length)
    }
  }
}

/**
 * Returns the lowest height of blocks that must be written again, infinity for none. Inserts into MergeTree tables are synced as
 * their settings say; the write-ahead log of the point tables is not, so that a power failure may have lost keys of visible rows.
 */
async function lowestLost(db: Database, head: Head): Promise<number> {
  const low = Math.max(0, head.tipHeight - UNSYNCED_BLOCKS + 1)
  const lost = await Promise.all([
    firstLost(db, low, 'block_txs', 'txid', 'txs', 'txid'),
    firstLost(db, low, 'script_txs', 'script_hash', 'scripts', 'script_hash'),
    firstLost(db, low, 'blocks', 'hash', 'block_heights', 'hash'),
  ])
  return Math.min(...lost)
}

/** Returns the lowest height, from `low` on, of a row whose key is missing from a point table, infinity for none. */
async function firstLost(
  db: Database,
  low: number,
  rows: string,
  key: string,
  points: string,
  pointKey: string,
): Promise<number> {
  const keys = `SELECT ${key} FROM ${rows} WHERE height >= ${String(low)}`
  const sql = `SELECT count() AS lost, min(height) AS lowest FROM ${rows} WHERE height >= ${String(low)}
    AND ${key} NOT IN (SELECT ${pointKey} FROM ${points} WHERE ${pointKey} IN (${keys}))`
  const [row] = await db.query<{ lost: string; lowest: number }>(sql)
  return row === undefined || row.lost === '0' ? Number.POSITIVE_INFINITY : row.lowest
}

/**
 * Returns the positions of the events that connected the blocks of a chain from a height on, lowest first.
 * @param head the chain's tip, and a position at or after the event that connected it, from which the log is read backwards.
 * @throws LogShrank if the log does not contain them.
 */
export async function positionsFrom(log: EventLog, head: ChainEnd, height: number): Promise<number[]> {
  const { positions } = await heldPositions(log, head, head.tipHeight - height + 1)
  const missing = head.tipHeight - positions.length
  if (missing < height) return positions
  throw new LogShrank(`topic chain does not contain block ${String(missing)} of the head's chain`)
}

export type ChainEnd = Pick<Head, 'position' | 'chain' | 'tipHeight' | 'tipHash'>

/** A block that the log contains. */
interface HeldBlock {
  readonly position: number
  readonly hash: string
}

/** Returns the highest blocks of a head's chain: the log may have lost them, and may have been repaired after the head. */
async function heldOf(log: EventLog, head: Head, wantedCount: number): ReturnType<typeof heldPositions> {
  const result = await heldPositions(log, head, wantedCount)
  if (result.positions.length >= wantedCount) return result
  return heldPositions(log, { ...head, position: await log.last('chain') }, wantedCount)
}

/**
 * Returns the positions for a number of the highest blocks of a chain, or for the blocks above the highest block that the log
 * lacks; and the other blocks that the log contains above the parent of the lowest block, which are of other branches or
 * repeated. Both are in the order of the log.
 */
async function heldPositions(
  log: EventLog,
  head: ChainEnd,
  wantedCount: number,
): Promise<{ positions: number[]; others: HeldBlock[] }> {
  const positions: number[] = []
  const others: HeldBlock[] = []
  const result = (): { positions: number[]; others: HeldBlock[] } => ({
    positions: positions.reverse(),
    others: others.reverse(),
  })
  let nextHash = head.tipHash
  const links = linksOf(networkNamed(head.chain))
  for await (const batch of batchesBack(log, 'chain', offsetOf(head.position), links, { atOnce: CHUNK })) {
    for (const { position, hash, prevHash } of batch.reverse()) {
      if (hash !== nextHash) others.push({ position, hash })
      else if (positions.length >= wantedCount) return result()
      else {
        positions.push(position)
        nextHash = prevHash
      }
    }
  }
  return result()
}

/** Returns the hashes of the block that an event connected and of its parent; undefined for other events and invalid blocks. */
const linksOf = (network: Network) => (record: LogRecord) => {
  const event = readableEvent(record)?.event
  if (event?.case !== 'blockConnected' || !isBlock(event.value, network)) return undefined
  const { hash, prevHash } = event.value
  return { position: record.position, hash: hexOf(hash), prevHash: hexOf(prevHash) }
}

/** Decodes an event; returns undefined if that fails. */
function readableEvent(record: LogRecord): ChainEvent | undefined {
  try {
    return decodeEvent(record)
  } catch {
    return undefined
  }
}

/**
 * Returns the blocks that the events at these positions connected.
 * @param positions ascending: a log of Kafka keeps what follows the last read in memory, and fetches again for what precedes it.
 */
async function blocksAt(
  log: EventLog,
  positions: readonly number[],
  network: Network,
): Promise<ConnectedBlock[]> {
  const blocks: ConnectedBlock[] = []
  for (const position of positions) {
    const [record] = await log.read('chain', position, 1)
    const event = record?.position === position ? decodeEvent(record).event : undefined
    if (event?.case !== 'blockConnected')
      throw new LogShrank(`position ${String(position)} of topic chain changed`)
    blocks.push(decodeBlock(position, event.value, network))
  }
  return blocks
}
