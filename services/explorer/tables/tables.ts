import { LRUCache } from 'lru-cache'
import type { BlockId } from '../../../pipelines/chain/block.js'
import { type Body, readBodies } from '../../../pipelines/tables/bodies.js'
import {
  SCRIPT_TX_COLUMNS,
  SPENDS,
  TX_LOCATIONS,
  TX_WITNESSES,
} from '../../../pipelines/tables/chain-tables.js'
import { KEYS, type Querier } from '../../../pipelines/tables/keys.js'
import { type SelectedRow, Selection } from '../../../pipelines/tables/selection.js'
import { FENCE } from '../../../pipelines/tables/writers.js'
import type { QueryRunner } from './availability.js'
import { Gatherer, type Lookup } from './gather.js'

/** The location of a transaction in a block. */
export type TxLocation = SelectedRow<typeof TX_LOCATIONS.columns>
/** An output and the input that spends it, in the block of the spending transaction. */
export type Spend = SelectedRow<typeof SPENDS.columns>
/** A transaction of a script, with the script's totals after it. Amounts in base units. */
export type ScriptRow = SelectedRow<typeof SCRIPT_TX_COLUMNS>

const LOCATION = new Selection(TX_LOCATIONS.columns)
const WITNESS = new Selection(TX_WITNESSES.columns)
const SPEND = new Selection(SPENDS.columns)
const SCRIPT_ROW = new Selection(SCRIPT_TX_COLUMNS)

interface Gatherers {
  readonly locations: Gatherer<readonly TxLocation[]>
  readonly bodies: Gatherer<Body>
  readonly witnesses: Gatherer<Buffer>
  readonly ownWitnesses: Gatherer<ReadonlyMap<string, Buffer>>
  readonly spends: Gatherer<readonly Spend[]>
  readonly scriptEnds: Gatherer<readonly ScriptRow[]>
  readonly fence: Gatherer<bigint>
}

/** The arguments of a gatherer's lookup. */
type Keys = [keys: readonly string[], signal: AbortSignal]

/** The number of last rows of a script that are read first. More of them may be stale after a reorganisation. */
const LAST_ROWS = 8
/** Above this ordinal a script is read alone, backwards from its end, instead of together with others. */
const LONG_HISTORY = 5_000
const MAX_LONG_SCRIPTS = 10_000

/** Point lookups of rows of all branches, from which callers select those of their chain. Concurrent lookups share queries. */
export class Tables {
  #gatherers: Gatherers
  #hasRead = false
  /** Scripts known to have a long history. */
  #long: LRUCache<string, true>

  constructor(
    private db: QueryRunner,
    private readonly signal?: AbortSignal,
    whole?: Tables,
  ) {
    this.#gatherers = whole === undefined ? this.#newGatherers() : whole.#gatherers
    this.#long = whole === undefined ? new LRUCache({ max: MAX_LONG_SCRIPTS }) : whole.#long
  }

  /** True if rows were read here that depend on which blocks are on the chain. */
  get hasRead(): boolean {
    return this.#hasRead
  }

