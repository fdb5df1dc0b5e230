import { type BlockId, blockTag } from '../../chain/block.js'
import type { Database } from '../clickhouse.js'
import { onEachShard } from '../cluster/shards.js'
import type { Querier } from '../keys.js'
import { heightDesc } from '../schema.js'
import { announce } from '../writers.js'

/**
 * The numbered list of the unspent outputs of a script as of a block, valid as long as that block is on the chain. Height -1 is
 * the empty list before the first block.
 */
export interface UnspentList {
  readonly height: number
  /** Tag of the block. */
  readonly tag: number
  readonly size: number
}

export interface UnspentOutput {
  /** Undefined if the output is in no list: `block_txs` has it, by height, tag of the block and index. */
  readonly txid: string | undefined
  readonly vout: number
  /** Height of the block that created it. */
  readonly height: number
  /** Tag of that block if the txid is undefined, otherwise 0. */
  readonly blockTag: number
  /** Index of its transaction in that block: 0 for a coinbase. */
  readonly txIndex: number
  /** Base units, decimal. */
  readonly value: string
}

/** A script on a chain. */
export interface UnspentOf {
  readonly scriptHash: string
  /** SQL condition over `height` and `block_tag` that holds for the rows of the chain. */
  readonly filter: string
}

export const NO_LIST: UnspentList = { height: -1, tag: 0, size: 0 }
const SCRIPT = 'script_hash = unhex({script:String})'
const OF_LIST = `${SCRIPT} AND at_height = {above:Int64} AND at_tag = {tag:UInt32}`
const ABOVE = `${SCRIPT} AND height_desc < {newest:UInt64}`
/** The output of a row of a spend, as `LISTED_OUTPUT` and rows of outputs name it. */
const SPENT_OUTPUT = '4294967295 - output_height, txid_prefix, vout'
const LISTED_OUTPUT = 'height_desc, toFixedString(substring(txid, 1, 16), 16), vout'
/** The place of a transaction. */
const PLACE = 'height, block_tag, tx_index'
const spendsAbove = (filter: string): string =>
  `FROM script_outputs WHERE ${ABOVE} AND spent = 1 AND ${filter}`

/** Returns SQL for the spends of a list's outputs by blocks above the list. */
const spentAbove = (filter: string): string => `${spendsAbove(filter)} AND output_height <= {above:Int64}`

/** Returns SQL for the txids of transactions, and for their places, as tuples. @param places SQL for height, block_tag and tx_index. */
export const txidsAt = (places: string): string =>
  `SELECT (${PLACE}) AS place, any(txid) AS txid FROM block_txs WHERE (${PLACE}) IN (${places}) GROUP BY ${PLACE}`

/** Returns SQL for the unspent outputs that blocks above a list created, in the order of the table, so that a LIMIT stops early. */
const createdAbove = (filter: string, columns: string): string => `SELECT ${columns} FROM script_outputs
  WHERE ${ABOVE} AND spent = 0 AND ${filter} AND (height_desc, txid_prefix, vout) NOT IN (SELECT ${SPENT_OUTPUT} ${spendsAbove(filter)})
  ORDER BY height_desc, txid_prefix, vout LIMIT 1 BY height_desc, txid_prefix, vout`

const paramsOf = (scriptHash: string, list: UnspentList): Record<string, unknown> => ({
  script: scriptHash,
  above: list.height,
  tag: list.tag,
  // Every output is above the empty list, including the outputs of block 0.
  newest: heightDesc(list.height),
})

/** Returns the newest list of a script as of a block on the filter's chain, the empty one if there is none. */
export async function newestList(db: Querier, { scriptHash, filter }: UnspentOf): Promise<UnspentList> {
  const sql = `SELECT unspent_lists.height AS at, block_tag AS tag, size FROM unspent_lists
    WHERE ${SCRIPT} AND ${filter} ORDER BY unspent_lists.height DESC LIMIT 1`
  const [row] = await db.query<{ at: number; tag: number; size: string }>(sql, { script: scriptHash })
  return row === undefined ? NO_LIST : { height: row.at, tag: row.tag, size: Number(row.size) }
}

