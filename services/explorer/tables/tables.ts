import { LRUCache } from 'lru-cache'
import { type Body, readBodies } from '../../../pipelines/tables/bodies.js'
import { KEYS, queryByKeys } from '../../../pipelines/tables/keys.js'
import { FENCE } from '../../../pipelines/tables/writers.js'
import type { Asked } from './availability.js'
import { Gatherer, type Lookup } from './gather.js'

/** Where a transaction is: a row of the block that holds it. */
export interface Place {
  readonly txid: string
  readonly height: number
  readonly blockHash: string
  readonly txIndex: number
  readonly wtxid: string
  readonly time: number
  readonly size: number
  readonly weight: number
  readonly isDilithium: boolean
}

/** An input that spends an output, as a row of the block that holds the spender. */
export interface Spend {
  readonly vout: number
  readonly height: number
  readonly blockHash: string
  readonly txid: string
  readonly vin: number
}

/** A transaction of a script, with the script's totals after it. Amounts in base units. */
export interface ScriptRow {
  readonly ordinal: number
  readonly height: number
  readonly blockHash: string
  readonly txIndex: number
  readonly txid: string
  readonly time: number
  readonly received: bigint
  readonly sent: bigint
  readonly totalReceived: bigint
  readonly totalSent: bigint
  readonly unspentCount: number
  readonly firstHeight: number
  readonly firstTime: number
  readonly showsDilithium: boolean
}

const PLACE = `lower(hex(txid)) AS key, height, lower(hex(block_hash)) AS blockHash, tx_index AS txIndex,
  lower(hex(wtxid)) AS witnessTxid, time, size, weight, is_dilithium AS dilithium`

const SCRIPT_ROW = `lower(hex(script_hash)) AS key, ordinal, height, lower(hex(block_hash)) AS blockHash, tx_index AS txIndex,
  lower(hex(txid)) AS id, time, received, sent, total_received AS totalReceived, total_sent AS totalSent,
  unspent_count AS unspentCount, first_height AS firstHeight, first_time AS firstTime, shows_dilithium AS dilithium`

interface Gatherers {
  readonly places: Gatherer<readonly Place[]>
  readonly bodies: Gatherer<Body>
  readonly witnesses: Gatherer<Buffer>
  readonly ownWitnesses: Gatherer<ReadonlyMap<string, Buffer>>
  readonly spends: Gatherer<readonly Spend[]>
  readonly scriptEnds: Gatherer<readonly ScriptRow[]>
  readonly fence: Gatherer<bigint>
}

/** What a gatherer asks. */
type Keys = [keys: readonly string[], signal: AbortSignal]

type RawScriptRow = Pick<
  ScriptRow,
  'height' | 'blockHash' | 'txIndex' | 'time' | 'firstHeight' | 'firstTime'
