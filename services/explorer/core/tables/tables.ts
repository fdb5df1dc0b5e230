import { LRUCache } from 'lru-cache'
import { type ByteQuerier, KEYS, KEYS20, KEYS8, type Querier } from '../../../../pipelines/tables/keys.js'
import {
  BLOCK_TXS,
  REPLACED_WITNESSES,
  SCRIPT_OUTPUTS,
  SCRIPT_TX_COLUMNS,
  SPENDS,
  TX_LOCATIONS,
  TXS,
  UNSPENT_LIST_COLUMNS,
} from '../../../../pipelines/tables/schema.js'
import type { Columns } from '../../../../pipelines/tables/rowbinary.js'
import { type SelectedRow, Selection } from '../../../../pipelines/tables/selection.js'
import { FENCE } from '../../../../pipelines/tables/writers.js'
import type { QueryRunner } from './availability.js'
import { BLOCK, type BlockRow, heightsOf } from './blocks.js'
import type { CancelSignal } from './cancellation.js'
import { Gatherer, type GatherOptions, type Lookup } from './gather.js'
import {
  blockKey,
  blocksFilter,
  blockTxKey,
  blockTxsFilter,
  scriptTxKey,
  scriptTxsFilter,
} from './point-keys.js'
import { Rounds } from './rounds.js'

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
/** The witness of a transaction in a block of one of several branches. */
export type ReplacedWitness = SelectedRow<typeof REPLACED_WITNESSES.columns>
/** An output and the input that spends it, in the block of the spending transaction. */
export type Spend = SelectedRow<typeof SPENDS.columns>
/** A transaction of a script, with the script's totals after it. Amounts in base units. */
export type ScriptRow = SelectedRow<typeof SCRIPT_TX_COLUMNS>
/** The creation or the spend of an output of a script. */
export type OutputRow = SelectedRow<typeof SCRIPT_OUTPUTS.columns>
/** The name of a list of the unspent outputs of a script, and its size. */
export type ListRow = SelectedRow<typeof UNSPENT_LIST_COLUMNS>

/**
 * The size of a part of a transaction, in bytes, up to which a lookup of many transactions contains it: the sum is then bounded.
 * Larger parts are read a few at a time, and only for answers that contain them.
 */
const MAX_SMALL = 16 * 1024

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
const LARGE_BODY = new Selection({ txid, body, prevouts })
const LARGE_WITNESS = new Selection({ txid, height, block_tag, witness })
const LOCATION = new Selection(TX_LOCATIONS.columns)
const BLOCK_TX = new Selection(BLOCK_TXS.columns)
const WITNESS = new Selection(REPLACED_WITNESSES.columns)
const SPEND = new Selection(SPENDS.columns)
const SCRIPT_ROW = new Selection(SCRIPT_TX_COLUMNS)
const OUTPUT = new Selection(SCRIPT_OUTPUTS.columns)
const LIST = new Selection(UNSPENT_LIST_COLUMNS)

interface Gatherers {
  readonly blocks: Gatherer<BlockRow>
  readonly confirmations: Gatherer<ConfirmedTx>
  readonly bodies: Gatherer<StoredBody>
  readonly txs: Gatherer<StoredTx>
  readonly largeBodies: Gatherer<Body>
  readonly largeWitnesses: Gatherer<Witness>
  readonly locations: Gatherer<readonly TxLocation[]>
  readonly blockTxs: Gatherer<BlockTx>
  readonly witnesses: Gatherer<readonly ReplacedWitness[]>
  readonly spends: Gatherer<readonly Spend[]>
  readonly largeSpends: Gatherer<readonly Spend[]>
  readonly scriptEnds: Gatherer<readonly ScriptRow[]>
  readonly scriptPages: Gatherer<readonly ScriptRow[]>
  readonly outputs: Gatherer<readonly OutputRow[]>
  readonly unspentLists: Gatherer<readonly ListRow[]>
  readonly fence: Gatherer<bigint>
}

/** Lookups that an operation needs for many objects at once. A single answer reads their rows by ranges, which is faster for one. */
interface BatchGatherers {
  readonly heights: Gatherer<number>
  readonly scriptRows: Gatherer<readonly ScriptRow[]>
}

/** The lookups of an operation. */
export interface BatchLookups {
  /** By `blockKey`. */
  readonly blocks: Lookup<BlockRow>
  /** Heights of blocks, by hash. */
  readonly heights: Lookup<number>
}

