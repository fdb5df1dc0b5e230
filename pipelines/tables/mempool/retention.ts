import type { Database } from '../clickhouse.js'

/** The hours of a partition of `dropped_txs` and `dropped_keys`, see `mempool.sql`. */
const DROPPED_PARTITION_HOURS = 6
/** The days of a partition of `first_seen`. */
const SEEN_PARTITION_DAYS = 30
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
  const seenMs = SEEN_PARTITION_DAYS * DAY_MS
  for (const { number } of await partitionsOf(db, ['first_seen']))
    if ((number + 1) * seenMs <= now - retention.firstSeenDays * DAY_MS)
      await dropPartition(db, 'first_seen', number)
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
