import type { Database } from './clickhouse.js'

/** All funded addresses by balance as of a block: true as long as that block is of the chain. */
export interface Ranking {
  /** -1: the empty one, before any block. */
  readonly height: number
  readonly hash: string
  /** Funded addresses in it. */
  readonly size: number
}

export interface RankedAddress {
  /** From 1. */
  readonly rank: number
  readonly address: string
  /** Base units, decimal. */
  readonly balance: string
  readonly txCount: number
  readonly isDilithium: boolean
}

/** Asks the database; a reader's may refuse. */
export interface Asks {
  query<T>(sql: string, params?: Readonly<Record<string, unknown>>): Promise<T[]>
}

/** Which rows are of the chain: a condition over `height` and `block_hash`. */
type Filter = string

const NO_RANKING: Ranking = { height: -1, hash: '', size: 0 }

/** What was touched above a ranking: each script's balance there, and as it is at the end of the chain. */
const withTouched = (filter: Filter): string => `WITH touched AS (SELECT script_hash, any(address) AS address,
    argMin(script_balances.before, height) AS balance_then, argMax(script_balances.balance, height) AS balance_now,
    argMax(tx_count, height) AS txs, argMax(is_dilithium, height) AS dilithium
  FROM script_balances WHERE height > {above:Int64} AND ${filter} GROUP BY script_hash)`

const RANKED = `SELECT script_hash, address, balance, tx_count AS txs, is_dilithium AS dilithium FROM ranked_balances
  WHERE at_height = {above:Int64} AND at_hash = unhex({hash:String})`

/** The newest ranking that the chain of the filter still has. */
export async function newestRanking(db: Asks, filter: Filter): Promise<Ranking> {
  const sql = `SELECT height, lower(hex(block_hash)) AS id, size FROM rankings WHERE ${filter} ORDER BY height DESC LIMIT 1`
  const [row] = await db.query<{ height: number; id: string; size: string }>(sql)
  return row === undefined ? NO_RANKING : { height: row.height, hash: row.id, size: Number(row.size) }
}

/** Rows of balances above a ranking: what a reader lays over it. */
export async function rowsAbove(db: Asks, ranking: Ranking, filter: Filter): Promise<number> {
  const sql = `SELECT count() AS rows FROM script_balances WHERE height > {above:Int64} AND ${filter}`
  return Number((await db.query<{ rows: string }>(sql, { above: ranking.height }))[0]?.rows ?? 0)
}

/**
 * The addresses with the largest balances at the end of the filter's chain, equal ones by address. Reads as many rows as were
 * written above the newest ranking, and no more than that of the ranking, however deep the page.
 */
export async function richest(
  db: Asks,
  filter: Filter,
  page: { readonly offset: number; readonly limit: number },
): Promise<RankedAddress[]> {
  const ranking = await newestRanking(db, filter)
  const above = { above: ranking.height, hash: ranking.hash }
  const counted = `SELECT uniqExact(script_hash) AS scripts FROM script_balances WHERE height > {above:Int64} AND ${filter}`
  const moved = Number((await db.query<{ scripts: string }>(counted, above))[0]?.scripts ?? 0)
  // A rank can have moved by as many places as scripts were touched.
  const first = Math.max(1, Math.min(page.offset + 1 - moved, ranking.size))
  const last = page.offset + page.limit + moved
  // How many are before the window: the ranks below it, less those of scripts that were touched, which are in the union.
  const edge = `(SELECT (balance, address) FROM (${RANKED} AND rank = ${String(first)}) LIMIT 1)`
  const isAbove = `balance_then > edge.1 OR (balance_then = edge.1 AND address < edge.2)`
  const skipped =
    first === 1
      ? '0'
      : `toInt64(${String(first - 1)}) - (WITH ${edge} AS edge SELECT toInt64(countIf(balance_then > 0 AND (${isAbove}))) FROM touched)`
  const sql = `${withTouched(filter)} SELECT position, address, balance, txs, dilithium FROM (
      SELECT *, row_number() OVER (ORDER BY balance DESC, address) + (${skipped}) AS position FROM (
        SELECT address, balance, txs, dilithium FROM (${RANKED} AND rank BETWEEN ${String(first)} AND ${String(last)})
        WHERE script_hash NOT IN (SELECT script_hash FROM touched)
        UNION ALL
        SELECT address, balance_now AS balance, txs, dilithium FROM touched WHERE balance_now > 0
      )
    ) WHERE position > ${String(page.offset)} ORDER BY position LIMIT ${String(page.limit)}`
  type Row = { position: string; address: string; balance: string; txs: string; dilithium: number }
  return (await db.query<Row>(sql, above)).map(({ position, address, balance, txs, dilithium }) => {
    return {
      rank: Number(position),
      address,
      balance,
      txCount: Number(txs),
      isDilithium: dilithium === 1,
    }
  })
}

