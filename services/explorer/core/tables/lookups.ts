import { type ByteQuerier, KEYS, KEYS20, KEYS8, type Querier } from '../../../../pipelines/tables/keys.js'
import { NodeUnavailable } from '../../../../pipelines/node/errors.js'
import type { LocatedTx, TxParts } from '../../../../pipelines/tables/bodies.js'
import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import {
  BLOCK_COLUMNS,
  BLOCK_TXS,
  REPLACED_WITNESSES,
  SCRIPT_OUTPUT_COLUMNS,
  SCRIPT_TX_COLUMNS,
  SCRIPTS,
  SPENDS,
  TX_LOCATIONS,
  TXS,
  UNSPENT_LIST_COLUMNS,
} from '../../../../pipelines/tables/schema.js'
import type { Columns } from '../../../../pipelines/tables/rowbinary.js'
import { pointSettings, type SelectedRow, Selection } from '../../../../pipelines/tables/selection.js'
import { FENCE } from '../../../../pipelines/tables/writers.js'
import { BLOCK, heightsOf } from './blocks.js'
import type { GatherOptions } from './gather.js'
import {
  blockKey,
  blocksFilter,
  blockTxKey,
  blockTxsFilter,
  scriptTxKey,
  scriptTxsFilter,
} from './point-keys.js'

/** The block of a transaction that was written last. */
export type ConfirmedTx = SelectedRow<typeof CONFIRMED_COLUMNS>
/** A transaction without its witness, as of the block that was written last. Its body is empty if it is large. */
export type StoredBody = SelectedRow<typeof BODY_COLUMNS>
/** A transaction as of the block that was written last. Body and witness are empty if they are large. */
export type StoredTx = SelectedRow<typeof TX_COLUMNS>
/** The part of a transaction that its txid determines: all but the witnesses, and the outputs that it spends. */
export type Body = Pick<SelectedRow<typeof TXS.columns>, 'txid' | 'body' | 'prevouts'>
/** The witness of a transaction in the block that was written last. */
export type Witness = Pick<SelectedRow<typeof TXS.columns>, 'txid' | 'height' | 'blockTag' | 'witness'>
/** A location of a transaction whose txid has the prefix. */
export type TxLocation = SelectedRow<typeof TX_LOCATIONS.columns>
/** A transaction of a block. */
export type BlockTx = SelectedRow<typeof BLOCK_TXS.columns>
/** A transaction of a block, without what `block_txs` alone has of it. */
export type PlacedTx = Pick<BlockTx, 'txid' | 'height' | 'blockTag' | 'txIndex'>
/** The witness of a transaction in a block of one of several branches. */
export type ReplacedWitness = SelectedRow<typeof REPLACED_WITNESSES.columns>
/** An output and the input that spends it, in the block of the spending transaction. Its txid is undefined until it was looked up. */
export type Spend = SelectedRow<typeof SPENDS.columns> & { readonly txid?: string }
/** A transaction of a script, with the script's totals after it. Amounts in base units. */
export type ScriptRow = SelectedRow<typeof SCRIPT_TX_COLUMNS>
/** The creation or the spend of an output of a script. */
export type OutputRow = SelectedRow<typeof SCRIPT_OUTPUT_COLUMNS>
/** The name of a list of the unspent outputs of a script, and its size. */
export type ListRow = SelectedRow<typeof UNSPENT_LIST_COLUMNS>

/**
 * The size of a part of a transaction, in bytes, up to which a lookup of many transactions contains it: the sum is then bounded.
 * Larger parts are read a few at a time, and only for answers that contain them.
 */
export const MAX_SMALL = 16 * 1024

const { txid, height, block_tag, tx_index, is_dilithium, body, prevouts, witness } = TXS.columns
const CONFIRMED_COLUMNS = { txid, height, block_tag, tx_index, is_dilithium } as const
const BODY_COLUMNS = {
  ...CONFIRMED_COLUMNS,
  body_size: 'u32',
  witness_size: 'u32',
  small_body: 'bytes',
  small_prevouts: 'bytes',
} as const
const TX_COLUMNS = { ...BODY_COLUMNS, small_witness: 'bytes' } as const