type GatheredTable = keyof Gatherers | keyof BatchGatherers

/** The lookups whose rows lead to keys of another lookup. Lookups of locations lead back to `blockTxs`, but are rare. */
const LEADS: Readonly<Partial<Record<GatheredTable, readonly GatheredTable[]>>> = {
  blocks: ['heights'],
  scriptRows: ['scriptEnds'],
  outputs: ['scriptEnds', 'unspentLists'],
  blockTxs: ['heights', 'blocks', 'scriptEnds', 'scriptRows'],
  confirmations: ['heights', 'blocks', 'blockTxs'],
  bodies: ['heights', 'blocks', 'blockTxs'],
  txs: ['heights', 'blocks', 'blockTxs'],
  spends: ['heights', 'blocks', 'blockTxs'],
}

/** The number of keys that one query of an operation looks up. */
export const OPERATION_KEYS = 1_000

/** The batches of large parts of transactions: of some megabytes each, so few are in memory at once. */
const LARGE: Gathering = { inFlight: 2, least: 1, maxKeys: 4 }

type Gathering = Pick<GatherOptions<unknown>, 'inFlight' | 'least' | 'maxKeys' | 'begin'>

/** The arguments of a gatherer's lookup. */
type Keys = [keys: readonly string[], signal: AbortSignal]

/** The number of last rows of a script that are read first. More of them may belong to other branches after a reorganisation. */
export const LAST_ROWS = 8
/** The number of last rows that a first page of a script's history reads, unless it is longer than the default length. */
export const PAGE_ROWS = 26 + LAST_ROWS
/** The number of outputs of a script up to which they are read in one query with the outputs of other scripts. */
export const MAX_OUTPUT_ROWS = 1_000
/** The number of spends of a transaction's outputs up to which they are read in one query with the spends of other transactions. */
export const MAX_SHARED_SPENDS = 500
/** The number of scripts whose last rows, or outputs, are read at once. */
const SCRIPTS_AT_ONCE = 100
/** Above this ordinal a script is read alone, backwards from its end, instead of together with others. */
const LONG_HISTORY = 5_000
const MAX_LONG_SCRIPTS = 10_000

/**
 * Point lookups of rows of all branches, from which callers select the rows of their chain (`CanonicalBlocks.has`): such rows are right
 * whatever is being written, so lookups need no fence. Concurrent lookups share queries.
 */
export class Tables {
  #gatherers: Gatherers
  /** The gatherers as a list. */
  #listed: readonly Gatherer<unknown>[] | undefined
  #hasRead = false
  /** Scripts known to have a long history. */
  #long: LRUCache<string, true>
  #batches: BatchGatherers | undefined

  constructor(
    private db: QueryRunner,
    private readonly signal?: CancelSignal,
    whole?: Tables,
  ) {
    this.#gatherers = whole === undefined ? this.#newGatherers() : whole.#gatherers
    this.#long = whole === undefined ? new LRUCache({ max: MAX_LONG_SCRIPTS }) : whole.#long
  }

  /** True if rows were read here whose visibility was decided in SQL: they are valid if the fence has not changed. */
  get hasRead(): boolean {
    return this.#hasRead
  }

  /** Notes that the answer is valid only if the fence has not changed. */
  requireFence(): void {
    this.#hasRead = true
  }

