import { PoolLeft_Reason } from '../../../../proto/gen/headwater/events/v1/events_pb.js'
import type { Querier } from '../../../../pipelines/tables/keys.js'
import {
  DROPPED_COLUMNS,
  DROPPED_KEYS,
  NO_TXID,
  PREFIX_DIGITS,
  prefixOf,
} from '../../../../pipelines/tables/mempool/tables.js'
import { Selection, type SelectedRow } from '../../../../pipelines/tables/selection.js'
import type { CancelSignal } from '../tables/cancellation.js'
import type { HistoryTables } from './history-tables.js'
import { byPlace, type DroppedTx, type DropPlace, type RecentDrops } from './recent-drops.js'

const NOT_KNOWN = 2

const DROPPED = new Selection(DROPPED_COLUMNS)
const { left_at, position, item } = DROPPED_KEYS.columns
const PLACE = new Selection({ left_at, position, item })
const RAW = new Selection({ raw: 'bytes' })
/** SQL condition: the row belongs to an event that the explorer has applied. */
const APPLIED = '(left_at, position) <= (fromUnixTimestamp64Milli({at:Int64}), {position:UInt64})'
const SORTED = 'ORDER BY left_at DESC, position DESC, item DESC LIMIT 1 BY left_at, position, item'

/** The maximum number of transactions that one query selects by their places. */
const MAX_PLACES = 1_000

/** The number of keys that are read beyond the requested ones: several may be of one transaction, or of events not yet applied. */
const SPARE = 32

/** Selects a part of the transactions that left without a block. */
export interface DropRange {
  readonly limit: number
  /** Only those before this place. */
  readonly before?: DropPlace | undefined
  /** True for only those that were replaced although they had not signalled it. */
  readonly unsignalled: boolean
}

/**
 * The transactions that left the mempool without a block, as of the mempool of one answer: from memory, and older ones from the tables.
 * All methods throw DatabaseUnavailable.
 */
export class DroppedTxs {
  readonly #reached: DropPlace
  /** The tables, with queries that end with the answer. */
  readonly #runner: Querier

  constructor(
    private readonly recent: RecentDrops,
    private readonly tables: Omit<HistoryTables, 'close' | 'bytes'>,
    private readonly signal?: CancelSignal,
  ) {
    this.#runner = { query: (sql, params) => tables.query(sql, params, signal) }
    this.#reached = recent.reached
  }