> &
  Record<'key' | 'id' | 'ordinal' | 'received' | 'sent' | 'totalReceived' | 'totalSent', string> & {
    unspentCount: string
    dilithium: number
  }

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
    private db: Asked,
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
      places: new Gatherer({ load: (...keys) => this.#loadPlaces(...keys) }),
      bodies: new Gatherer({ load: (keys, signal) => readBodies(this.#until(signal), keys) }),
      witnesses: new Gatherer({ load: (...keys) => this.#loadWitnesses(...keys) }),
      ownWitnesses: new Gatherer({ load: (...keys) => this.#loadOwnWitnesses(...keys) }),
      spends: new Gatherer({ load: (...keys) => this.#loadSpends(...keys) }),
      fence: new Gatherer({ load: (_, signal) => this.#loadFence(signal) }),
      scriptEnds: new Gatherer({ load: (...keys) => this.#loadScriptEnds(...keys), mostKeys: 100 }),
    }
  }

  get places(): Lookup<readonly Place[]> {
    this.#hasRead = true
    return this.#gatherers.places.until(this.signal)
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

  get asked(): Asked {
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

  #until(signal: AbortSignal): Pick<Tables, 'query'> {
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
    const sql = `SELECT ${SCRIPT_ROW} FROM script_txs WHERE script_hash = unhex({script:String})
      AND ordinal BETWEEN {from:UInt64} AND {to:UInt64} ORDER BY script_txs.ordinal`
    return (await this.query<RawScriptRow>(sql, { script: scriptHash, from, to })).map(toScriptRow)
  }

  async #loadFence(signal: AbortSignal): Promise<Map<string, bigint>> {
    const [row] = await this.db.query<{ fence: string }>(FENCE, {}, signal)
    return new Map([['', BigInt(row?.fence ?? 0)]])
  }

  async #loadPlaces(...[keys, signal]: Keys): Promise<Map<string, Place[]>> {
    const sql = `SELECT ${PLACE} FROM tx_places WHERE txid IN ${KEYS}`
    return groupByKey(await queryByKeys<RawPlace>(this.#until(signal), sql, keys), toPlace)
  }

  async #loadWitnesses(...[keys, signal]: Keys): Promise<Map<string, Buffer>> {
    const sql = `SELECT lower(hex(wtxid)) AS key, base64Encode(witness) AS encoded FROM tx_witnesses
      WHERE wtxid IN ${KEYS}`
    const rows = await queryByKeys<{ key: string; encoded: string }>(this.#until(signal), sql, keys)
    return new Map(rows.map(({ key, encoded }) => [key, Buffer.from(encoded, 'base64')]))
  }

  async #loadOwnWitnesses(...[keys, signal]: Keys): Promise<Map<string, ReadonlyMap<string, Buffer>>> {
    const sql = `SELECT lower(hex(wtxid)) AS key, base64Encode(witness) AS encoded FROM tx_witnesses
      WHERE wtxid IN (SELECT wtxid FROM tx_places WHERE txid IN ${KEYS} AND wtxid != txid)`
    const rows = await queryByKeys<{ key: string; encoded: string }>(this.#until(signal), sql, keys)
    const witnesses = new Map(rows.map(({ key, encoded }) => [key, Buffer.from(encoded, 'base64')]))
    return new Map(keys.map((key) => [key, witnesses]))
  }

  async #loadSpends(...[keys, signal]: Keys): Promise<Map<string, Spend[]>> {
    const sql = `SELECT lower(hex(prev_txid)) AS key, prev_vout AS vout, height, lower(hex(block_hash)) AS blockHash,
      lower(hex(txid)) AS spender, vin FROM spends WHERE prev_txid IN ${KEYS}`
    return groupByKey(await queryByKeys<RawSpend>(this.#until(signal), sql, keys), toSpend)
  }

  async #loadScriptEnds(...[keys, signal]: Keys): Promise<Map<string, ScriptRow[]>> {
    const sql = `SELECT ${SCRIPT_ROW} FROM script_txs WHERE script_hash IN ${KEYS}
      ORDER BY script_hash DESC, script_txs.ordinal DESC LIMIT ${String(LAST_ROWS)} BY script_hash`
    const found = groupByKey(await queryByKeys<RawScriptRow>(this.#until(signal), sql, keys), toScriptRow)
    for (const [key, rows] of found) if ((rows[0]?.ordinal ?? 0) > LONG_HISTORY) this.#long.set(key, true)
    return found
  }

  async #scriptEnd(scriptHash: string, rows: number, filter: string): Promise<ScriptRow[]> {
    const sql = `SELECT ${SCRIPT_ROW} FROM script_txs WHERE script_hash = unhex({script:String}) AND ${filter}
      ORDER BY script_txs.ordinal DESC LIMIT ${String(rows)}`
    return (await this.query<RawScriptRow>(sql, { script: scriptHash })).map(toScriptRow)
  }
}

type RawPlace = Omit<Place, 'txid' | 'wtxid' | 'isDilithium'> &
  Record<'key' | 'witnessTxid', string> & { dilithium: number }

type RawSpend = Omit<Spend, 'txid'> & Record<'key' | 'spender', string>

function toPlace(row: RawPlace): Place {
  const { key, height, blockHash, txIndex, witnessTxid, time, size, weight, dilithium } = row
  return {
    txid: key,
    height,
    blockHash,
    txIndex,
    wtxid: witnessTxid,
    time,
    size,
    weight,
    isDilithium: dilithium === 1,
  }
}

function toSpend({ vout, height, blockHash, spender, vin }: RawSpend): Spend {
  return { vout, height, blockHash, txid: spender, vin }
}

function toScriptRow(row: RawScriptRow): ScriptRow {
  return {
    ordinal: Number(row.ordinal),
    height: row.height,
    blockHash: row.blockHash,
    txIndex: row.txIndex,
    txid: row.id,
    time: row.time,
    received: BigInt(row.received),
    sent: BigInt(row.sent),
    totalReceived: BigInt(row.totalReceived),
    totalSent: BigInt(row.totalSent),
    unspentCount: Number(row.unspentCount),
    firstHeight: row.firstHeight,
    firstTime: row.firstTime,
    showsDilithium: row.dilithium === 1,
  }
}

function groupByKey<R extends { key: string }, V>(
  rows: readonly R[],
  convert: (row: R) => V,
): Map<string, V[]> {
  const groups = new Map<string, V[]>()
  for (const row of rows) {
    const group = groups.get(row.key)
    if (group === undefined) groups.set(row.key, [convert(row)])
    else group.push(convert(row))
  }
  return groups
}

/** Places of the transactions of a block with these indexes, in order, each once. */
export async function placesOfBlock(
  tables: Pick<Tables, 'query'>,
  block: { readonly height: number; readonly hash: string },
  from: number,
  to: number,
): Promise<Place[]> {
  const sql = `SELECT ${PLACE} FROM block_txs WHERE height = {height:UInt32} AND block_hash = unhex({hash:String})
    AND tx_index BETWEEN {from:UInt32} AND {to:UInt32} ORDER BY tx_index LIMIT 1 BY tx_index`
  return (await tables.query<RawPlace>(sql, { height: block.height, hash: block.hash, from, to })).map(
    toPlace,
  )
}

/** Places of the newest visible transactions, newest first. */
export async function newestPlaces(
  tables: Pick<Tables, 'query'>,
  tipHeight: number,
  filter: string,
  count: number,
): Promise<Place[]> {
  // Each block has a transaction, so that the newest `count` blocks hold as many.
  const sql = `SELECT ${PLACE} FROM block_txs WHERE height BETWEEN {from:UInt32} AND {tip:UInt32} AND ${filter}
    ORDER BY height DESC, block_hash DESC, tx_index DESC LIMIT 1 BY height, block_hash, tx_index LIMIT ${String(count)}`
  const params = { from: Math.max(0, tipHeight - count + 1), tip: tipHeight }
  return (await tables.query<RawPlace>(sql, params)).map(toPlace)
}

/** Places of the newest visible transactions that move more than a value (base units), newest first. */
export async function whalePlaces(
  tables: Pick<Tables, 'query'>,
  least: bigint,
  filter: string,
  count: number,
): Promise<Place[]> {
  // Granule after granule, newest first, of those that the index does not leave out: it ends with the last one that is needed.
  const sql = `SELECT ${PLACE} FROM block_txs WHERE moved > {least:UInt64} AND ${filter}
    ORDER BY height DESC, block_hash DESC, tx_index DESC LIMIT 1 BY height, block_hash, tx_index LIMIT ${String(count)}
    SETTINGS max_threads = 1, max_block_size = 1024`
  return (await tables.query<RawPlace>(sql, { least: least.toString() })).map(toPlace)
}

/** Places of the transactions of these blocks that move more than a value (base units), in the order of the chain. */
export async function whalesIn(
  tables: Pick<Tables, 'query'>,
  least: bigint,
  blocks: readonly { readonly height: number; readonly hash: string }[],
): Promise<Place[]> {
  const heights = blocks.map(({ height }) => height)
  const sql = `SELECT ${PLACE} FROM block_txs WHERE moved > {least:UInt64} AND height BETWEEN {from:UInt32} AND {to:UInt32}
    AND block_hash IN ${KEYS} ORDER BY height, tx_index LIMIT 1 BY height, block_hash, tx_index`
  const params = {
    least: least.toString(),
    from: Math.min(...heights),
    to: Math.max(...heights),
  }
  const hashes = blocks.map(({ hash }) => hash)
  return (await queryByKeys<RawPlace>(tables, sql, hashes, params)).map(toPlace)
}