  /**
   * Returns the number of the newest writer, by a query that starts after the call: rows that were read before come from no newer
   * writer. Calls during such a query share the next one.
   */
  async fence(): Promise<bigint> {
    return (await this.#gatherers.fence.get('', this.signal)) ?? 0n
  }

  #newGatherers(): Gatherers {
    return {
      locations: new Gatherer({ load: (...keys) => this.#loadLocations(...keys) }),
      bodies: new Gatherer({ load: (keys, signal) => readBodies(this.#until(signal), keys) }),
      witnesses: new Gatherer({ load: (...keys) => this.#loadWitnesses(KEYS, ...keys) }),
      ownWitnesses: new Gatherer({ load: (...keys) => this.#loadOwnWitnesses(...keys) }),
      spends: new Gatherer({ load: (...keys) => this.#loadSpends(...keys) }),
      fence: new Gatherer({ load: (_, signal) => this.#loadFence(signal) }),
      scriptEnds: new Gatherer({ load: (...keys) => this.#loadScriptEnds(...keys), maxKeys: 100 }),
    }
  }

  get locations(): Lookup<readonly TxLocation[]> {
    this.#hasRead = true
    return this.#gatherers.locations.until(this.signal)
  }

  get bodies(): Lookup<Body> {
    return this.#gatherers.bodies.until(this.signal)
  }

  get witnesses(): Lookup<Buffer> {
    return this.#gatherers.witnesses.until(this.signal)
  }

  /** Lookup by txid, without its locations: the witnesses of all its locations, by wtxid. May contain those of others too. */
  get ownWitnesses(): Lookup<ReadonlyMap<string, Buffer>> {
    return this.#gatherers.ownWitnesses.until(this.signal)
  }

  get spends(): Lookup<readonly Spend[]> {
    this.#hasRead = true
    return this.#gatherers.spends.until(this.signal)
  }

  /** Returns the same tables for a caller that may disconnect: the signal cancels its queries, and lookups that only it needs. */
  withSignal(signal: AbortSignal): Tables {
    return new Tables(this.db, signal, this)
  }

  get runner(): QueryRunner {
    return this.db
  }

  /** Takes over the database and lookups of other tables. Lookups in flight still complete from their own database. */
  protected take(other: Tables): void {
    this.db = other.db
    this.#gatherers = other.#gatherers
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
    return Object.values(this.#gatherers) as Gatherer<unknown>[]
  }

  /** True while the database is reachable; otherwise every query fails immediately. */
  get isReachable(): boolean {
    return this.db.connected
  }

  query<T>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<T[]> {
    this.#hasRead = true
    return this.db.query<T>(sql, params, this.signal)
  }

  #until(signal: AbortSignal): Querier {
    return { query: (sql, params) => this.db.query(sql, params, signal) }
  }

  /**
   * Returns the last row of a script that `visible` accepts, undefined if there is none.
   * @param filter the same condition in SQL, over height and block_hash; used only if many rows are stale.
   */
  async lastOfScript(
    scriptHash: string,
    visible: (height: number, blockHash: string) => boolean,
    filter: string,
  ): Promise<ScriptRow | undefined> {
    const isVisible = (row: ScriptRow): boolean => visible(row.height, row.blockHash)
    this.#hasRead = true
    const rows = this.#long.get(scriptHash)
      ? await this.#scriptEnd(scriptHash, LAST_ROWS, '1')
      : ((await this.#gatherers.scriptEnds.get(scriptHash, this.signal)) ?? [])
    const last = rows.find(isVisible)
    if (last !== undefined || rows.length < LAST_ROWS) return last
    return (await this.#scriptEnd(scriptHash, 1, filter)).find(isVisible)
  }

  /** Returns the rows of a script with ordinals in a range (inclusive), of all branches, lowest first. */
  async scriptRows(scriptHash: string, from: number, to: number): Promise<ScriptRow[]> {
    const rows = `FROM script_txs WHERE script_hash = unhex({script:String})
      AND ordinal BETWEEN {from:UInt64} AND {to:UInt64} ORDER BY script_txs.ordinal`
    return SCRIPT_ROW.query(this, rows, { script: scriptHash, from, to })
  }

  async #loadFence(signal: AbortSignal): Promise<Map<string, bigint>> {
    const [row] = await this.db.query<{ fence: string }>(FENCE, {}, signal)
    return new Map([['', BigInt(row?.fence ?? 0)]])
  }

  async #loadLocations(...[keys, signal]: Keys): Promise<Map<string, TxLocation[]>> {
    const rows = `FROM tx_places WHERE txid IN ${KEYS}`
    return groupBy(await LOCATION.queryByKeys(this.#until(signal), rows, keys), ({ txid }) => txid)
  }

  /** Looks up witnesses. @param wtxids SQL of the set of wtxids, based on `KEYS`. */
  async #loadWitnesses(wtxids: string, ...[keys, signal]: Keys): Promise<Map<string, Buffer>> {
    const rows = `FROM tx_witnesses WHERE wtxid IN ${wtxids}`
    const found = await WITNESS.queryByKeys(this.#until(signal), rows, keys)
    return new Map(found.map(({ wtxid, witness }) => [wtxid, witness]))
  }

  async #loadOwnWitnesses(...[keys, signal]: Keys): Promise<Map<string, ReadonlyMap<string, Buffer>>> {
    const wtxids = `(SELECT wtxid FROM tx_places WHERE txid IN ${KEYS} AND wtxid != txid)`
    const witnesses = await this.#loadWitnesses(wtxids, keys, signal)
    return new Map(keys.map((key) => [key, witnesses]))
  }

  async #loadSpends(...[keys, signal]: Keys): Promise<Map<string, Spend[]>> {
    const rows = `FROM spends WHERE prev_txid IN ${KEYS}`
    return groupBy(await SPEND.queryByKeys(this.#until(signal), rows, keys), ({ prevTxid }) => prevTxid)
  }

  async #loadScriptEnds(...[keys, signal]: Keys): Promise<Map<string, ScriptRow[]>> {
    const rows = `FROM script_txs WHERE script_hash IN ${KEYS}
      ORDER BY script_hash DESC, script_txs.ordinal DESC LIMIT ${String(LAST_ROWS)} BY script_hash`
    const ends = await SCRIPT_ROW.queryByKeys(this.#until(signal), rows, keys)
    for (const { scriptHash, ordinal } of ends) if (ordinal > LONG_HISTORY) this.#long.set(scriptHash, true)
    return groupBy(ends, ({ scriptHash }) => scriptHash)
  }

  async #scriptEnd(scriptHash: string, rows: number, filter: string): Promise<ScriptRow[]> {
    const last = `FROM script_txs WHERE script_hash = unhex({script:String}) AND ${filter}
      ORDER BY script_txs.ordinal DESC LIMIT ${String(rows)}`
    return SCRIPT_ROW.query(this, last, { script: scriptHash })
  }
}

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [row])
    else group.push(row)
  }
  return groups
}

/** Returns the locations of a block's transactions with indexes in a range (inclusive), in order, each once. */
export async function locationsOfBlock(
  tables: Querier,
  block: BlockId,
  from: number,
  to: number,
): Promise<TxLocation[]> {
  const rows = `FROM block_txs WHERE height = {height:UInt32} AND block_hash = unhex({hash:String})
    AND tx_index BETWEEN {from:UInt32} AND {to:UInt32} ORDER BY tx_index LIMIT 1 BY tx_index`
  return LOCATION.query(tables, rows, { height: block.height, hash: block.hash, from, to })
}

/** Returns the locations of the newest visible transactions, newest first. */
export async function newestLocations(
  tables: Querier,
  tipHeight: number,
  filter: string,
  count: number,
): Promise<TxLocation[]> {
  // Each block has a transaction, so the newest `count` blocks contain at least as many.
  const rows = `FROM block_txs WHERE height BETWEEN {from:UInt32} AND {tip:UInt32} AND ${filter}
    ORDER BY height DESC, block_hash DESC, tx_index DESC LIMIT 1 BY height, block_hash, tx_index LIMIT ${String(count)}`
  return LOCATION.query(tables, rows, { from: Math.max(0, tipHeight - count + 1), tip: tipHeight })
}

/** Returns the locations of the newest visible transactions that move more than a value (base units), newest first. */
export async function whaleLocations(
  tables: Querier,
  least: bigint,
  filter: string,
  count: number,
): Promise<TxLocation[]> {
  // Reads the granules that the index selects one after another, newest first, and stops when there are enough rows.
  const rows = `FROM block_txs WHERE moved > {least:UInt64} AND ${filter}
    ORDER BY height DESC, block_hash DESC, tx_index DESC LIMIT 1 BY height, block_hash, tx_index LIMIT ${String(count)}
    SETTINGS max_threads = 1, max_block_size = 1024`
  return LOCATION.query(tables, rows, { least: least.toString() })
}

/** Returns the locations of transactions of blocks that move more than a value (base units), in the order of the chain. */
export async function whalesIn(
  tables: Querier,
  least: bigint,
  blocks: readonly BlockId[],
): Promise<TxLocation[]> {
  const heights = blocks.map(({ height }) => height)
  const rows = `FROM block_txs WHERE moved > {least:UInt64} AND height BETWEEN {from:UInt32} AND {to:UInt32}
    AND block_hash IN ${KEYS} ORDER BY height, tx_index LIMIT 1 BY height, block_hash, tx_index`
  const params = { least: least.toString(), from: Math.min(...heights), to: Math.max(...heights) }
  const hashes = blocks.map(({ hash }) => hash)
  return LOCATION.queryByKeys(tables, rows, hashes, params)
}