/**
 * Returns a page of the unspent outputs of a script, newest block first, then by txid and vout. Reads the changes since a list, and
 * of the list only as many rows as the page has and as were spent since, however deep the page.
 * @param list as of a block on the filter's chain, preferably the newest one. @param page `total`: number of the script's unspent outputs, by its totals.
 */
export async function unspentPage(
  db: Querier,
  of: UnspentOf,
  list: UnspentList,
  page: { readonly limit: number; readonly offset: number; readonly total: number },
): Promise<UnspentOutput[]> {
  const { limit, offset, total } = page
  if (list.height < 0) return created(db, of, NO_LIST, limit, offset)
  const params = paramsOf(of.scriptHash, list)
  const counted = `SELECT uniqExact(${SPENT_OUTPUT}) AS gone ${spentAbove(of.filter)}`
  const spent = Number((await db.query<{ gone: string }>(counted, params))[0]?.gone ?? 0)
  const fresh = total - (list.size - spent)
  const count = Math.min(limit, total - offset)
  const first = offset < fresh ? await created(db, of, list, Math.min(limit, fresh - offset), offset) : []
  const rest = await listed(db, of, list, {
    limit: count - first.length,
    offset: Math.max(0, offset - fresh),
    spent,
  })
  const outputs = [...first, ...rest]
  // The list is damaged or is being dropped. The rows of the outputs themselves are complete.
  return outputs.length === count && fresh >= 0 ? outputs : created(db, of, NO_LIST, limit, offset)
}

interface Row {
  readonly at: number
  readonly id: string
  readonly tag: number
  readonly vout: number
  readonly tx_index: number
  readonly worth: string
}

const COLUMNS = 'toUInt32(4294967295 - height_desc) AS at, vout, tx_index, value AS worth'
const toOutput = ({ at, id, tag, vout, tx_index, worth }: Row): UnspentOutput => ({
  txid: id === '' ? undefined : id,
  vout,
  height: at,
  blockTag: tag,
  txIndex: tx_index,
  value: worth,
})

/** Returns unspent outputs that blocks above a list created. */
async function created(
  db: Querier,
  { scriptHash, filter }: UnspentOf,
  list: UnspentList,
  limit: number,
  offset: number,
): Promise<UnspentOutput[]> {
  const columns = `${COLUMNS}, block_tag AS tag, '' AS id`
  const sql = `${createdAbove(filter, columns)} LIMIT {limit:UInt64} OFFSET {offset:UInt64}`
  return (await db.query<Row>(sql, { ...paramsOf(scriptHash, list), limit, offset })).map(toOutput)
}

/** Returns outputs of a list that were not spent since. @param page `spent`: number of its outputs that were spent. */
async function listed(
  db: Querier,
  { scriptHash, filter }: UnspentOf,
  list: UnspentList,
  page: { readonly limit: number; readonly offset: number; readonly spent: number },
): Promise<UnspentOutput[]> {
  const { limit, offset, spent } = page
  if (limit <= 0) return []
  // An output that remains has moved up by at most as many places as outputs were spent.
  const params = { ...paramsOf(scriptHash, list), from: offset + 1, to: offset + limit + spent, limit }
  const edge = `(SELECT (${LISTED_OUTPUT}) FROM unspent_outputs WHERE ${OF_LIST} AND ordinal = {from:UInt64} LIMIT 1)`
  const before = `SELECT uniqExact(${SPENT_OUTPUT}) AS gone ${spentAbove(filter)} AND (${SPENT_OUTPUT}) < ${edge}`
  const skipped = spent === 0 ? 0 : Number((await db.query<{ gone: string }>(before, params))[0]?.gone ?? 0)
  const sql = `SELECT ${COLUMNS}, 0 AS tag, lower(hex(txid)) AS id FROM (SELECT ordinal, height_desc, txid, vout, tx_index, value FROM unspent_outputs
      WHERE ${OF_LIST} AND ordinal BETWEEN {from:UInt64} AND {to:UInt64} ORDER BY ordinal LIMIT 1 BY ordinal)
    WHERE (${LISTED_OUTPUT}) NOT IN (SELECT ${SPENT_OUTPUT} ${spentAbove(filter)})
    ORDER BY ordinal LIMIT {limit:UInt64} OFFSET {skipped:UInt64}`
  return (await db.query<Row>(sql, { ...params, skipped })).map(toOutput)
}

