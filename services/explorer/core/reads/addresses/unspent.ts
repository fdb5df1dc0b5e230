import { outpointOf } from '../../../../../pipelines/chain/prevout.js'
import { ByteReader } from '../../../../../pipelines/chain/bytes.js'
import { scriptHash as hashOf } from '../../../../../pipelines/chain/script.js'
import { readTx } from '../../../../../pipelines/chain/transaction.js'
import {
  NO_LIST,
  type UnspentList,
  type UnspentOutput,
  unspentPage,
} from '../../../../../pipelines/tables/lists/unspent.js'
import { heightDesc } from '../../../../../pipelines/tables/schema.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import type { CanonicalBlocks } from '../../tables/canonical-blocks.js'
import { MAX_OUTPUT_ROWS, type OutputRow } from '../../tables/lookups.js'
import { confirmationsByTxid, type Named, withTxids } from '../../tables/transactions.js'
import { AnswerTooLarge } from '../answer-size.js'
import type { ReadContext } from '../read.js'
import { lastOfScript, type NamedScript } from '../script.js'

/** About the bytes of an output whose txid is looked up. */
const BYTES = 400
/** The maximum number of spends that are read to find the unspent outputs as of a block before any list of them. */
const MAX_PAST_SPENDS = 200_000

interface Window {
  readonly limit: number
  readonly offset: number
}

/** An unspent output; height and index of its transaction in the block are null if it is unconfirmed. */
type Unspent = Pick<Named<UnspentOutput>, 'txid' | 'vout' | 'value'> & {
  readonly height: number | null
  readonly txIndex: number | null
}

/** A window of a list, and the length of the list. */
export interface UnspentWindow {
  readonly outputs: readonly Unspent[]
  readonly total: number
}

/** Returns the unspent outputs of a script in the chain: newest block first, then by txid and vout. */
export async function unspentOnChain(
  context: ReadContext,
  { scriptHash }: Pick<NamedScript, 'scriptHash'>,
  window: Window,
): Promise<UnspentWindow> {
  const state = await stateOf(context, scriptHash)
  return { outputs: await readWindow(context, scriptHash, window, state), total: state.total }
}

/** The state of a script in the chain. */
interface ScriptState {
  /** The number of its unspent outputs in the chain. */
  readonly total: number
  /** The number of its transactions in the chain. */
  readonly txCount: number
  /** The number of its outputs that the chain has spent. */
  readonly spentCount: number
  /** Its newest list of unspent outputs in the chain. */
  readonly list: UnspentList | undefined
}

async function stateOf({ chain, tables }: ReadContext, scriptHash: string): Promise<ScriptState> {
  const [last, lists = []] = await Promise.all([
    lastOfScript({ chain, tables }, scriptHash),
    tables.unspentLists.get(scriptHash),
  ])
  const [newest] = lists
    .filter(({ height, blockTag }) => chain.blocks.has(height, blockTag))
    .sort((one, other) => other.height - one.height)
  const list = newest && { height: newest.height, tag: newest.blockTag, size: newest.size }
  const total = last?.unspentCount ?? 0
  return { total, txCount: last?.ordinal ?? 0, spentCount: (last?.fundedCount ?? 0) - total, list }
}

async function readWindow(
  { chain: { view, blocks, height, present }, tables, size }: ReadContext,
  scriptHash: string,
  { limit, offset }: Window,
  { total, txCount, spentCount, list }: ScriptState,
): Promise<Named<UnspentOutput>[]> {
  if (limit <= 0 || offset >= total) return []
  // A script with many changes has a list, unless it was not built yet.
  if (list === undefined && txCount <= MAX_OUTPUT_ROWS) {
    const rows = (await tables.outputs.get(scriptHash)) ?? []
    if (rows.length <= MAX_OUTPUT_ROWS)
      return withTxids(tables, unspentOf(rows, blocks).slice(offset, offset + limit))
  }
  if (list === undefined && present !== undefined && spentCount > MAX_PAST_SPENDS)
    throw new AnswerTooLarge(
      `more than ${String(MAX_PAST_SPENDS)} outputs were spent by then: read its history instead`,
    )
  // By the key of the table too, so that nothing above a past tip is read.
  const filter = `height_desc >= ${String(heightDesc(height))} AND ${view?.tagFilter() ?? '0'}`
  const of = { scriptHash, filter }
  const page = await unspentPage(tables, of, list ?? NO_LIST, { limit, offset, total })
  await size.reserve(BYTES * page.length)
  return withTxids(tables, page)
}