/**
 * Writes the ranking as of the end of the filter's chain. The same block always gives the same rows, so that a build which
 * was cut off is simply made again.
 * @throws where not all rows are there in the end, as when another writer has taken them away.
 */
export async function buildRanking(
  db: Database,
  filter: Filter,
  at: { readonly height: number; readonly hash: string },
): Promise<Ranking> {
  const base = await newestRanking(db, filter)
  if (base.hash === at.hash) return base
  const name = `${String(at.height)} AS at_height, toFixedString(unhex('${at.hash}'), 32) AS at_hash`
  const above = { above: base.height, hash: base.hash }
  await db.command(
    `INSERT INTO ranked_balances (at_height, at_hash, rank, script_hash, address, balance, tx_count, is_dilithium)
     ${withTouched(filter)} SELECT ${name}, row_number() OVER (ORDER BY balance DESC, address) AS place, script_hash, address, balance, txs, dilithium FROM (
       SELECT script_hash, address, balance, txs, dilithium FROM (${RANKED})
       WHERE script_hash NOT IN (SELECT script_hash FROM touched)
       UNION ALL
       SELECT script_hash, address, balance_now AS balance, txs, dilithium FROM touched WHERE balance_now > 0
     )`,
    above,
  )
  const counted = `SELECT uniqExact(rank) AS rows, max(rank) AS last FROM ranked_balances
    WHERE at_height = {height:UInt32} AND at_hash = unhex({hash:String})`
  const [row] = await db.query<{ rows: string; last: string }>(counted, at)
  if (row === undefined || row.rows !== row.last) throw new Error(`the ranking of ${at.hash} is not whole`)
  await db.mustBeWhole()
  await db.command(
    `INSERT INTO rankings (height, block_hash, size, built_at)
     VALUES (${String(at.height)}, unhex('${at.hash}'), ${row.rows}, now64(3))`,
  )
  return { ...at, size: Number(row.rows) }
}

/** A superseded ranking is still read by whoever chose it before: longer than any query may take. */
const KEPT_SECONDS = 600

/** Takes away the rows of rankings that no longer have an entry, then the entries of superseded ones: so rows go a round later. */
export async function dropOldRankings(db: Database): Promise<void> {
  const forgotten = await db.query<{ id: string }>(
    `SELECT DISTINCT _partition_id AS id FROM ranked_balances
     WHERE (at_height, at_hash) NOT IN (SELECT height, block_hash FROM rankings)`,
  )
  for (const { id } of forgotten) await db.command(`ALTER TABLE ranked_balances DROP PARTITION ID '${id}'`)
  await db.command(
    `DELETE FROM rankings WHERE built_at < now64(3) - INTERVAL ${String(KEPT_SECONDS)} SECOND
     AND (height, block_hash) NOT IN (SELECT height, block_hash FROM rankings ORDER BY height DESC LIMIT 2)`,
  )
}
