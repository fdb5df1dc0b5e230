import type { Database } from '../clickhouse.js'
import { SAMPLE_STEPS } from './history.js'

/** The hours of a partition of `dropped_txs` and `dropped_keys`, see `mempool.sql`. */
const DROPPED_PARTITION_HOURS = 6
/** The days of a partition of `first_seen`, `expected_blocks` and `block_differences`. */
const PARTITION_DAYS = 30
/** The samples of a partition of `mempool_samples`, and the minutes of one of `mempool_arrivals`. */
const PARTITION_SAMPLES = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The limits of the mempool's history. */
export interface Retention {
  /** The time after which transactions that were dropped from the mempool are deleted, in hours. */
  readonly droppedHours: number
  /** Their maximum size on disk, in bytes. */
  readonly droppedBytes: number
  /** The time after which first-seen times of confirmed transactions are deleted, in days. */
  readonly firstSeenDays: number
  /**
   * The times after which the samples of the mempool by minute, with its arrivals, and by hour are deleted, in days; samples by day are
   * retained.
   */
  readonly mempoolMinutesDays: number
  readonly mempoolHoursDays: number
  /** The time after which it is deleted what was expected of a block, in days. */
  readonly expectedBlocksDays: number
}

interface Partition {
  readonly number: number
  readonly bytes: number
}

/**
 * Deletes the oldest partitions that exceed the retention; of a partition, all or nothing. Repeating it changes nothing.
 * @param now Unix milliseconds.
 * @throws DatabaseUnavailable, QueryRefused.
 */
export async function dropOldHistory(db: Database, retention: Retention, now: number): Promise<void> {
  const dropped = await partitionsOf(db, ['dropped_txs', 'dropped_keys'])
  const droppedMs = DROPPED_PARTITION_HOURS * HOUR_MS
  const oldest = now - retention.droppedHours * HOUR_MS
  let bytes = dropped.reduce((sum, each) => sum + each.bytes, 0)
  for (const each of dropped) {
    if ((each.number + 1) * droppedMs > oldest && bytes <= retention.droppedBytes) break
    // The keys first: readers look for rows only by keys that exist.
    for (const table of ['dropped_keys', 'dropped_txs']) await dropPartition(db, table, each.number)
    bytes -= each.bytes
  }
  await dropDays(db, 'first_seen', retention.firstSeenDays, now)
  // The blocks first: readers look for differences only of blocks that exist.
  for (const table of ['expected_blocks', 'block_differences'])
    await dropDays(db, table, retention.expectedBlocksDays, now)
  await dropSamples(db, SAMPLE_STEPS.minute, retention.mempoolMinutesDays, now)
  await dropSamples(db, SAMPLE_STEPS.hour, retention.mempoolHoursDays, now)
  const arrivalsMs = SAMPLE_STEPS.minute * PARTITION_SAMPLES * 1000
  for (const { number } of await partitionsOf(db, ['mempool_arrivals']))
    if ((number + 1) * arrivalsMs <= now - retention.mempoolMinutesDays * DAY_MS)
      await dropPartition(db, 'mempool_arrivals', number)
}

/** Deletes the partitions of 30 days of a table that are older than some days. */
async function dropDays(db: Database, table: string, days: number, now: number): Promise<void> {
  for (const { number } of await partitionsOf(db, [table]))
    if ((number + 1) * PARTITION_DAYS * DAY_MS <= now - days * DAY_MS) await dropPartition(db, table, number)
}

/** Deletes the samples of a step, in seconds, that are older than some days. */
async function dropSamples(db: Database, step: number, days: number, now: number): Promise<void> {
  const rows = await db.query<{ number: string }>(
    `SELECT DISTINCT intDiv(start, step * ${String(PARTITION_SAMPLES)}) AS number FROM mempool_samples
     WHERE step = {step:UInt32} AND start < {before:Int64}`,
    { step, before: Math.floor((now - days * DAY_MS) / 1000) },
  )
  for (const number of rows.map((row) => Number(row.number)))
    if ((number + 1) * step * PARTITION_SAMPLES * 1000 <= now - days * DAY_MS)
      await db.command(`ALTER TABLE mempool_samples DROP PARTITION (${String(step)}, ${String(number)})`)
}

/** Returns the partitions of tables with their sizes on disk, oldest first. */
async function partitionsOf(db: Database, tables: readonly string[]): Promise<Partition[]> {
  const rows = await db.query<{ partition: string; bytes: string }>(
    `SELECT partition, sum(bytes_on_disk) AS bytes FROM system.parts
     WHERE database = currentDatabase() AND active AND has(splitByChar(',', {tables:String}), table)
     GROUP BY partition ORDER BY toInt64(partition)`,
    { tables: tables.join() },
  )
  return rows.map(({ partition, bytes }) => ({ number: Number(partition), bytes: Number(bytes) }))
}

async function dropPartition(db: Database, table: string, number: number): Promise<void> {
  await db.command(`ALTER TABLE ${table} DROP PARTITION ${String(number)}`)
}
