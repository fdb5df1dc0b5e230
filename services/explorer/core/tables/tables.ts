import { LRUCache } from 'lru-cache'
import { NodeUnavailable } from '../../../../pipelines/node/errors.js'
import type { TxParts } from '../../../../pipelines/tables/bodies.js'
import type { ByteQuerier } from '../../../../pipelines/tables/keys.js'
import type { QueryRunner } from './availability.js'
import type { BlockRow } from './blocks.js'
import type { CancelSignal } from './cancellation.js'
import { Gatherer, type GatherOptions, type Lookup } from './gather.js'
import {
  type BlockTx,
  type Body,
  type BodySource,
  type ConfirmedTx,
  endOf,
  endsOf,
  firstSpendOf,
  LAST_ROWS,
  LEADS,
  type ListRow,
  type LookupDatabase,
  type LookedUp,
  type LookupName,
  LOOKUPS,
  type NearLookups,
  type OutputRow,
  PAGE_ROWS,
  type Place,
  readFromNode,
  type ReplacedWitness,
  SCRIPT_ROW,
  type ScriptRow,
  type Spend,
  type StoredBody,
  type StoredTx,
  type TxLocation,
  type Witness,
} from './lookups.js'
import { scriptTxKey } from './point-keys.js'
import { Rounds } from './rounds.js'

/** The number of keys that one query of an operation looks up. */
const OPERATION_KEYS = 1_000
/** Above this ordinal a script is read alone, backwards from its end, instead of together with others. */
const LONG_HISTORY = 5_000
const MAX_LONG_SCRIPTS = 10_000
/** The number of parts into which a step of a search for a row divides a range, and the length of a range that it reads as a whole. */
const SEARCHED_PARTS = 8
const SEARCHED_ROWS = 64

/** Returns whether a row belongs to a chain. */
type Visible = (row: ScriptRow) => boolean

type Gatherers = { readonly [N in LookupName]: Gatherer<LookedUp<N>> }

