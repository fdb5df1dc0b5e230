import type { BlockId } from '../../chain/block.js'
import type { Database } from '../clickhouse.js'
import { onEachShard } from '../cluster/shards.js'
import type { Querier } from '../keys.js'
import { balanceFloor } from './balance-floor.js'

/**
 * A list of all funded addresses by balance as of a block, valid as long as that block is on the chain. Height -1 is the empty
 * ranking before the first block.
 */
export interface Ranking extends BlockId {
  /** Number of addresses in it. */
  readonly size: number
}

export interface RankedAddress {
  /** Rank, from 1. */
  readonly rank: number
  readonly address: string
  /** Base units, decimal. */
  readonly balance: string
  readonly txCount: number
  readonly isDilithium: boolean
}

/** An SQL condition over `height` and `block_tag` that holds for the rows of a chain. */
export type Filter = string

const NO_RANKING: Ranking = { height: -1, hash: '', size: 0 }

/** Returns SQL for the scripts that were touched above a ranking: the balance of each at the ranking and at the end of the chain. */
export const withTouched = (
  filter: Filter,
): string => `WITH touched AS (SELECT script_hash, any(address) AS address,
    argMin(script_balances.before, height) AS balance_then, argMax(script_balances.balance, height) AS balance_now,
    argMax(tx_count, height) AS txs, argMax(is_dilithium, height) AS dilithium
  FROM script_balances WHERE height > {above:Int64} AND ${filter} GROUP BY script_hash)`

/** SQL for the rows of a ranking, each once: a step that was interrupted and repeated has written its rows twice. */
export const RANKED = `SELECT DISTINCT script_hash, address, balance, tx_count AS txs, is_dilithium AS dilithium FROM ranked_balances
  WHERE at_height = {above:Int64} AND at_hash = unhex({hash:String})`

/**
 * Returns the newest ranking of a block on the filter's chain, the empty one if there is none; undefined if balances changed since
 * are missing.
 */
export async function newestRanking(db: Querier, filter: Filter): Promise<Ranking | undefined> {
  const sql = `SELECT height, lower(hex(block_hash)) AS id, size FROM rankings WHERE ${filter} ORDER BY height DESC LIMIT 1`
  // Read first: a floor that rises meanwhile excludes a ranking, and balances above it are kept for a while.
  const floor = await balanceFloor(db)
  const newest = (await db.query<RankingRow>(sql)).map(toRanking)[0] ?? NO_RANKING
  return newest.height < floor ? undefined : newest
}

type RankingRow = { height: number; id: string; size: string }
const toRanking = ({ height, id, size }: RankingRow): Ranking => ({ height, hash: id, size: Number(size) })

/** Returns the number of changes of balances above a ranking, which readers have to apply. */
export async function rowsAbove(db: Querier, ranking: Ranking, filter: Filter): Promise<number> {
  const sql = `SELECT count() AS rows FROM script_balances WHERE height > {above:Int64} AND ${filter}`
  return Number((await db.query<{ rows: string }>(sql, { above: ranking.height }))[0]?.rows ?? 0)
}

/** The maximum number of changes that a page applies to the newest ranking: several times what the materializer lets accumulate. */
export const MAX_ROWS_ABOVE = 1_000_000

/** The ranking to which readers apply the newest balances. */
interface Base {
  readonly ranking: Ranking
  /** The number of scripts that were touched above it. */
  readonly moved: number
  /** The parameters of `withTouched` and `RANKED`. */
  readonly above: { readonly above: number; readonly hash: string }
}

/** Returns the newest ranking with the changes above it; undefined if there are more than `most`, or if they are not known. */
export async function baseOf(db: Querier, filter: Filter, most = MAX_ROWS_ABOVE): Promise<Base | undefined> {
  const ranking = await newestRanking(db, filter)
  if (ranking === undefined) return undefined
  const above = { above: ranking.height, hash: ranking.hash }
  const counted = `SELECT count() AS rows, uniqExact(script_hash) AS scripts FROM (SELECT script_hash FROM script_balances
    WHERE height > {above:Int64} AND ${filter} LIMIT ${String(most + 1)})`
  const [touched] = await db.query<{ rows: string; scripts: string }>(counted, above)
  if (Number(touched?.rows ?? 0) > most) return undefined
  return { ranking, moved: Number(touched?.scripts ?? 0), above }
}

/**
 * Returns a page of the addresses by balance at the end of the filter's chain, highest first, equal balances by address. The
 * number of rows read depends only on the number of changes above the newest ranking, however deep the page.
 * @param most maximum number of changes to apply.
 * @returns undefined if there are more changes, or if they are not known: a ranking of the chain at this length is not built yet.
 */
export async function richest(
  db: Querier,
  filter: Filter,
  page: { readonly offset: number; readonly limit: number },
  most = MAX_ROWS_ABOVE,
): Promise<RankedAddress[] | undefined> {
  const base = await baseOf(db, filter, most)
  if (base === undefined) return undefined
  const { ranking, moved, above } = base
  // A rank has changed by at most as many places as scripts were touched.
  const first = Math.max(1, Math.min(page.offset + 1 - moved, ranking.size))
  const last = page.offset + page.limit + moved
  // Addresses before the window: the ranks before it, minus the scripts that were touched, which are in the union.
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

/** Returns the announced rankings of all branches, newest first. */
export async function announcedRankings(db: Querier): Promise<Ranking[]> {
  const sql =
    'SELECT DISTINCT height, lower(hex(block_hash)) AS id, size FROM rankings ORDER BY height DESC, id'
  return (await db.query<RankingRow>(sql)).map(toRanking)
}

/**
 * Removes the announcements of rankings, so that readers no longer choose them. They are named by literals, the only condition that
 * a replicated table accepts.
 */
export async function dropRankings(db: Database, rankings: readonly Ranking[]): Promise<void> {
  if (rankings.length === 0) return
  const keys = rankings.map(({ height, hash }) => `(${String(height)}, unhex('${hash}'))`)
  const among = `(height, block_hash) IN (${keys.join(', ')})`
  await onEachShard(db, 'rankings', (local) => `DELETE FROM ${local} WHERE ${among}`)
}

/** The rows of one ranking in a table that is partitioned by ranking. */
export interface RankingPart extends BlockId {
  /** Id of the partition. */
  readonly id: string
}

/** Returns the rankings, complete or not, whose rows a table contains. */
export async function rankingParts(db: Querier, table: string): Promise<RankingPart[]> {
  const sql = `SELECT DISTINCT at_height AS height, lower(hex(at_hash)) AS hash, _partition_id AS id FROM ${table}`
  return db.query<RankingPart>(sql)
}

/** Removes the rows of a ranking from a table. */
export async function dropRankingPart(db: Database, table: string, { id }: RankingPart): Promise<void> {
  await onEachShard(db, table, (local) => `ALTER TABLE ${local} DROP PARTITION ID '${id}'`)
}
