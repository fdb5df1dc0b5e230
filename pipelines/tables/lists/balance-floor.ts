import type { Database } from '../clickhouse.js'
import { onEachShard } from '../cluster/shards.js'
import type { Querier } from '../keys.js'
import { announce } from '../writers.js'

/** The floor while no balances are written. */
export const NO_BALANCES = 0xffff_ffff

/** SQL for the height above which all blocks have rows in `script_balances`. */
export const BALANCE_FLOOR =
  '(SELECT if(count() = 0, -1, argMax(above, (writer, noted_at))) FROM balance_floors)'

/** Returns the height above which all blocks have rows in `script_balances`, `NO_BALANCES` if none are written. */
export async function balanceFloor(db: Querier): Promise<number> {
  const [row] = await db.query<{ floor: string }>(`SELECT ${BALANCE_FLOOR} AS floor`)
  return Number(row?.floor ?? -1)
}

/**
 * Sets the floor. Call it before balances are no longer written or are dropped, and after writing them was resumed: then with the
 * height of the last block without them.
 * @param db its `pinEngineRun` must have been called.
 * @throws DatabaseUnavailable, QueryRefused; Superseded if there is a newer writer.
 */
export async function setBalanceFloor(db: Database, above: number, writer: bigint): Promise<void> {
  const row = `INSERT INTO balance_floors (writer, noted_at, above) SELECT ${String(writer)}, now64(6), ${String(above)}`
  await announce(db, row, writer)
}

/** The number of blocks per partition of `script_balances`. */
const PARTITION = 1000

/**
 * Drops the partitions at or below every floor of the last `seconds`. Queries that chose their ranking by a floor of that time may
 * still run and need the partitions above it.
 */
export async function dropBalances(db: Database, seconds: number): Promise<void> {
  const earlier = `FROM balance_floors WHERE noted_at < now64(6) - INTERVAL ${String(seconds)} SECOND`
  const [row] = await db.query<{ lowest: string; earlier: string }>(
    `SELECT min(above) AS lowest, (SELECT count() ${earlier}) AS earlier FROM balance_floors
     WHERE (writer, noted_at) >= (SELECT max((writer, noted_at)) ${earlier})`,
  )
  // Without an earlier row all balances were complete then.
  if (row === undefined || row.earlier === '0') return
  const below = Math.floor((Number(row.lowest) + 1) / PARTITION) * PARTITION
  const parts = await db.query<{ id: string }>(
    `SELECT DISTINCT _partition_id AS id FROM script_balances WHERE height < ${String(below)}`,
  )
  for (const { id } of parts)
    await onEachShard(db, 'script_balances', (local) => `ALTER TABLE ${local} DROP PARTITION ID '${id}'`)
}