/** Returns the number of outputs of a script that were created or spent above a list. */
export async function changesAbove(db: Querier, of: UnspentOf, list: UnspentList): Promise<number> {
  const sql = `SELECT count() AS changes FROM script_outputs WHERE ${ABOVE} AND spent IN (0, 1) AND ${of.filter}`
  const rows = await db.query<{ changes: string }>(sql, paramsOf(of.scriptHash, list))
  return Number(rows[0]?.changes ?? 0)
}

/**
 * Writes and announces the list of a script's unspent outputs as of the end of the filter's chain, from an earlier list and the
 * changes since. The same block always results in the same rows, so an interrupted build may be repeated.
 * @param db its `pinEngineRun` must have been called.
 * @param writer number of the writer of that chain. A superseded writer announces no list, even if it does not know it yet.
 * @throws DatabaseUnavailable, QueryRefused, Superseded; Error if the number of rows differs from the script's totals.
 */
export async function buildList(
  db: Database,
  of: UnspentOf,
  base: UnspentList,
  at: BlockId,
  writer: bigint,
): Promise<UnspentList> {
  const { scriptHash, filter } = of
  const tag = blockTag(at.hash)
  const name = `unhex('${scriptHash}') AS script, ${String(at.height)} AS made_height, ${String(tag)} AS made_tag`
  await db.command(
    `INSERT INTO unspent_outputs (script_hash, at_height, at_tag, ordinal, height_desc, txid, vout, tx_index, value)
     SELECT ${name}, row_number() OVER (ORDER BY height_desc, txid, vout) AS number, height_desc, txid, vout, tx_index, worth FROM (
       SELECT height_desc, txid, vout, tx_index, value AS worth FROM unspent_outputs WHERE ${OF_LIST}
         AND (${LISTED_OUTPUT}) NOT IN (SELECT ${SPENT_OUTPUT} ${spentAbove(filter)})
       LIMIT 1 BY height_desc, txid, vout
       UNION ALL SELECT height_desc, txid, vout, tx_index, worth
         FROM (${createdAbove(filter, `height_desc, vout, tx_index, value AS worth, (${PLACE}) AS place`)}) AS made
         INNER JOIN (${txidsAt(createdAbove(filter, PLACE))}) AS named USING place
     )`,
    paramsOf(scriptHash, base),
  )
  const list = { height: at.height, tag }
  const size = await countList(db, of, { ...list, size: 0 })
  const row = `INSERT INTO unspent_lists (script_hash, height, block_tag, size, built_at)
    SELECT unhex('${scriptHash}'), ${String(at.height)}, ${String(tag)}, ${String(size)}, now64(3)`
  await announce(db, row, writer)
  return { ...list, size }
}

/**
 * Returns the number of rows of a list.
 * @throws Error if an ordinal is missing, or the number differs from the script's totals at the end of the filter's chain.
 */
async function countList(db: Querier, { scriptHash, filter }: UnspentOf, list: UnspentList): Promise<number> {
  const sql = `SELECT uniqExact(ordinal) AS rows, max(ordinal) AS last, (SELECT toUInt64(unspent_count) FROM script_txs
      WHERE ${SCRIPT} AND ${filter} ORDER BY script_txs.ordinal DESC LIMIT 1) AS unspent
    FROM unspent_outputs WHERE ${OF_LIST}`
  type Row = { rows: string; last: string; unspent: string | null }
  const [row] = await db.query<Row>(sql, paramsOf(scriptHash, list))
  if (row?.rows === row?.last && row?.rows === row?.unspent) return Number(row?.rows)
  throw new Error(
    `the list of unspent outputs of ${scriptHash} as of block ${String(list.height)} has ${row?.rows ?? '0'}, but the script has ${row?.unspent ?? '0'}`,
  )
}

