import { LRUCache } from 'lru-cache'
import { coded } from '../../../../pipelines/errors.js'
import type { ReadContext } from '../../core/reads/read.js'
import { endOfScript, lastOfScript, pageOfScript, type ScriptChange } from '../../core/reads/script.js'
import { type BlockTx, type ConfirmedTx, LAST_ROWS, type ScriptRow } from '../../core/tables/lookups.js'
import { blockTxKey } from '../../core/tables/point-keys.js'
import { confirmationsByTxid } from '../../core/tables/transactions.js'

/** The number of confirmed transactions of a page. */
export const PAGE = 25

/** Thrown for a page after a transaction that a reorganisation has removed from the chain: an empty page would look like the last one. */
export class LeftChain extends coded('HW_CURSOR_OUTDATED') {}

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
): Promise<readonly BlockTx[]> {
  const end = await endOfScript(context, scriptHash, limit + 1)
  return pageBelow(context, scriptHash, { to: end[0]?.ordinal ?? 0, limit, known: end })
}

/**
 * Returns the confirmed transactions of a script that follow one of them, newest first; none if the script does not have it.
 * @throws LeftChain.
 */
export async function pageAfter(
  context: ReadContext,
  scriptHash: string,
  txid: string,
  limit = PAGE,
): Promise<readonly BlockTx[]> {
  const at = await placeOf(txid, context)
  if (at === undefined) return []
  const ordinal = await ordinalOf(at, scriptHash, context)
  return ordinal === undefined ? [] : pageBelow(context, scriptHash, { to: ordinal - 1, limit, known: [] })
}

/**
 * Returns the place of a transaction of the chain; undefined if the chain does not have it.
 * @throws LeftChain.
 */
export async function placeOf(txid: string, context: ReadContext): Promise<ConfirmedTx | undefined> {
  const at = (await confirmationsByTxid(context.tables, context.chain.blocks, [txid])).get(txid)
  if (at === undefined && (await hasLeft(txid, context)))
    throw new LeftChain('the transaction has just left the chain: repeat')
  return at
}

/** Returns the newest transactions of a script below a place of the chain, newest first. @param place undefined for the end of the chain. */
export async function pageBelowPlace(
  context: ReadContext,
  scriptHash: string,
  place: Pick<ConfirmedTx, 'height' | 'txIndex'> | undefined,
): Promise<readonly BlockTx[]> {
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
): Promise<readonly BlockTx[]> {
  const rows = await pageOfScript(context, scriptHash, { from: Math.max(1, to - limit + 1), to }, known)
  const located = await locatedOf(rows.reverse(), context)
  const [last, lowest] = [located.at(-1), rows.at(-1)]
  if (last !== undefined && lowest !== undefined)
    lastOrdinals.set(hintKey(scriptHash, last.txid), lowest.row.ordinal)
  return located
}

/** Returns the transactions of rows of a script. */
export async function locatedOf(
  rows: readonly ScriptChange[],
  { tables }: Pick<ReadContext, 'tables'>,
): Promise<readonly BlockTx[]> {
  const located = await tables.blockTxs.getAll(rows.map(({ row }) => blockTxKey(row)))
  return rows.map(({ row }) => {
    const at = located.get(blockTxKey(row))
    if (at === undefined)
      throw new Error(`table block_txs lacks a transaction at height ${String(row.height)}`)
    return at
  })
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

/** Returns whether a transaction was in a block that a recent reorganisation has replaced. */
async function hasLeft(txid: string, { tables, chain }: ReadContext): Promise<boolean> {
  const row = (await tables.confirmations.getAll([txid])).get(txid)
  if (row === undefined) return false
  const stale = [...(chain.view?.stale ?? [])]
  return stale.some(([hash, height]) => height === row.height && hash.endsWith(tagOf(row.blockTag)))
}

const tagOf = (tag: number): string => tag.toString(16).padStart(8, '0')