const small = (part: string, size: string): string => `if(${size} <= ${String(MAX_SMALL)}, ${part}, '')`
const BODY_SIZE = 'length(body) + length(prevouts)'
const PARTS = {
  body_size: `toUInt32(${BODY_SIZE})`,
  witness_size: 'toUInt32(length(witness))',
  small_body: small('body', BODY_SIZE),
  small_prevouts: small('prevouts', BODY_SIZE),
  small_witness: small('witness', 'length(witness)'),
}

const CONFIRMED = new Selection(CONFIRMED_COLUMNS)
const STORED_BODY = new Selection(BODY_COLUMNS, PARTS)
const STORED_TX = new Selection(TX_COLUMNS, PARTS)
const LARGE_BODY_COLUMNS = { txid, height, block_tag, body, prevouts } as const
const LARGE_WITNESS_COLUMNS = { txid, height, block_tag, witness, is_bare: 'bool' } as const
const LARGE_BODY = new Selection(LARGE_BODY_COLUMNS)
const LARGE_WITNESS = new Selection(LARGE_WITNESS_COLUMNS, { is_bare: 'empty(body)' })
const BLOCK_ID = new Selection({
  height: BLOCK_COLUMNS.height,
  hash: BLOCK_COLUMNS.hash,
  block_tag: BLOCK_COLUMNS.block_tag,
})
const NOTHING = Buffer.alloc(0)
export const LOCATION = new Selection(TX_LOCATIONS.columns)
export const BLOCK_TX = new Selection(BLOCK_TXS.columns)
const TXID_AT = new Selection({ height, block_tag, tx_index, txid })
const WITNESS = new Selection(REPLACED_WITNESSES.columns)
const SPEND = new Selection(SPENDS.columns)
export const SCRIPT_ROW = new Selection(SCRIPT_TX_COLUMNS)
const SCRIPT = new Selection(SCRIPTS.columns)
const SCRIPT_DIGEST = new Selection(
  { script_hash: SCRIPTS.columns.script_hash, sha256: 'hash' },
  { sha256: 'SHA256(script)' },
)
const OUTPUT = new Selection(SCRIPT_OUTPUT_COLUMNS)
const LIST = new Selection(UNSPENT_LIST_COLUMNS)

/** The number of last rows of a script that are read first. More of them may belong to other branches after a reorganisation. */
export const LAST_ROWS = 8
/** The number of last rows that a first page of a script's history reads, unless it is longer than the default length. */
export const PAGE_ROWS = 26 + LAST_ROWS
/** The number of outputs of a script up to which they are read in one query with the outputs of other scripts. */
export const MAX_OUTPUT_ROWS = 1_000
/** The number of spends of a transaction's outputs up to which they are read in one query with the spends of other transactions. */
export const MAX_SHARED_SPENDS = 500
/** A source of the transactions whose rows of `txs` have no body. */
export interface BodySource {
  /** Returns all of the transactions, in their order. @throws NodeUnavailable. */
  read(located: readonly LocatedTx[]): Promise<readonly TxParts[]>
  /**
   * Returns unspent outputs of the chain by their outpoints; those that the node does not have are missing. @throws NodeUnavailable.
   */
  coins(
    outpoints: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly value: bigint; readonly script: Buffer }>>
}

/** A database, and a source of what it leaves out. */
export type LookupDatabase = Querier & ByteQuerier & { readonly node?: BodySource | undefined }

/** Looks up distinct keys in one query; keys without rows are missing from the map. */
type Load<V> = (db: LookupDatabase, keys: readonly string[]) => Promise<ReadonlyMap<string, V>>

/** A kind of lookups by key, which are combined into batches as the options say. */
interface PointLookup<V> extends Pick<GatherOptions<V>, 'maxNear' | 'inFlight' | 'least' | 'maxKeys'> {
  readonly load: Load<V>
}

const lookup = <V>(load: Load<V>, options: Omit<PointLookup<V>, 'load'> = {}): PointLookup<V> => ({
  load,
  ...options,
})

const txsOf =
  <C extends Columns>(columns: Selection<C>): Load<SelectedRow<C>> =>
  async (db, keys) => {
    const rows = await columns.bytesByKeys(db, `FROM txs WHERE txid IN ${KEYS}`, keys)
    return new Map(rows.map((row) => [(row as unknown as Body).txid, row]))
  }

/** The block of a transaction, as its rows name it. */
export type Place = Pick<ConfirmedTx, 'txid' | 'height' | 'blockTag'>