/** Sources of rows besides the database. */
export interface Beside {
  /** The rows that need no database. Not set: none. */
  readonly near?: NearLookups | undefined
  /** The transactions whose bodies are not in the tables. Not set: none. */
  readonly node?: BodySource | undefined
  /** False if the tables have no bodies: outputs that are not spent are then cheaper from the node than the transactions. */
  readonly hasBodies?: boolean
}

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
  #isOperation = false

  constructor(
    private db: QueryRunner,
    private readonly signal?: CancelSignal,
    whole?: Tables,
    private readonly beside: Beside = whole?.beside ?? {},
  ) {
    this.#gatherers = whole === undefined ? this.#newGatherers() : whole.#gatherers
    this.#long = whole === undefined ? new LRUCache({ max: MAX_LONG_SCRIPTS }) : whole.#long
  }

  /** True if rows were read here whose visibility was decided in SQL: they are valid if the fence has not changed. */
  get hasRead(): boolean {
    return this.#hasRead
  }

  /** Checks that the answer is still wanted. @throws the reason of the signal. */
  throwIfCancelled(): void {
    this.signal?.throwIfAborted()
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

  #newGatherers(how?: (name: LookupName) => Partial<GatherOptions<unknown>>): Gatherers {
    const gatherers = Object.entries(LOOKUPS).map(([name, { load, ...options }]) => {
      const loadUntil = (keys: readonly string[], signal: AbortSignal) => load(this.#until(signal), keys)
      const near = this.beside.near?.of(name as LookupName)
      return [
        name,
        new Gatherer<unknown>({
          load: loadUntil,
          ...(near && { near }),
          ...options,
          ...how?.(name as LookupName),
        }),
      ]
    })
    return Object.fromEntries(gatherers) as Gatherers
  }

  /**
   * Returns these tables for an operation of many reads, whose lookups are collected: for each step of reads that run in parallel
   * one query per table, for each 1,000 keys begun. The signal cancels its queries.
   */
  forOperation(signal: CancelSignal): Tables {
    const rounds = new Rounds<LookupName>(LEADS)
    const tables = new Tables(rounds.of(this.db), signal, this)
    const collected = tables.#newGatherers((name) => ({
      inFlight: Number.POSITIVE_INFINITY,
      least: 1,
      maxKeys: OPERATION_KEYS,
      begin: (callback) => {
        rounds.begin(name, callback)
      },
    }))
    // Large parts stay a few at a time, for all answers together.
    const { fence, largeBodies, largeWitnesses, largeSpends } = this.#gatherers
    tables.#gatherers = { ...collected, fence, largeBodies, largeWitnesses, largeSpends }
    tables.#isOperation = true
    return tables
  }

  /** True for an operation: it needs rows of many objects at once, by their keys. A single answer reads them faster by ranges. */
  get isOperation(): boolean {
    return this.#isOperation
  }

  /** Lookup of the heights of blocks by hash, for an operation. */
  get heights(): Lookup<number> {
    return this.#gatherers.heights.until(this.signal)
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

  /** Lookup of the txids of transactions of blocks by `blockTxKey`. */
  get txids(): Lookup<string> {
    return this.#gatherers.txids.until(this.signal)
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

  /** Lookup of scripts by their hash as in the tables. A script belongs to no block: blocks of any branch may have it. */
  get scripts(): Lookup<Buffer> {
    return this.#gatherers.scripts.until(this.signal)
  }

  /** Lookup of the SHA-256 of scripts, all of it, by their hash as in the tables, which is a part of it. */
  get scriptDigests(): Lookup<string> {
    return this.#gatherers.scriptDigests.until(this.signal)
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

  /** Returns a transaction as of a block, from the node. @throws as `readFromNode`. */
  async fromNode(place: Place): Promise<TxParts> {
    const [parts] = await readFromNode(this.#until(this.signal), [place])
    return parts as TxParts
  }

  /**
   * Returns unspent outputs of the chain by their outpoints, from the node, if the tables have no bodies. Outputs may be missing,
   * all of them if the tables have bodies, or the node is unreachable.
   */
  async unspent(outpoints: readonly string[]): ReturnType<BodySource['coins']> {
    const { hasBodies = true, node } = this.beside
    if (hasBodies || node === undefined || outpoints.length === 0) return new Map()
    try {
      return await node.coins(outpoints)
    } catch (error) {
      if (error instanceof NodeUnavailable) return new Map()
      throw error
    }
  }

  #until(signal: CancelSignal | undefined): LookupDatabase {
    return {
      node: this.beside.node,
      query: (sql, params) => this.db.query(sql, params, signal),
      bytes: (sql, params) => this.db.bytes(sql, params, signal),
    }
  }

  /**
   * Returns the first and the last row of a script that `visible` accepts, undefined if there is none.
   * @param script the hash of the script as in the tables.
   * @param visible accepts the rows of a chain: of each ordinal one, up to that of the last.
   */
  async endsOfScript(
    script: string,
    visible: Visible,
  ): Promise<[first: ScriptRow | undefined, last: ScriptRow | undefined]> {
    const ends = await this.endRowsOfScript(script, visible)
    const last = ends.at(-1)
    if (last === undefined) return [undefined, undefined]
    const first = ends.find(({ ordinal }) => ordinal === 1)
    return [first ?? (await this.scriptRows(script, 1, 1)).find(visible), last]
  }

  /**
   * Returns rows of a script that `visible` accepts, lowest ordinal first: the last one, unless there is none, and those that were read
   * with it, which are all of a short history. The parameters are those of `endsOfScript`.
   */
  async endRowsOfScript(script: string, visible: Visible): Promise<readonly ScriptRow[]> {
    const rows = this.#long.get(script)
      ? await endsOf(this.unchecked, script)
      : this.#noted(script, await this.#gatherers.scriptEnds.get(script, this.signal))
    const ends = rows.filter(visible).sort((one, other) => one.ordinal - other.ordinal)
    // Only first rows: if there are further rows, a row beyond these may be visible.
    const isKnown = rows.length <= LAST_ROWS || (ends.at(-1)?.ordinal ?? 0) > 1
    if (isKnown) return ends
    const last = await this.lastVisibleOfScript(script, visible)
    return last === undefined ? [] : [...ends, last]
  }

  /**
   * Returns the last visible row of a script, for the case that its last rows are of other branches, or above a past tip. Reads some
   * ordinals at once, then some of those between the last visible one and the next: their number grows with the logarithm of the rows.
   */
  async lastVisibleOfScript(script: string, visible: Visible): Promise<ScriptRow | undefined> {
    let last: ScriptRow | undefined
    let [low, high] = [0, (await this.scriptEnd(script, 1))[0]?.ordinal ?? 0]
    for (let ordinals = nearEnd(high); low < high; ordinals = within(low, high)) {
      for (const row of await this.#rowsAt(script, ordinals))
        if (row.ordinal > low && visible(row)) [last, low] = [row, row.ordinal]
      high = (ordinals.find((ordinal) => ordinal > low) ?? high + 1) - 1
    }
    return last
  }

  /** Returns the first row of a script after a spend of a kind, a bit of `spend_kinds`. @param filter selects visible rows. */
  async firstSpendOfScript(script: string, kind: number, filter: string): Promise<ScriptRow | undefined> {
    this.requireFence()
    return (await firstSpendOf(this.unchecked, script, kind, filter))[0]
  }

  /** Returns at least that many last rows of a script if it has them, of all branches, highest ordinal first. */
  async lastRows(script: string, rows: number): Promise<readonly ScriptRow[]> {
    if (rows > PAGE_ROWS || this.#long.get(script)) return this.scriptEnd(script, rows)
    return this.#noted(script, await this.#gatherers.scriptPages.get(script, this.signal))
  }

  /** Notes whether the history of a script is long. @returns the rows that were found. */
  #noted(script: string, rows: readonly ScriptRow[] = []): readonly ScriptRow[] {
    if (rows.some(({ ordinal }) => ordinal > LONG_HISTORY)) this.#long.set(script, true)
    return rows
  }

  /** Returns the rows of a script with some ordinals, of all branches. */
  async #rowsAt(script: string, ordinals: readonly number[]): Promise<readonly ScriptRow[]> {
    const keys = ordinals.map((ordinal) => scriptTxKey(script, ordinal))
    return [...(await this.#gatherers.scriptRows.until(this.signal).getAll(keys)).values()].flat()
  }

  /** Returns the last rows of a script, of all branches, highest ordinal first. */
  async scriptEnd(script: string, rows: number, filter = '1'): Promise<ScriptRow[]> {
    return endOf(this.unchecked, script, rows, filter)
  }

  /** Returns the rows of a script with ordinals in a range (inclusive), of all branches. */
  async scriptRows(script: string, from: number, to: number): Promise<readonly ScriptRow[]> {
    if (this.#isOperation)
      return this.#rowsAt(
        script,
        Array.from({ length: to - from + 1 }, (_, index) => from + index),
      )
    const rows = `FROM script_txs WHERE script_hash = unhex({script:String})
      AND ordinal BETWEEN {from:UInt32} AND {to:UInt32}`
    return SCRIPT_ROW.bytes(this.unchecked, rows, { script, from, to })
  }
}

/** Returns ordinals up to the highest one, lowest first: each is twice as far from it as the next. */
function nearEnd(high: number): number[] {
  const ordinals = [high]
  for (let distance = 1; distance < high; distance *= 2) ordinals.unshift(high - distance)
  return ordinals
}

/** Returns ordinals above one, up to another one, at equal distances, lowest first. */
function within(low: number, high: number): number[] {
  const step = high - low <= SEARCHED_ROWS ? 1 : Math.ceil((high - low) / SEARCHED_PARTS)
  const ordinals: number[] = []
  for (let ordinal = low + step; ordinal <= high; ordinal += step) ordinals.push(ordinal)
  return ordinals
}