  /** Returns a transaction as it left last; undefined if that is not known. */
  async find(txid: string): Promise<DroppedTx | undefined> {
    const recent = this.recent.get(txid)
    if (recent !== undefined && this.#isApplied(recent)) return recent
    const found = await this.#byKeys([txid], 'drops')
    return found.find((drop) => drop.txid === txid)
  }

  /** Returns txids that begin with hexadecimal digits (lower case), the last one to leave first. Reads few rows, however many begin so. */
  async beginningWith(digits: string, most: number): Promise<string[]> {
    const isWanted = ({ txid }: DroppedTx): boolean => txid.startsWith(digits)
    const [first, last] = ['0', 'f'].map((fill) => prefixOf(digits).padEnd(PREFIX_DIGITS, fill))
    const rows = `FROM dropped_keys WHERE txid_prefix BETWEEN unhex({first:String}) AND unhex({last:String})
      AND is_replacer = 0 ORDER BY txid_prefix LIMIT ${String(most + SPARE)} SETTINGS max_threads = 1`
    const places = await PLACE.query(this.#runner, rows, { first, last })
    const stored = await this.#at(places)
    const all = this.#joined(this.recent.newest().filter(isWanted), stored.filter(isWanted))
    return [...new Set(all.map(({ txid }) => txid))].slice(0, most)
  }

  /** Returns the transactions that some others replaced, the last one first. */
  async replacedBy(txids: readonly string[]): Promise<DroppedTx[]> {
    const recent = txids.flatMap((txid) => this.recent.replacedBy(txid))
    const wanted = new Set(txids)
    const stored = await this.#byKeys(txids, 'replaced')
    return this.#joined(
      recent,
      stored.filter(({ replacedBy = '' }) => wanted.has(replacedBy)),
    )
  }

  /** Returns replaced transactions, the last one first. */
  async replaced({ limit, before, unsignalled }: DropRange): Promise<DroppedTx[]> {
    const isWanted = (drop: DroppedTx): boolean =>
      drop.replacedBy !== undefined &&
      this.#isApplied(drop) &&
      (!unsignalled || drop.signalled === false) &&
      (before === undefined || byPlace(drop, before) < 0)
    const recent = this.recent.newest().filter(isWanted).slice(0, limit)
    const end = before ?? this.#reached
    const params = { at: this.#reached.leftAt, position: this.#reached.position }
    const from = `reason = ${String(PoolLeft_Reason.REPLACED)} ${unsignalled ? 'AND signalled = 0' : ''}
      AND left_at <= fromUnixTimestamp64Milli({endAt:Int64})
      AND (left_at, position, item) < (fromUnixTimestamp64Milli({endAt:Int64}), {endPosition:UInt64}, {endItem:UInt64})`
    const stored = await this.#query(
      `FROM dropped_txs WHERE ${from} AND ${APPLIED} ${SORTED} LIMIT ${String(limit)}`,
      { ...params, endAt: end.leftAt, endPosition: end.position, endItem: end.item },
    )
    return this.#joined(recent, stored).slice(0, limit)
  }

  /** Returns the serialisation of a transaction with witnesses; undefined if it is not known. */
  async rawOf(drop: DroppedTx): Promise<Buffer | undefined> {
    const recent = this.recent.get(drop.txid)
    if (recent !== undefined) return recent.raw.length === 0 ? undefined : recent.raw
    const { leftAt, position, item } = drop
    const rows = await RAW.query(
      this.#runner,
      `FROM dropped_txs WHERE left_at = fromUnixTimestamp64Milli({at:Int64})
        AND position = {position:UInt64} AND item = {item:UInt32} LIMIT 1`,
      { at: leftAt, position, item },
    )
    const [row] = rows
    return row === undefined || row.raw.length === 0 ? undefined : row.raw
  }

  /** Returns when a confirmed transaction was first seen, in Unix seconds; undefined if that is not known. */
  async firstSeen(txid: string): Promise<number | undefined> {
    const recent = this.recent.firstSeen(txid)
    if (recent !== undefined) return recent
    return this.tables.firstSeen.until(this.signal).get(prefixOf(txid))
  }

  #isApplied(place: DropPlace): boolean {
    return byPlace(place, this.#reached) <= 0
  }

  /** Returns stored transactions by txids of them, or of those that replaced them, the last one first. */
  async #byKeys(txids: readonly string[], by: 'drops' | 'replaced'): Promise<DroppedTx[]> {
    const places = await this.tables[by].until(this.signal).getAll(txids.map(prefixOf))
    return this.#at([...places.values()].flat())
  }

  /** Returns stored transactions by their places, as far as they are applied, the last one first. */
  async #at(places: readonly DropPlace[]): Promise<DroppedTx[]> {
    const applied = places.filter((place) => this.#isApplied(place))
    const found: DroppedTx[] = []
    for (let from = 0; from < applied.length; from += MAX_PLACES) {
      const list = applied
        .slice(from, from + MAX_PLACES)
        .map(
          ({ leftAt, position, item }) =>
            `(fromUnixTimestamp64Milli(${String(leftAt)}), ${String(position)}, ${String(item)})`,
        )
      found.push(
        ...(await this.#query(
          `FROM dropped_txs WHERE (left_at, position, item) IN (${list.join()}) ${SORTED}`,
        )),
      )
    }
    return found.sort((one, other) => byPlace(other, one))
  }

  async #query(rest: string, params: Readonly<Record<string, unknown>> = {}): Promise<DroppedTx[]> {
    if (this.#reached.position < 0) return []
    return (await DROPPED.query(this.#runner, rest, params)).map(dropOf)
  }

  /** Returns drops from memory and from the tables, each once, the last one first. */
  #joined(recent: readonly DroppedTx[], stored: readonly DroppedTx[]): DroppedTx[] {
    const keyOf = ({ leftAt, position, item }: DropPlace): string => [leftAt, position, item].join()
    const all = new Map<string, DroppedTx>()
    for (const drop of [...recent, ...stored]) if (this.#isApplied(drop)) all.set(keyOf(drop), drop)
    return [...all.values()].sort((one, other) => byPlace(other, one))
  }
}

function dropOf({
  firstSeen,
  signalled,
  replacedBy,
  ...rest
}: SelectedRow<typeof DROPPED_COLUMNS>): DroppedTx {
  return {
    ...rest,
    replacedBy: replacedBy === NO_TXID ? undefined : replacedBy,
    firstSeen: firstSeen === 0 ? undefined : firstSeen,
    signalled: signalled === NOT_KNOWN ? undefined : signalled === 1,
  }
}
