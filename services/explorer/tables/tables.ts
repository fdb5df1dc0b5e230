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

/** Where a transaction is: a row of the block that holds it. */
export type TxLocation = SelectedRow<typeof TX_LOCATIONS.columns>
/** An input that spends an output, as a row of the block that holds the spender. */
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

/** What a gatherer asks. */
type Keys = [keys: readonly string[], signal: AbortSignal]

/** Rows of a script's end that are looked at first; of one that a reorganisation rewrote more may be stale. */
const LAST_ROWS = 8
/** From this ordinal on a script is read alone, backwards from its end, instead of together with others. */
const LONG_HISTORY = 5_000
const MOST_LONG_SCRIPTS = 10_000

/**
 * Point lookups of all branches: the caller takes the rows that its view of the chain holds. Concurrent ones travel together.
 */
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
    this.#long = whole === undefined ? new LRUCache({ max: MOST_LONG_SCRIPTS }) : whole.#long
  }

  /** Whether anything was looked up here that depends on which blocks are of the chain. */
  get hasRead(): boolean {
    return this.#hasRead
  }

  /**
   * Looks up the newest writer, by a query that begins after the call: what was read before it was written by none that is
   * newer. Calls of the time in which one query is under way share the next one.
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
      scriptEnds: new Gatherer({ load: (...keys) => this.#loadScriptEnds(...keys), mostKeys: 100 }),
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

  /** By txid: the witnesses of its places (and of others that were asked for with it) by wtxid, in one go with these. */
  get ownWitnesses(): Lookup<ReadonlyMap<string, Buffer>> {
    return this.#gatherers.ownWitnesses.until(this.signal)
  }

  get spends(): Lookup<readonly Spend[]> {
    this.#hasRead = true
    return this.#gatherers.spends.until(this.signal)
  }

  /** The same tables, for a reader who may leave: his queries end with the signal, and lookups that nobody else waits for. */
  withSignal(signal: AbortSignal): Tables {
    return new Tables(this.db, signal, this)
  }

  get requested(): QueryRunner {
    return this.db
  }

  /** Only for what has no lookups of its own: those that are under way belong to the database that they were asked of. */
  protected take(other: Tables): void {
    this.db = other.db
    this.#gatherers = other.#gatherers
    this.#long = other.#long
  }

  /** Whether new work would wait for more than one batch of lookups, or a long line of queries: better refused at once. */
  get isOverloaded(): boolean {
    return this.db.isCrowded || this.#all.some((each) => each.isFull)
  }

  /** Keys that wait for a batch of lookups, of all kinds. */
  get lookupsWaiting(): number {
    return this.#all.reduce((sum, { waiting }) => sum + waiting, 0)
  }

  /** Keys that were looked up; begins again at 0 where another database takes over. */
  get lookedUp(): number {
    return this.#all.reduce((sum, { lookedUp }) => sum + lookedUp, 0)
  }

  get #all(): readonly Gatherer<unknown>[] {
    return Object.values(this.#gatherers) as Gatherer<unknown>[]
  }

  /** False while the database is away: every query fails at once. */
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
   * The last row of a script that `visible` accepts, undefined for none.
   * @param filter the same condition for the server, over height and block_hash: asked only where many rows are stale.
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

  /** Rows of a script with these ordinals, of all branches, lowest first. */
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

  /** @param wtxids a query or literal of them, made of `KEYS`. */
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

/** Places of the transactions of a block with these indexes, in order, each once. */
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

/** Places of the newest visible transactions, newest first. */
export async function newestLocations(
  tables: Querier,
  tipHeight: number,
  filter: string,
  count: number,
): Promise<TxLocation[]> {
  // Each block has a transaction, so that the newest `count` blocks hold as many.
  const rows = `FROM block_txs WHERE height BETWEEN {from:UInt32} AND {tip:UInt32} AND ${filter}
    ORDER BY height DESC, block_hash DESC, tx_index DESC LIMIT 1 BY height, block_hash, tx_index LIMIT ${String(count)}`
  return LOCATION.query(tables, rows, { from: Math.max(0, tipHeight - count + 1), tip: tipHeight })
}

/** Places of the newest visible transactions that move more than a value (base units), newest first. */
export async function whaleLocations(
  tables: Querier,
  least: bigint,
  filter: string,
  count: number,
): Promise<TxLocation[]> {
  // Granule after granule, newest first, of those that the index does not leave out: it ends with the last one that is needed.
  const rows = `FROM block_txs WHERE moved > {least:UInt64} AND ${filter}
    ORDER BY height DESC, block_hash DESC, tx_index DESC LIMIT 1 BY height, block_hash, tx_index LIMIT ${String(count)}
    SETTINGS max_threads = 1, max_block_size = 1024`
  return LOCATION.query(tables, rows, { least: least.toString() })
}

/** Places of the transactions of these blocks that move more than a value (base units), in the order of the chain. */
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
