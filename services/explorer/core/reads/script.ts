import { type DecodedAddress, decodeAddress } from '../../../../pipelines/chain/address.js'
import { type Network, NETWORKS } from '../../../../pipelines/chain/networks.js'
import { scriptHash } from '../../../../pipelines/chain/script.js'
import type { ShownTx } from '../mempool/shown-tx.js'
import { LAST_ROWS, type ScriptRow } from '../tables/lookups.js'
import { address as schema, badArgument } from './arguments.js'
import type { ReadContext } from './read.js'

export interface RequestedScript extends DecodedAddress {
  readonly network: Network
  readonly scriptHash: string
}

/** Decodes an address; undefined if it is malformed. Before the first head, addresses of all networks are accepted. */
export function scriptOf(
  { chain }: Pick<ReadContext, 'chain'>,
  address: string,
): RequestedScript | undefined {
  for (const network of chain.network === undefined ? NETWORKS.values() : [chain.network]) {
    const decoded = decodeAddress(address, network)
    if (decoded !== undefined) return { ...decoded, network, scriptHash: scriptHash(decoded.script) }
  }
  return undefined
}

/** Decodes an address. @throws BadArgument if it is malformed. */
export function requestedScript(context: Pick<ReadContext, 'chain'>, address: string): RequestedScript {
  const script = scriptOf(context, address)
  if (script === undefined) throw badArgument('address', schema)
  return script
}

/** Returns the balance change of a script by an unconfirmed transaction, in base units. */
export const changeOf = (tx: ShownTx, scriptHash: string): bigint => tx.changes.get(scriptHash) ?? 0n

type Sources = Pick<ReadContext, 'chain' | 'tables'>

/** Returns the last transaction of a script in the chain; its row contains the script's totals. */
export async function lastOfScript(sources: Sources, hash: string): Promise<ScriptRow | undefined> {
  return (await endsOfScript(sources, hash))[1]
}

/** Returns the first and the last transaction of a script in the chain. */
export async function endsOfScript(
  { chain: { view, blocks }, tables }: Sources,
  hash: string,
): Promise<[first: ScriptRow | undefined, last: ScriptRow | undefined]> {
  if (view === undefined) return [undefined, undefined]
  return tables.endsOfScript(hash, (row) => blocks.has(row.height, row.blockTag), view.tagFilter())
}

/** Returns the last transactions of a script in the chain, at least one unless it has none, newest first, each once. */
export async function endOfScript(
  { chain, tables }: Sources,
  hash: string,
  rows: number,
): Promise<ScriptRow[]> {
  const { view, blocks } = chain
  if (view === undefined) return []
  // An operation reads the other rows by their ordinals, in one query with rows of other scripts.
  if (tables.isOperation)
    return [await lastOfScript({ chain, tables }, hash)].filter((row) => row !== undefined)
  const visible = (row: ScriptRow): boolean => blocks.has(row.height, row.blockTag)
  const read = await tables.lastRows(hash, rows + LAST_ROWS)
  const end = byOrdinal(read.filter(visible))
  if (end.size > 0 || read.length < rows + LAST_ROWS) return [...end.values()]
  const last = await tables.lastVisibleOfScript(hash, visible, view.tagFilter())
  return last === undefined ? [] : [last]
}

/** A transaction of a script. */
export interface ScriptChange {
  readonly row: ScriptRow
  /** Received minus sent, base units. */
  readonly change: bigint
}

/**
 * Returns the transactions of a script with ordinals in a range (inclusive), lowest first.
 * @param knownRows rows of the chain that need not be read again.
 */
export async function pageOfScript(
  { chain: { blocks }, tables }: Sources,
  hash: string,
  { from, to }: { readonly from: number; readonly to: number },
  knownRows: readonly ScriptRow[],
): Promise<ScriptChange[]> {
  if (from > to) return []
  // The row below the first row has the totals before it.
  const lowest = Math.max(1, from - 1)
  let rows = byOrdinal(knownRows)
  if (!hasAll(rows, lowest, to)) {
    const read = await tables.scriptRows(hash, lowest, to)
    rows = byOrdinal(read.filter((row) => blocks.has(row.height, row.blockTag)))
  }
  if (!hasAll(rows, lowest, to)) throw new Error(`table script_txs lacks transactions of script ${hash}`)
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const row = rows.get(from + index) as ScriptRow
    return { row, change: balanceOf(row) - balanceOf(rows.get(from + index - 1)) }
  })
}

const balanceOf = (row: ScriptRow | undefined): bigint =>
  row === undefined ? 0n : row.totalReceived - row.totalSent

/** Returns rows by their ordinals: one may be there twice. */
const byOrdinal = (rows: readonly ScriptRow[]): Map<number, ScriptRow> =>
  new Map(rows.map((row) => [row.ordinal, row]))

function hasAll(rows: ReadonlyMap<number, ScriptRow>, from: number, to: number): boolean {
  for (let ordinal = from; ordinal <= to; ordinal++) if (!rows.has(ordinal)) return false
  return true
}