/**
 * Reads transactions as of blocks from the node, in their order.
 * @throws DatabaseUnavailable, with NodeUnavailable as its cause if the node does not return one.
 */
export async function readFromNode(
  db: LookupDatabase,
  places: readonly Place[],
): Promise<readonly TxParts[]> {
  if (places.length === 0) return []
  const { node } = db
  if (node === undefined) throw new DatabaseUnavailable('there is no node for what the tables lack')
  const heights = new Set(places.map(({ height }) => height))
  const blocks = await BLOCK_ID.bytes(db, `FROM blocks WHERE height IN (${[...heights].join(', ')})`)
  const keyOf = ({ height, blockTag: tag }: Omit<Place, 'txid'>): string => `${String(height)} ${String(tag)}`
  const hashes = new Map(blocks.map((block) => [keyOf(block), block.hash]))
  const located = places.map((place) => {
    const hash = hashes.get(keyOf(place))
    if (hash === undefined)
      throw new DatabaseUnavailable(`no block ${String(place.height)} has the tag of a row`)
    return { txid: place.txid, hash }
  })
  try {
    return await node.read(located)
  } catch (error) {
    if (!(error instanceof NodeUnavailable)) throw error
    throw new DatabaseUnavailable(error.message, { cause: error })
  }
}

/** Returns a load of rows of `txs`. Rows without a body, which no transaction is without, have the parts that the node returns. */
const filled =
  <C extends Columns, R extends Place>(
    columns: Selection<C>,
    isBare: (row: R) => boolean,
    fill: (row: R, parts: TxParts) => R,
  ): Load<R> =>
  async (db, keys) => {
    const rows = (await txsOf(columns)(db, keys)) as unknown as ReadonlyMap<string, R>
    const bare = [...rows.values()].filter(isBare)
    if (bare.length === 0) return rows
    const parts = await readFromNode(db, bare)
    const found = new Map(rows)
    for (const [at, row] of bare.entries()) found.set(row.txid, fill(row, parts[at] as TxParts))
    return found
  }

/** Returns the row of a transaction with its parts. Large ones are left out. */
function fillSmall<R extends StoredBody>(row: R, { body, prevouts, witness }: TxParts): R {
  const [bodySize, witnessSize] = [body.length + prevouts.length, witness.length]
  const isSmall = bodySize <= MAX_SMALL
  return {
    ...row,
    bodySize,
    witnessSize,
    smallBody: isSmall ? body : NOTHING,
    smallPrevouts: isSmall ? prevouts : NOTHING,
    ...('smallWitness' in row && { smallWitness: witnessSize <= MAX_SMALL ? witness : NOTHING }),
  }
}

const isBareRow = ({ bodySize }: StoredBody): boolean => bodySize === 0

/** Returns a load of all rows with a key. @param from SQL from FROM on. */
const groupsOf =
  <C extends Columns>(
    columns: Selection<C>,
    from: string,
    keyOf: (row: SelectedRow<C>) => string,
  ): Load<readonly SelectedRow<C>[]> =>
  async (db, keys) =>
    groupBy(await columns.bytesByKeys(db, from, keys), keyOf)

const spendsOf = (limit: string): Load<readonly Spend[]> =>
  groupsOf(SPEND, `FROM spends WHERE prev_txid IN ${KEYS20} ${limit}`, ({ prevTxid }) => prevTxid)

/**
 * Returns a load of some rows of scripts.
 * @param ofOne reads the rows of a single script, faster. @param order SQL that sorts the rows of all branches, and limits them.
 */
const scriptsOf =
  (
    ofOne: (db: ByteQuerier, script: string) => Promise<ScriptRow[]>,
    order: string,
  ): Load<readonly ScriptRow[]> =>
  async (db, keys) => {
    const [script = '', ...others] = keys
    const rows = `FROM script_txs WHERE script_hash IN ${KEYS20} ORDER BY ${order} BY script_hash`
    return groupBy(
      others.length === 0 ? await ofOne(db, script) : await SCRIPT_ROW.bytesByKeys(db, rows, keys),
      ({ scriptHash }) => scriptHash,
    )
  }

/** The options of lookups of large parts of transactions: of some megabytes each, so few are in memory at once. */
const LARGE = { inFlight: 2, least: 1, maxKeys: 4 }
/** The options of lookups of the last rows of scripts, or of their outputs, of which each script may have many. */
const OF_SCRIPTS = { maxKeys: 100 }

