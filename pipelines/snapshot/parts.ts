import type { Database } from '../tables/clickhouse.js'
import type { Manifest } from './manifest.js'

/** A table and the division of its rows into files: ranges of keys, so that no query reads or returns the whole table. */
export interface Part {
  readonly table: string
  /** The table whose keys divide the rows, if it is another one: point tables are read by keys alone. */
  readonly by?: string
  /** The columns of the key, in its order, and whether each contains bytes or an integer. */
  readonly key: Readonly<Record<string, 'bytes' | 'integer'>>
  /** The size of a row in bytes, about; without the columns in `payload`. */
  readonly width: number
  /** SQL for the size of the columns of a row that have no limit. */
  readonly payload?: string
  /** Returns SQL for the rows of a range, if that is not a condition over the columns of the table. */
  readonly where?: (range: string) => string
}

const BLOCK = { height: 'integer', block_tag: 'integer' } as const

/**
 * The tables of a snapshot, in the order in which they are copied while they are written. The materializer writes `blocks` before all
 * other rows of a block, and copies a witness to `replaced_witnesses` before it replaces the row of `txs`. So `blocks` comes last,
 * and names every block that left a row in any file, and `replaced_witnesses` comes after `txs`.
 *
 * Left out: `heads`, whose rows are known beforehand, and are copied and restored last; `block_heights`, which follows from `blocks`;
 * rankings and unspent lists, which the materializer builds again; `writers`, which is about processes.
 */
export const PARTS: readonly Part[] = [
  {
    table: 'txs',
    by: 'blocks',
    key: { height: 'integer' },
    width: 200,
    payload: 'size',
    where: (range) => `txid IN (SELECT txid FROM block_txs WHERE ${range})`,
  },
  {
    table: 'scripts',
    by: 'script_txs',
    key: { script_hash: 'bytes' },
    width: 60,
    where: (range) => `script_hash IN (SELECT script_hash FROM script_txs WHERE ${range})`,
  },
  { table: 'address_order', key: { address_key: 'integer', script_prefix: 'bytes' }, width: 13 },
  { table: 'script_txs', key: { script_hash: 'bytes', ordinal: 'integer', ...BLOCK }, width: 70 },
  {
    table: 'script_outputs',
    key: {
      script_hash: 'bytes',
      spent: 'integer',
      height_desc: 'integer',
      txid_prefix: 'bytes',
      vout: 'integer',
      block_tag: 'integer',
      age: 'integer',
    },
    width: 66,
  },
  { table: 'spends', key: { prev_txid: 'bytes', prev_vout: 'integer', ...BLOCK }, width: 40 },
  { table: 'tx_locations', key: { txid_prefix: 'bytes', ...BLOCK, tx_index: 'integer' }, width: 20 },
  {
    table: 'op_returns',
    key: { ordinal: 'integer', ...BLOCK },
    width: 60,
    payload: 'length(data)',
  },
  {
    table: 'script_balances',
    key: { ...BLOCK, script_hash: 'bytes' },
    width: 60,
    payload: 'length(address)',
  },
  { table: 'block_txs', key: { ...BLOCK, tx_index: 'integer' }, width: 58 },
  {
    table: 'replaced_witnesses',
    key: { txid: 'bytes', ...BLOCK },
    width: 50,
    payload: 'length(witness)',
  },
  {
    table: 'blocks',
    key: { height: 'integer', hash: 'bytes' },
    width: 700,
    payload: 'length(payouts) + length(coinbase_script)',
  },
]

/** The rows of `heads` up to one, which a snapshot contains. */
export const HEADS_PART: Part = {
  table: 'heads',
  key: { position: 'integer' },
  width: 150,
  payload: '32 * (length(connected) + length(disconnected))',
}

/** The maximum number of rows of a file: the server has their keys in memory. */
const MAX_ROWS = 2_000_000

/** Returns SQL that selects the rows of a range of keys: after one key, up to and including another; undefined for no limit. */
export function rowsBetween(
  part: Part,
  after: readonly string[] | undefined,
  upTo: readonly string[] | undefined,
): string {
  const range = [
    after === undefined ? '1' : isAfter(part, after),
    upTo === undefined ? '1' : `NOT ${isAfter(part, upTo)}`,
  ].join(' AND ')
  return `SELECT * FROM ${part.table} WHERE ${part.where?.(range) ?? range}`
}

/**
 * Returns the last key of the next file of a table: after it, the rows have about the size of a file.
 * @param extra SQL condition for the rows, or empty. @returns undefined if no more than that is left.
 */
export async function nextKey(
  db: Database,
  { by, table, key, width, payload = '0' }: Part,
  after: readonly string[] | undefined,
  fileBytes: number,
  extra = '',
): Promise<string[] | undefined> {
  const names = Object.keys(key)
  const order = names.join(', ')
  const shown = Object.entries(key).map(([name, type], at) =>
    type === 'bytes' ? `lower(hex(${name})) AS k${String(at)}` : `toString(${name}) AS k${String(at)}`,
  )
  const conditions = [after === undefined ? '1' : isAfter({ key }, after), extra].filter(
    (each) => each !== '',
  )
  const limit = Math.min(Math.ceil(fileBytes / width), MAX_ROWS)
  const rows = `SELECT ${order}, toUInt64(${String(width)}) + ${payload} AS bytes FROM ${by ?? table}
    WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT ${String(limit)}`
  const sql = `SELECT ${shown.join(', ')} FROM (
      SELECT ${order}, sum(bytes) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total FROM (${rows})
    ) WHERE total >= ${String(Math.min(fileBytes, limit * width))} ORDER BY total LIMIT 1`
  const [row] = await db.query<Record<string, string>>(sql)
  return row && names.map((_, at) => row[`k${String(at)}`] ?? '')
}

/** Returns SQL that holds for rows after a key: a condition for each column, so that the index serves all of them. */
function isAfter({ key }: Pick<Part, 'key'>, values: readonly string[]): string {
  return Object.entries(key).reduceRight((rest, [name, type], at) => {
    const value = type === 'bytes' ? `unhex('${values[at] ?? ''}')` : (values[at] ?? '')
    return `(${name} > ${value}${rest === '' ? '' : ` OR (${name} = ${value} AND ${rest})`})`
  }, '')
}

/** Returns whether a database contains the head of a snapshot. */
export async function hasHead(
  db: Database,
  { position, writtenAt, hash }: Manifest['head'],
): Promise<boolean> {
  const params = { position, writtenAt, hash }
  const sql = `SELECT 1 FROM heads WHERE heads.position = {position:Int64} AND toUnixTimestamp64Milli(written_at) = {writtenAt:Int64}
    AND tip_hash = unhex({hash:String}) LIMIT 1`
  return (await db.query(sql, params)).length > 0
}