/** Returns the unspent outputs in the order of the list. @param rows all of a script, of all branches; one may be there twice. */
function unspentOf(rows: readonly OutputRow[], blocks: CanonicalBlocks): UnspentOutput[] {
  const unspent = new Map<string, OutputRow>()
  const visible = rows.filter(({ height, blockTag }) => blocks.has(height, blockTag))
  const keyOf = ({ outputHeight, txidPrefix, vout }: OutputRow): string =>
    `${String(outputHeight)} ${outpointOf(txidPrefix, vout)}`
  for (const row of visible) if (!row.spent) unspent.set(keyOf(row), row)
  for (const row of visible) if (row.spent) unspent.delete(keyOf(row))
  // With as much of the txids as the rows have.
  const placed = [...unspent.values()].map((row) => ({
    row,
    txid: row.txidPrefix,
    vout: row.vout,
    height: row.height,
  }))
  return placed.sort(compare).map(({ row: { vout, height, blockTag, txIndex, value } }) => ({
    txid: undefined,
    vout,
    height,
    blockTag,
    txIndex,
    value: value.toString(),
  }))
}

/**
 * Returns the unspent outputs of a script as of chain and mempool: the unconfirmed outputs first, in the order of their transactions
 * from the newest, then the outputs of the chain that no unconfirmed transaction spends.
 */
export async function unspentWithMempool(
  context: ReadContext,
  requested: Pick<NamedScript, 'scriptHash'>,
  { limit, offset }: Window,
): Promise<UnspentWindow> {
  const txs = context.mempool.ofScript(requested.scriptHash)
  const spent = new Set(txs.flatMap((tx) => outpointsOfScript(tx, requested.scriptHash)))
  const unconfirmed = txs
    .flatMap((tx) => outputsOfScript(tx, requested.scriptHash))
    .filter(({ txid, vout }) => !spent.delete(outpointOf(txid, vout)))
  // What is left of `spent` are outputs of the chain.
  const [state, spentOnChain] = await Promise.all([
    stateOf(context, requested.scriptHash),
    positionsOf([...spent], context),
  ])
  const onChain = state.total
  const total = unconfirmed.length + onChain - spentOnChain.length
  const first = unconfirmed.slice(offset, offset + limit)
  const from = Math.max(0, offset - unconfirmed.length)
  const count = Math.min(limit - first.length, onChain - spentOnChain.length - from)
  // An output has moved up by at most as many places as outputs of the list are spent.
  const window = { limit: count <= 0 ? 0 : count + spentOnChain.length, offset: from }
  const read = await readWindow(context, requested.scriptHash, window, state)
  const rest = read.filter((output, index) => {
    const before = spentOnChain.filter((each) => compare(each, output) < 0).length
    const place = from + index - before
    return !spent.has(outpointOf(output.txid, output.vout)) && place >= from && place < from + count
  })
  return { outputs: [...first, ...rest], total }
}

/** Returns the outpoints that a transaction spends and that belong to a script. */
function outpointsOfScript({ outpoints, coins }: ShownTx, scriptHash: string): string[] {
  return outpoints.filter((_, index) => {
    const coin = coins[index]
    return coin !== undefined && hashOf(coin.script) === scriptHash
  })
}

function outputsOfScript({ raw, txid }: ShownTx, scriptHash: string): Unspent[] {
  return readTx(new ByteReader(raw)).outputs.flatMap(({ value, script }, vout) =>
    hashOf(script) === scriptHash
      ? [{ txid, vout, height: null, txIndex: null, value: value.toString() }]
      : [],
  )
}

type Position = Pick<Named<UnspentOutput>, 'txid' | 'vout' | 'height'>

/** Compares the places of two outputs in the list. */
function compare(one: Position, other: Position): number {
  if (one.height !== other.height) return other.height - one.height
  if (one.txid !== other.txid) return one.txid < other.txid ? -1 : 1
  return one.vout - other.vout
}

/** Returns the places of outputs of the chain in the list. */
async function positionsOf(
  outpoints: readonly string[],
  { tables, chain }: ReadContext,
): Promise<Position[]> {
  const parents = await confirmationsByTxid(tables, chain.blocks, [
    ...new Set(outpoints.map((each) => each.slice(0, 64))),
  ])
  return outpoints.flatMap((outpoint) => {
    const row = parents.get(outpoint.slice(0, 64))
    return row === undefined ? [] : [{ txid: row.txid, vout: Number(outpoint.slice(65)), height: row.height }]
  })
}