/**
 * Returns the settings of a query for transactions by so many places. All columns of the few rows of a granule are read at once: reading
 * the condition's columns first takes half as much again.
 */
const placeSettings = (keys: number): string => {
  const settings = pointSettings(keys)
  return settings === '' ? '' : `${settings}, optimize_move_to_prewhere = 0`
}

/** All lookups by key. */
export const LOOKUPS = {
  blocks: lookup(
    async (db, keys) => {
      const rows = await BLOCK.bytes(db, `FROM blocks WHERE ${blocksFilter(keys)}`)
      return new Map(rows.map((row) => [blockKey(row.height, row.hash), row]))
    },
    // A second batch, because a failed attempt to read a head may have left one in flight.
    { least: 1 },
  ),
  heights: lookup(heightsOf),
  confirmations: lookup(txsOf(CONFIRMED)),
  // The list of a block reads thousands.
  bodies: lookup(filled(STORED_BODY, isBareRow, fillSmall<StoredBody>), { maxKeys: 1_000 }),
  txs: lookup(filled(STORED_TX, isBareRow, fillSmall<StoredTx>)),
  largeBodies: lookup(
    filled(
      LARGE_BODY,
      ({ body: read }: SelectedRow<typeof LARGE_BODY_COLUMNS>) => read.length === 0,
      (row, parts) => ({ ...row, body: parts.body, prevouts: parts.prevouts }),
    ),
    LARGE,
  ),
  largeWitnesses: lookup(
    filled(
      LARGE_WITNESS,
      ({ isBare }: SelectedRow<typeof LARGE_WITNESS_COLUMNS>) => isBare,
      (row, parts) => ({ ...row, witness: parts.witness }),
    ),
    LARGE,
  ),
  locations: lookup(
    groupsOf(LOCATION, `FROM tx_locations WHERE txid_prefix IN ${KEYS8}`, ({ txidPrefix }) => txidPrefix),
  ),
  blockTxs: lookup(
    async (db, keys) => {
      const rows = await BLOCK_TX.bytes(
        db,
        `FROM block_txs WHERE ${blockTxsFilter(keys)}${placeSettings(keys.length)}`,
      )
      return new Map(rows.map((row) => [blockTxKey(row), row]))
    },
    { maxKeys: 1_000 },
  ),
  // Fewer columns than `blockTxs`: most answers need the txids of many transactions that rows name by their places.
  txids: lookup(
    async (db, keys) => {
      const rows = await TXID_AT.bytes(
        db,
        `FROM block_txs WHERE ${blockTxsFilter(keys)}${placeSettings(keys.length)}`,
      )
      return new Map(rows.map((row) => [blockTxKey(row), row.txid]))
    },
    // A row of the store takes 15 µs, a row of the table 200 of the database.
    { maxKeys: 1_000, maxNear: 500 },
  ),
  witnesses: lookup(groupsOf(WITNESS, `FROM replaced_witnesses WHERE txid IN ${KEYS}`, (row) => row.txid)),
  spends: lookup(spendsOf(`LIMIT ${String(MAX_SHARED_SPENDS + 1)} BY prev_txid`)),
  largeSpends: lookup(spendsOf(''), LARGE),
  scriptRows: lookup(async (db, keys) => {
    const rows = await SCRIPT_ROW.bytes(db, `FROM script_txs WHERE ${scriptTxsFilter(keys)}`)
    return groupBy(rows, ({ scriptHash, ordinal }) => scriptTxKey(scriptHash, ordinal))
  }),
  scripts: lookup(async (db, keys) => {
    const rows = await SCRIPT.bytesByKeys(db, `FROM scripts WHERE script_hash IN ${KEYS20}`, keys)
    return new Map(rows.map(({ scriptHash, script }) => [scriptHash, script]))
  }, LARGE),
  scriptDigests: lookup(async (db, keys) => {
    const rows = await SCRIPT_DIGEST.bytesByKeys(db, `FROM scripts WHERE script_hash IN ${KEYS20}`, keys)
    return new Map(rows.map(({ scriptHash, sha256 }) => [scriptHash, sha256]))
  }),
  scriptEnds: lookup(
    // Not ordered by the hash, too: the server would read in the order of the key, which takes twice as long.
    scriptsOf(endsOf, `script_txs.ordinal = 1 DESC, script_txs.ordinal DESC LIMIT ${String(1 + LAST_ROWS)}`),
    OF_SCRIPTS,
  ),
  scriptPages: lookup(
    scriptsOf(
      (db, script) => endOf(db, script, PAGE_ROWS),
      `script_txs.ordinal DESC LIMIT ${String(PAGE_ROWS)}`,
    ),
    OF_SCRIPTS,
  ),
  outputs: lookup(
    groupsOf(
      OUTPUT,
      `FROM script_outputs WHERE script_hash IN ${KEYS20} LIMIT ${String(MAX_OUTPUT_ROWS + 1)} BY script_hash`,
      ({ scriptHash }) => scriptHash,
    ),
    OF_SCRIPTS,
  ),
  unspentLists: lookup(
    groupsOf(LIST, `FROM unspent_lists WHERE script_hash IN ${KEYS20}`, ({ scriptHash }) => scriptHash),
  ),
  fence: lookup(async (db) => {
    const [row] = await db.query<{ fence: string }>(FENCE)
    return new Map([['', BigInt(row?.fence ?? 0)]])
  }),
}

