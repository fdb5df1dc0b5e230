import { LRUCache } from 'lru-cache'
import { CursorOutdated } from '../../core/reads/cursor.js'
import type { ReadContext } from '../../core/reads/read.js'
import { endOfScript, lastOfScript, locatedOf, pageOfScript } from '../../core/reads/script.js'
import { type ConfirmedTx, LAST_ROWS, type PlacedTx, type ScriptRow } from '../../core/tables/lookups.js'
import { confirmationsByTxid } from '../../core/tables/transactions.js'

/** The number of confirmed transactions of a page. */
export const PAGE = 25

/** A transaction of a script in the chain. */
export interface HistoryTx extends PlacedTx {
  /** Received minus sent by the script, base units. */
  readonly change: bigint
}

/**
 * The ordinals of the last transactions of pages that were sent, by script and txid: the next page begins below them. A hint that is
 * checked, so it may be outdated.
 */
const lastOrdinals = new LRUCache<string, number>({ max: 20_000 })

const hintKey = (scriptHash: string, txid: string): string => `${scriptHash} ${txid}`

/** Returns the newest confirmed transactions of a script, newest first. */
export async function firstPage(
  context: ReadContext,
  scriptHash: string,
  limit = PAGE,
): Promise<readonly HistoryTx[]> {
  const end = await endOfScript(context, scriptHash, limit + 1)
  return pageBelow(context, scriptHash, { to: end[0]?.ordinal ?? 0, limit, known: end })
}

/**
 * Returns the confirmed transactions of a script that follow one of them, newest first; none if the script does not have it.
 * @throws CursorOutdated if a reorganisation has just removed the transaction: an empty page would look like the last one.
 */
export async function pageAfter(
  context: ReadContext,
  scriptHash: string,
  txid: string,
  limit = PAGE,
): Promise<readonly HistoryTx[]> {
  const at = await placeOf(txid, context)
  if (at === undefined) return []
  const ordinal = await ordinalOf(at, scriptHash, context)
  return ordinal === undefined ? [] : pageBelow(context, scriptHash, { to: ordinal - 1, limit, known: [] })
}

/**
 * Returns the place of a transaction of the chain; undefined if the chain does not have it.
 * @throws CursorOutdated if a reorganisation has just removed the transaction: an empty page would look like the last one.
 */
export async function placeOf(txid: string, context: ReadContext): Promise<ConfirmedTx | undefined> {
  const at = (await confirmationsByTxid(context.tables, context.chain.blocks, [txid])).get(txid)
  if (at === undefined && (await hasLeft(txid, context))) throw new CursorOutdated()
  return at
}

/** Returns the newest transactions of a script below a place of the chain, newest first. @param place undefined for the end of the chain. */
export async function pageBelowPlace(
  context: ReadContext,
  scriptHash: string,
  place: Pick<ConfirmedTx, 'height' | 'txIndex'> | undefined,
): Promise<readonly PlacedTx[]> {
  if (place === undefined) return firstPage(context, scriptHash)
  const { tables, chain } = context
  const [height, txIndex] = [String(place.height), String(place.txIndex)]
  const filter = `(height < ${height} OR height = ${height} AND tx_index < ${txIndex})`
  const rows = await tables.scriptEnd(scriptHash, PAGE + LAST_ROWS, filter)
  const below = rows.filter((row) => chain.blocks.has(row.height, row.blockTag))
  const [last] = below
  return pageBelow(context, scriptHash, { to: last?.ordinal ?? 0, limit: PAGE, known: below })
}

async function pageBelow(
  context: ReadContext,
  scriptHash: string,
  { to, limit, known }: { readonly to: number; readonly limit: number; readonly known: readonly ScriptRow[] },
): Promise<readonly HistoryTx[]> {
  const page: HistoryTx[] = []
  for (let highest = to; highest > 0 && page.length < limit;) {
    const from = Math.max(1, highest - (limit - page.length) + 1)
    const rows = await pageOfScript(context, scriptHash, { from, to: highest }, known)
    const located = await locatedOf(rows.reverse(), context)
    const earlier = await earlierOf(located, context)
    for (const [index, at] of located.entries()) {
      if (earlier.has(at)) continue
      page.push({ ...at, change: rows[index]?.change ?? 0n })
      if (page.length === limit) lastOrdinals.set(hintKey(scriptHash, at.txid), highest - index)
    }
    highest = from - 1
  }
  return page
}

/**
 * Returns the coinbases of which a higher block has the same one (BIP 30). A history has the latter alone: of two transactions with one
 * txid, clients could not continue after the right one.
 */
async function earlierOf(
  located: readonly PlacedTx[],
  { tables, chain }: ReadContext,
): Promise<ReadonlySet<PlacedTx>> {
  const coinbases = located.filter(({ txIndex }) => txIndex === 0)
  if (coinbases.length === 0) return new Set()
  const highest = await confirmationsByTxid(
    tables,
    chain.blocks,
    coinbases.map(({ txid }) => txid),
  )
  return new Set(coinbases.filter(({ txid, height }) => (highest.get(txid)?.height ?? height) > height))
}

/** Returns the ordinal of a confirmed transaction among the transactions of a script; undefined if the script does not have it. */
async function ordinalOf(
  at: ConfirmedTx,
  scriptHash: string,
  context: ReadContext,
): Promise<number | undefined> {
  const { tables, chain } = context
  const isIt = (row: ScriptRow): boolean =>
    row.height === at.height && row.txIndex === at.txIndex && chain.blocks.has(row.height, row.blockTag)
  const hint = lastOrdinals.get(hintKey(scriptHash, at.txid))
  if (hint !== undefined) {
    const row = (await tables.scriptRows(scriptHash, hint, hint)).find(isIt)
    if (row !== undefined) return row.ordinal
  }
  const last = await lastOfScript(context, scriptHash)
  if (last === undefined || last.height < at.height) return undefined
  const filter = `height = ${String(at.height)} AND tx_index = ${String(at.txIndex)}`
  return (await tables.scriptEnd(scriptHash, 8, filter)).find(isIt)?.ordinal
}

/** Returns whether a transaction was in a block that a reorganisation has replaced and that is not below the final height yet. */
async function hasLeft(txid: string, { tables, chain }: ReadContext): Promise<boolean> {
  const row = (await tables.confirmations.getAll([txid])).get(txid)
  return row !== undefined && row.height > (chain.view?.head.finalHeight ?? -1)
}
