import type { ShownTx } from '../../mempool/shown-tx.js'
import type { ChainState } from '../../state/state.js'
import type { ScriptRow } from '../../tables/lookups.js'
import { assertOnChain, decodeCursor, encodeCursor, numberIn } from '../cursor.js'

type Sort = 'asc' | 'desc'

/** A history: a script and the order of its transactions. */
export interface HistoryList {
  readonly scriptHash: string
  readonly sort: Sort
}

/** The place of the last item of a page in a history. */
export interface HistoryPlace {
  /** The ordinal of the last confirmed transaction; 0 if there was none yet. */
  readonly ordinal: number
  /** The block of the newest confirmed transaction so far; undefined if there was none yet. */
  readonly newest: Pick<ScriptRow, 'height' | 'blockTag'> | undefined
  /** The last unconfirmed transaction, if the page ends with one. */
  readonly unconfirmedTx: Pick<ShownTx, 'firstSeen' | 'txid'> | undefined
}

/** The items of a page of a history. */
export interface HistorySlots {
  /** First and last ordinal of the confirmed transactions; none if `from` is larger than `to`. */
  readonly from: number
  readonly to: number
  /** The unconfirmed transactions, newest first. */
  readonly unconfirmed: readonly ShownTx[]
}

const idOf = ({ scriptHash, sort }: HistoryList): string => `address ${scriptHash} ${sort}`
const NONE = '-'

export function encodePlace(list: HistoryList, { ordinal, newest, unconfirmedTx }: HistoryPlace): string {
  const block = newest === undefined ? [NONE, NONE] : [newest.height, newest.blockTag]
  return encodeCursor(idOf(list), [
    ordinal,
    ...block,
    ...(unconfirmedTx === undefined ? [] : [unconfirmedTx.firstSeen, unconfirmedTx.txid]),
  ])
}

/** Decodes a cursor. @throws BadArgument; CursorOutdated if a reorganisation has removed an item before it. */
export function decodePlace(list: HistoryList, cursor: string, chain: ChainState): HistoryPlace {
  const [ordinal, height, tag, firstSeen, txid = ''] = decodeCursor(idOf(list), cursor)
  const newest = height === NONE ? undefined : { height: numberIn(height), blockTag: numberIn(tag) }
  if (newest !== undefined) assertOnChain(chain, newest.height, newest.blockTag)
  const unconfirmedTx = firstSeen === undefined ? undefined : { firstSeen: numberIn(firstSeen), txid }
  return { ordinal: numberIn(ordinal), newest, unconfirmedTx }
}

/** Returns whether an unconfirmed transaction is further down than another transaction in a list from the newest. */
function isOlder(tx: ShownTx, than: NonNullable<HistoryPlace['unconfirmedTx']>): boolean {
  if (tx.firstSeen !== than.firstSeen) return tx.firstSeen < than.firstSeen
  return tx.txid > than.txid
}

/**
 * Selects the items after a place. Those that were unconfirmed on an earlier page and are confirmed by now may be selected again; none
 * is left out.
 * @param confirmed the number of confirmed transactions.
 * @param inMempool the unconfirmed transactions, newest first.
 */
export function slotsAfter(
  { ordinal, unconfirmedTx }: HistoryPlace,
  sort: Sort,
  { limit, confirmed, inMempool }: { limit: number; confirmed: number; inMempool: readonly ShownTx[] },
): HistorySlots {
  if (sort === 'desc') {
    const below =
      ordinal > 0 ? [] : inMempool.filter((tx) => unconfirmedTx === undefined || isOlder(tx, unconfirmedTx))
    const unconfirmed = below.slice(0, limit)
    const to = ordinal > 0 ? Math.min(ordinal - 1, confirmed) : confirmed
    return { from: Math.max(1, to - (limit - unconfirmed.length) + 1), to, unconfirmed }
  }
  const to = Math.min(confirmed, ordinal + limit)
  const left = limit - Math.max(0, to - ordinal)
  const above = inMempool.filter(
    (tx) => unconfirmedTx === undefined || (tx.txid !== unconfirmedTx.txid && !isOlder(tx, unconfirmedTx)),
  )
  return { from: ordinal + 1, to, unconfirmed: left <= 0 ? [] : above.slice(-left) }
}

/**
 * Returns the place of the last item of a page, undefined at the end of the list.
 * @param before the place before the page, undefined if it was selected by its number.
 * @param rows of the page, lowest ordinal first.
 * @param last the last confirmed transaction of the script.
 */
export function placeAfter(
  sort: Sort,
  { unconfirmed }: HistorySlots,
  page: {
    readonly before: HistoryPlace | undefined
    readonly rows: readonly ScriptRow[]
    readonly last: ScriptRow | undefined
    readonly inMempool: readonly ShownTx[]
  },
): HistoryPlace | undefined {
  const { before, rows, last, inMempool } = page
  const [lowest, highest] = [rows[0], rows.at(-1)]
  if (sort === 'desc') {
    if (lowest !== undefined) {
      const newest = before?.newest ?? highest
      return lowest.ordinal > 1 ? { ordinal: lowest.ordinal, newest, unconfirmedTx: undefined } : undefined
    }
    const unconfirmedTx = unconfirmed.at(-1)
    if (unconfirmedTx === undefined || (last === undefined && unconfirmedTx === inMempool.at(-1)))
      return undefined
    return { ordinal: 0, newest: undefined, unconfirmedTx }
  }
  // Oldest first: the first unconfirmed one of the page is its last item.
  const unconfirmedTx = unconfirmed[0] ?? before?.unconfirmedTx
  const at = highest ?? (unconfirmedTx === undefined ? undefined : last)
  const ordinal = at?.ordinal ?? before?.ordinal ?? 0
  const isEnd =
    unconfirmed[0] === undefined
      ? ordinal >= (last?.ordinal ?? 0) && (inMempool.length === 0 || rows.length === 0)
      : unconfirmed[0] === inMempool[0]
  return isEnd ? undefined : { ordinal, newest: at ?? before?.newest, unconfirmedTx }
}