/** The name of a kind of lookups. */
export type LookupName = keyof typeof LOOKUPS
/** The value of a lookup for a key. */
export type LookedUp<N extends LookupName> = (typeof LOOKUPS)[N] extends PointLookup<infer V> ? V : never

/** Values that are at hand without the database. */
export interface NearLookups {
  /** Returns a function that returns the value of a key if it is at hand; undefined for lookups of which none is. */
  of(name: LookupName): ((key: string) => unknown) | undefined
}

/**
 * The lookups whose rows lead to keys of another lookup, without cycles: those of locations, spends and outputs lead back to
 * `blockTxs` and `txids`, too, in a later round.
 */
export const LEADS: Readonly<Partial<Record<LookupName, readonly LookupName[]>>> = {
  blocks: ['heights'],
  scriptEnds: ['scripts'],
  unspentLists: ['scripts'],
  scriptRows: ['scripts', 'scriptEnds'],
  outputs: ['scripts', 'scriptEnds', 'unspentLists'],
  blockTxs: ['heights', 'blocks', 'scriptEnds', 'scriptRows'],
  txids: ['heights', 'blocks', 'scriptEnds', 'scriptRows'],
  confirmations: ['heights', 'blocks', 'blockTxs', 'txids'],
  bodies: ['heights', 'blocks', 'blockTxs', 'txids'],
  txs: ['heights', 'blocks', 'blockTxs', 'txids'],
  spends: ['heights', 'blocks', 'blockTxs', 'txids'],
}

/** Returns the first rows of a script, of all branches, and then its last rows, highest ordinal first; some rows may be both. */
export function endsOf(db: ByteQuerier, script: string): Promise<ScriptRow[]> {
  const first = 'FROM script_txs WHERE script_hash = unhex({script:String}) AND ordinal = 1'
  const last = `SELECT ${SCRIPT_ROW.names} ${lastRows(LAST_ROWS)}`
  return SCRIPT_ROW.bytes(db, `${first} UNION ALL (${last})${pointSettings(2)}`, { script })
}

/** Returns the last rows of a script, highest ordinal first. With IN instead of =, the server would read and sort all of them. */
export function endOf(db: ByteQuerier, script: string, rows: number, filter = '1'): Promise<ScriptRow[]> {
  return SCRIPT_ROW.bytes(db, lastRows(rows, filter) + pointSettings(rows), { script })
}

/** Returns the first row of a script after a spend of a kind, a bit of `spend_kinds`. @param filter selects visible rows. */
export function firstSpendOf(
  db: ByteQuerier,
  script: string,
  kind: number,
  filter: string,
): Promise<ScriptRow[]> {
  const rows = `FROM script_txs WHERE script_hash = unhex({script:String}) AND bitAnd(spend_kinds, {kind:UInt8}) != 0
    AND ${filter} ORDER BY script_txs.ordinal LIMIT 1`
  return SCRIPT_ROW.bytes(db, rows, { script, kind })
}

const lastRows = (rows: number, filter = '1'): string =>
  `FROM script_txs WHERE script_hash = unhex({script:String}) AND ${filter}
    ORDER BY script_txs.ordinal DESC LIMIT ${String(rows)}`

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [row])
    else group.push(row)
  }
  return groups
}