/** The number of ranges of script hashes, by their first two bytes. They contain about equally many scripts. */
export const SCRIPT_RANGES = 1 << 16

/**
 * Returns the scripts of some ranges that have many rows in `script_outputs`.
 * @param range `from`: first range; `rows`: about how many rows to read; `tail`: minimum number of rows of a script; `most`: limit
 *   of scripts.
 * @returns `to`: the range to continue with.
 */
export async function busyScripts(
  db: Querier,
  range: { readonly from: number; readonly rows: number; readonly tail: number; readonly most: number },
): Promise<{ readonly scripts: string[]; readonly to: number }> {
  const { from, rows, tail, most } = range
  const [all] = await db.query<{ rows: string }>('SELECT count() AS rows FROM script_outputs')
  const ranges = Math.max(1, Math.floor((SCRIPT_RANGES * rows) / Math.max(1, Number(all?.rows))))
  const to = Math.min(from + ranges, SCRIPT_RANGES)
  const edge = (value: number): string =>
    `toFixedString(unhex('${value.toString(16).padStart(4, '0').padEnd(40, '0')}'), 20)`
  const scripts = await db.query<{ script: string }>(
    `SELECT lower(hex(script_hash)) AS script FROM script_outputs
     WHERE script_hash >= ${edge(from)} ${to === SCRIPT_RANGES ? '' : `AND script_hash < ${edge(to)}`}
     GROUP BY script_hash HAVING count() >= ${String(tail)} ORDER BY count() DESC LIMIT ${String(most)}
     SETTINGS optimize_aggregation_in_order = 1`,
  )
  return { scripts: scripts.map(({ script }) => script), to }
}

/** The time for which a superseded list is kept for readers that chose it earlier: longer than any query may take. */
const KEPT_SECONDS = 600
const DROPPED_AT_ONCE = 200

interface ListName {
  readonly script: string
  readonly at: number
  readonly tag: number
}

/** Deletes superseded lists, their rows first. @returns whether none are left. */
export async function dropOldLists(db: Database): Promise<boolean> {
  const old = await db.query<ListName>(
    `SELECT lower(hex(script_hash)) AS script, unspent_lists.height AS at, block_tag AS tag FROM unspent_lists
     WHERE built_at < now64(3) - INTERVAL ${String(KEPT_SECONDS)} SECOND AND (script_hash, height) NOT IN (
       SELECT script_hash, height FROM unspent_lists ORDER BY height DESC LIMIT 2 BY script_hash)
     LIMIT ${String(DROPPED_AT_ONCE)}`,
  )
  if (old.length === 0) return true
  await dropRows(db, old)
  const among = `(script_hash, height, block_tag) IN (${old.map(literal).join(', ')})`
  await onEachShard(db, 'unspent_lists', (local) => `DELETE FROM ${local} WHERE ${among}`)
  return old.length < DROPPED_AT_ONCE
}

/** Deletes the rows of lists whose build was interrupted. Must not be called during a build. */
export async function dropUnfinishedLists(db: Database): Promise<void> {
  for (;;) {
    const unfinished = await db.query<ListName>(
      `SELECT DISTINCT lower(hex(script_hash)) AS script, at_height AS at, at_tag AS tag FROM unspent_outputs
       WHERE (script_hash, at_height, at_tag) NOT IN (SELECT script_hash, height, block_tag FROM unspent_lists)
       LIMIT ${String(DROPPED_AT_ONCE)}`,
    )
    if (unfinished.length > 0) await dropRows(db, unfinished)
    if (unfinished.length < DROPPED_AT_ONCE) return
  }
}

/** Deletes the rows of lists. They are named by literals, because replicated tables refuse subqueries in a deletion. */
async function dropRows(db: Database, lists: readonly ListName[]): Promise<void> {
  const among = `(script_hash, at_height, at_tag) IN (${lists.map(literal).join(', ')})`
  await onEachShard(db, 'unspent_outputs', (local) => `DELETE FROM ${local} WHERE ${among}`)
}

const literal = ({ script, at, tag }: ListName): string =>
  `(unhex('${script}'), ${String(at)}, ${String(tag)})`