  /**
   * Returns the number of the newest writer, by a query that starts after the call: rows that were read before come from no newer
   * writer. Calls during such a query share the next one.
   */
  async fence(): Promise<bigint> {
    return (await this.#gatherers.fence.get('', this.signal)) ?? 0n
  }

  #newGatherers(how: (table: GatheredTable) => Gathering = () => ({})): Gatherers {
    return {
      // A second batch, because a failed attempt to read a head may have left one in flight.
      blocks: new Gatherer({ load: (...keys) => this.#loadBlocks(...keys), least: 1, ...how('blocks') }),
      confirmations: new Gatherer({
        load: (...keys) => this.#loadTxs(CONFIRMED, ...keys),
        ...how('confirmations'),
      }),
      bodies: new Gatherer({ load: (...keys) => this.#loadTxs(STORED_BODY, ...keys), ...how('bodies') }),
      txs: new Gatherer({ load: (...keys) => this.#loadTxs(STORED_TX, ...keys), ...how('txs') }),
      // Without the collection of an operation: a few at a time, for all answers together.
      largeBodies: new Gatherer({ load: (...keys) => this.#loadTxs(LARGE_BODY, ...keys), ...LARGE }),
      largeWitnesses: new Gatherer({ load: (...keys) => this.#loadTxs(LARGE_WITNESS, ...keys), ...LARGE }),
      locations: new Gatherer({ load: (...keys) => this.#loadLocations(...keys), ...how('locations') }),
      blockTxs: new Gatherer({ load: (...keys) => this.#loadBlockTxs(...keys), ...how('blockTxs') }),
      witnesses: new Gatherer({ load: (...keys) => this.#loadWitnesses(...keys), ...how('witnesses') }),
      spends: new Gatherer({
        load: (...keys) => this.#loadSpends(`LIMIT ${String(MAX_SHARED_SPENDS + 1)} BY prev_txid`, ...keys),
        ...how('spends'),
      }),
      largeSpends: new Gatherer({ load: (...keys) => this.#loadSpends('', ...keys), ...LARGE }),
      fence: new Gatherer({ load: (_, signal) => this.#loadFence(signal) }),
      scriptEnds: new Gatherer({
        load: (...keys) => this.#loadScriptEnds(...keys),
        maxKeys: SCRIPTS_AT_ONCE,
        ...how('scriptEnds'),
      }),
      scriptPages: new Gatherer({
        load: (...keys) => this.#loadScriptPages(...keys),
        maxKeys: SCRIPTS_AT_ONCE,
        ...how('scriptPages'),
      }),
      outputs: new Gatherer({
        load: (...keys) => this.#loadOutputs(...keys),
        maxKeys: SCRIPTS_AT_ONCE,
        ...how('outputs'),
      }),
      unspentLists: new Gatherer({
        load: (...keys) => this.#loadUnspentLists(...keys),
        ...how('unspentLists'),
      }),
    }
  }

  /**
   * Returns these tables for an operation of many reads, whose lookups are collected: for each step of reads that run in parallel
   * one query per table, for each 1,000 keys begun. The signal cancels its queries.
   */
  forOperation(signal: CancelSignal): Tables {
    const rounds = new Rounds<GatheredTable>(LEADS)
    const tables = new Tables(rounds.of(this.db), signal, this)
    const how = (table: GatheredTable): Gathering => ({
      ...{ inFlight: Number.POSITIVE_INFINITY, least: 1, maxKeys: OPERATION_KEYS },
      begin: (callback) => {
        rounds.begin(table, callback)
      },
    })
    const { fence, largeBodies, largeWitnesses, largeSpends } = this.#gatherers
    tables.#gatherers = { ...tables.#newGatherers(how), fence, largeBodies, largeWitnesses, largeSpends }
    tables.#batches = {
      heights: new Gatherer({ load: (...keys) => tables.#loadHeights(...keys), ...how('heights') }),
      scriptRows: new Gatherer({ load: (...keys) => tables.#loadScriptRows(...keys), ...how('scriptRows') }),
    }
    return tables
  }

  /** The lookups of an operation; undefined for a single answer. */
  get batches(): BatchLookups | undefined {
    const { heights } = this.#batches ?? {}
    return heights === undefined ? undefined : { blocks: this.blocks, heights: heights.until(this.signal) }
  }

  /** Lookup of blocks by `blockKey`, for several callers at once: a single block is read faster by `blockAt`. */
  get blocks(): Lookup<BlockRow> {
    return this.#gatherers.blocks.until(this.signal)
  }

  /** Lookup of transactions by txid, as of the block that was written last. */
  get txs(): Lookup<StoredTx> {
    return this.#gatherers.txs.until(this.signal)
  }

  /** Lookup of transactions by txid, without their witnesses. */
  get bodies(): Lookup<StoredBody> {
    return this.#gatherers.bodies.until(this.signal)
  }

  /** Lookup of the blocks of transactions by txid. */
  get confirmations(): Lookup<ConfirmedTx> {
    return this.#gatherers.confirmations.until(this.signal)
  }

  /** Lookup by txid of the bodies that are too large for the lookups of many transactions. */
  get largeBodies(): Lookup<Body> {
    return this.#gatherers.largeBodies.until(this.signal)
  }

  /** Lookup by txid of the witnesses that are too large for the lookup of many transactions. */
  get largeWitnesses(): Lookup<Witness> {
    return this.#gatherers.largeWitnesses.until(this.signal)
  }

  /** Lookup of locations by `locationPrefix` of the txid: of all transactions whose txid has it. */
  get locations(): Lookup<readonly TxLocation[]> {
    return this.#gatherers.locations.until(this.signal)
  }

  /** Lookup of the transactions of blocks by `blockTxKey`. */
  get blockTxs(): Lookup<BlockTx> {
    return this.#gatherers.blockTxs.until(this.signal)
  }

  /** Lookup by txid of the witnesses of transactions that blocks of several branches contain. */
  get replacedWitnesses(): Lookup<readonly ReplacedWitness[]> {
    return this.#gatherers.witnesses.until(this.signal)
  }

  /**
   * Lookup of spends by `outputPrefix` of the txid of the spent outputs. If a transaction has more than `MAX_SHARED_SPENDS`, one more
   * than that many of them.
   */
  get spends(): Lookup<readonly Spend[]> {
    return this.#gatherers.spends.until(this.signal)
  }

  /** Lookup of all spends of transactions that have many. */
  get largeSpends(): Lookup<readonly Spend[]> {
    return this.#gatherers.largeSpends.until(this.signal)
  }

  /**
   * Lookup of the creations and spends of a script's outputs, of all branches, by the hash of the script as in the tables. If it has
   * more than `MAX_OUTPUT_ROWS`, one more than that many of them.
   */
  get outputs(): Lookup<readonly OutputRow[]> {
    return this.#gatherers.outputs.until(this.signal)
  }

  /** Lookup of the lists of a script's unspent outputs, of all branches, by the hash of the script as in the tables. */
  get unspentLists(): Lookup<readonly ListRow[]> {
    return this.#gatherers.unspentLists.until(this.signal)
  }

  /** Returns these tables for a caller that may disconnect: the signal cancels its queries, and lookups that only it needs. */
  withSignal(signal: CancelSignal): Tables {
    return new Tables(this.db, signal, this)
  }

  get runner(): QueryRunner {
    return this.db
  }

  /** Takes over the database and lookups of other tables. Lookups in flight still complete from their own database. */
  protected take(other: Tables): void {
    this.db = other.db
    this.#gatherers = other.#gatherers
    this.#listed = undefined
    this.#long = other.#long
  }

  /** True if new work would wait for more than one batch of lookups, or in a long queue of queries, and should be refused. */
  get isOverloaded(): boolean {
    return this.db.isCrowded || this.#all.some((each) => each.isFull)
  }

  /** The number of keys that wait for a batch of lookups. */
  get lookupsWaiting(): number {
    return this.#all.reduce((sum, { waiting }) => sum + waiting, 0)
  }

  /** The number of keys that were looked up; starts over at 0 after a switch to another database. */
  get lookedUp(): number {
    return this.#all.reduce((sum, { lookedUp }) => sum + lookedUp, 0)
  }

  get #all(): readonly Gatherer<unknown>[] {
    return (this.#listed ??= Object.values(this.#gatherers) as Gatherer<unknown>[])
  }

  /** True while the database is reachable; otherwise every query fails immediately. */
  get isReachable(): boolean {
    return this.db.connected
  }

  query<T>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<T[]> {
    this.#hasRead = true
    return this.db.query<T>(sql, params, this.signal)
  }

  /** Runs queries for rows of all branches, from which the caller selects the rows of its chain: such queries need no fence. */
  get unchecked(): ByteQuerier {
    return { bytes: (sql, params) => this.db.bytes(sql, params, this.signal) }
  }

  /** Returns rows in the format RowBinary. */
  bytes(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<Buffer> {
    this.#hasRead = true
    return this.db.bytes(sql, params, this.signal)
  }

  #until(signal: AbortSignal): Querier & ByteQuerier {
    return {
      query: (sql, params) => this.db.query(sql, params, signal),
      bytes: (sql, params) => this.db.bytes(sql, params, signal),
    }
  }

  /**
   * Returns the first and the last row of a script that `visible` accepts, undefined if there is none.
   * @param script the hash of the script as in the tables.
   * @param filter the condition of `visible` in SQL; used only if many rows belong to other branches.
   */
  async endsOfScript(
    script: string,
    visible: (row: ScriptRow) => boolean,
    filter: string,
  ): Promise<[first: ScriptRow | undefined, last: ScriptRow | undefined]> {
    const { scriptEnds } = this.#gatherers
    const rows = this.#long.get(script)
      ? await endsOf(this.unchecked, script)
      : ((await scriptEnds.get(script, this.signal)) ?? [])
    const ends = rows.filter(visible)
    const end = ends.reduce<ScriptRow | undefined>(
      (last, row) => (last === undefined || row.ordinal > last.ordinal ? row : last),
      undefined,
    )
    // Only first rows: if there are further rows, a row beyond these may be visible.
    const isKnown = rows.length <= LAST_ROWS || (end !== undefined && end.ordinal > 1)
    const last = isKnown ? end : await this.lastVisibleOfScript(script, visible, filter)
    if (last === undefined) return [undefined, undefined]
    const first = ends.find(({ ordinal }) => ordinal === 1)
    return [first ?? (await this.scriptRows(script, 1, 1)).find(visible), last]
  }

  /** Returns the last visible row of a script, for the case that all rows of the script's end belong to other branches. */
  async lastVisibleOfScript(
    script: string,
    visible: (row: ScriptRow) => boolean,
    filter: string,
  ): Promise<ScriptRow | undefined> {
    this.requireFence()
    return (await this.scriptEnd(script, 1, filter)).find(visible)
  }

  /** Returns at least that many last rows of a script if it has them, of all branches, highest ordinal first. */
  async lastRows(script: string, rows: number): Promise<readonly ScriptRow[]> {
    if (rows > PAGE_ROWS || this.#long.get(script)) return this.scriptEnd(script, rows)
    return (await this.#gatherers.scriptPages.get(script, this.signal)) ?? []
  }

  /** Returns the last rows of a script, of all branches, highest ordinal first. */
  async scriptEnd(script: string, rows: number, filter = '1'): Promise<ScriptRow[]> {
    return endOf(this.unchecked, script, rows, filter)
  }

  /** Returns the rows of a script with ordinals in a range (inclusive), of all branches. */
  async scriptRows(script: string, from: number, to: number): Promise<ScriptRow[]> {
    if (this.#batches !== undefined) {
      const keys = Array.from({ length: to - from + 1 }, (_, index) => scriptTxKey(script, from + index))
      return [...(await this.#batches.scriptRows.until(this.signal).getAll(keys)).values()].flat()
    }
    const rows = `FROM script_txs WHERE script_hash = unhex({script:String})
      AND ordinal BETWEEN {from:UInt32} AND {to:UInt32}`
    return SCRIPT_ROW.bytes(this.unchecked, rows, { script, from, to })
  }

  async #loadFence(signal: AbortSignal): Promise<Map<string, bigint>> {
    const [row] = await this.db.query<{ fence: string }>(FENCE, {}, signal)
    return new Map([['', BigInt(row?.fence ?? 0)]])
  }

  async #loadTxs<C extends Columns>(
    columns: Selection<C>,
    ...[keys, signal]: Keys
  ): Promise<Map<string, SelectedRow<C>>> {
    const rows = await columns.bytesByKeys(this.#until(signal), `FROM txs WHERE txid IN ${KEYS}`, keys)
    return new Map(rows.map((row) => [(row as unknown as Body).txid, row]))
  }

  async #loadLocations(...[keys, signal]: Keys): Promise<Map<string, TxLocation[]>> {
    const rows = `FROM tx_locations WHERE txid_prefix IN ${KEYS8}`
    return groupBy(
      await LOCATION.bytesByKeys(this.#until(signal), rows, keys),
      ({ txidPrefix }) => txidPrefix,
    )
  }

  async #loadBlockTxs(...[keys, signal]: Keys): Promise<Map<string, BlockTx>> {
    const rows = await BLOCK_TX.bytes(this.#until(signal), `FROM block_txs WHERE ${blockTxsFilter(keys)}`)
    return new Map(rows.map((row) => [blockTxKey(row), row]))
  }

  async #loadWitnesses(...[keys, signal]: Keys): Promise<Map<string, ReplacedWitness[]>> {
    const rows = `FROM replaced_witnesses WHERE txid IN ${KEYS}`
    return groupBy(await WITNESS.bytesByKeys(this.#until(signal), rows, keys), ({ txid }) => txid)
  }

  async #loadSpends(limit: string, ...[keys, signal]: Keys): Promise<Map<string, Spend[]>> {
    const rows = `FROM spends WHERE prev_txid IN ${KEYS20} ${limit}`
    return groupBy(await SPEND.bytesByKeys(this.#until(signal), rows, keys), ({ prevTxid }) => prevTxid)
  }

  async #loadBlocks(...[keys, signal]: Keys): Promise<Map<string, BlockRow>> {
    const rows = await BLOCK.bytes(this.#until(signal), `FROM blocks WHERE ${blocksFilter(keys)}`)
    return new Map(rows.map((row) => [blockKey(row.height, row.hash), row]))
  }

  async #loadHeights(...[keys, signal]: Keys): Promise<Map<string, number>> {
    return heightsOf(this.#until(signal), keys)
  }

  async #loadScriptRows(...[keys, signal]: Keys): Promise<Map<string, ScriptRow[]>> {
    const rows = `FROM script_txs WHERE ${scriptTxsFilter(keys)}`
    const scriptRows = await SCRIPT_ROW.bytes(this.#until(signal), rows)
    return groupBy(scriptRows, ({ scriptHash, ordinal }) => scriptTxKey(scriptHash, ordinal))
  }

  async #loadScriptEnds(...[keys, signal]: Keys): Promise<Map<string, ScriptRow[]>> {
    const db = this.#until(signal)
    const [script = '', ...others] = keys
    // Not ordered by the hash, too: the server would read in the order of the key, which takes twice as long.
    const rows = `FROM script_txs WHERE script_hash IN ${KEYS20}
      ORDER BY script_txs.ordinal = 1 DESC, script_txs.ordinal DESC LIMIT ${String(1 + LAST_ROWS)} BY script_hash`
    return this.#ofScripts(
      others.length === 0 ? await endsOf(db, script) : await SCRIPT_ROW.bytesByKeys(db, rows, keys),
    )
  }

  async #loadScriptPages(...[keys, signal]: Keys): Promise<Map<string, ScriptRow[]>> {
    const db = this.#until(signal)
    const [script = '', ...others] = keys
    const rows = `FROM script_txs WHERE script_hash IN ${KEYS20}
      ORDER BY script_txs.ordinal DESC LIMIT ${String(PAGE_ROWS)} BY script_hash`
    return this.#ofScripts(
      others.length === 0 ? await endOf(db, script, PAGE_ROWS) : await SCRIPT_ROW.bytesByKeys(db, rows, keys),
    )
  }

  /** Returns rows by their scripts, and notes the scripts that have a long history. */
  #ofScripts(rows: readonly ScriptRow[]): Map<string, ScriptRow[]> {
    for (const { scriptHash, ordinal } of rows) if (ordinal > LONG_HISTORY) this.#long.set(scriptHash, true)
    return groupBy(rows, ({ scriptHash }) => scriptHash)
  }

  async #loadOutputs(...[keys, signal]: Keys): Promise<Map<string, OutputRow[]>> {
    const rows = `FROM script_outputs WHERE script_hash IN ${KEYS20} LIMIT ${String(MAX_OUTPUT_ROWS + 1)} BY script_hash`
    return groupBy(await OUTPUT.bytesByKeys(this.#until(signal), rows, keys), ({ scriptHash }) => scriptHash)
  }

  async #loadUnspentLists(...[keys, signal]: Keys): Promise<Map<string, ListRow[]>> {
    const rows = `FROM unspent_lists WHERE script_hash IN ${KEYS20}`
    return groupBy(await LIST.bytesByKeys(this.#until(signal), rows, keys), ({ scriptHash }) => scriptHash)
  }
}

/** Returns the first rows of a script, of all branches, and then its last rows, highest ordinal first; some rows may be both. */
function endsOf(db: ByteQuerier, script: string): Promise<ScriptRow[]> {
  const first = 'FROM script_txs WHERE script_hash = unhex({script:String}) AND ordinal = 1'
  return SCRIPT_ROW.bytes(db, `${first} UNION ALL (SELECT ${SCRIPT_ROW.names} ${lastRows(LAST_ROWS)})`, {
    script,
  })
}

/** Returns the last rows of a script, highest ordinal first. With IN instead of =, the server would read and sort all of them. */
function endOf(db: ByteQuerier, script: string, rows: number, filter = '1'): Promise<ScriptRow[]> {
  return SCRIPT_ROW.bytes(db, lastRows(rows, filter), { script })
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
