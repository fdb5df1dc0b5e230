import { sumOf } from '../../../../pipelines/chain/amount.js'
import type { BlockId } from '../../../../pipelines/chain/block.js'
import { type Network, networkNamed } from '../../../../pipelines/chain/networks.js'
import { decodePrevouts, outpointsOf } from '../../../../pipelines/chain/prevout.js'
import { parseBody, parseTx, serializeTx } from '../../../../pipelines/chain/transaction.js'
import type { ChainView } from '../../../../pipelines/tables/chain-view.js'
import type { Head } from '../../../../pipelines/tables/head.js'
import { HEADS_OF_STATE } from '../../../../pipelines/tables/writers.js'
import { shownTx, type ShownTx } from '../mempool/shown-tx.js'
import { type ChainedTx, type Overlay, type Mempool, returnable } from '../mempool/mempool.js'
import type { ChainState } from './state.js'
import { blockAt } from '../tables/blocks.js'
import { outputPrefix } from '../tables/point-keys.js'
import type { Tables } from '../tables/tables.js'
import {
  allSpends,
  blockTxsBetween,
  eachBody,
  confirmationsByTxid,
  transactionsOf,
} from '../tables/transactions.js'

/** Returns the net change by consecutive heads, lowest first: without blocks that were connected and disconnected among them. */
export function netChange(heads: readonly Pick<Head, 'tipHeight' | 'connected' | 'disconnected'>[]): {
  connected: BlockId[]
  disconnected: BlockId[]
} {
  const connected = new Map<string, number>()
  const disconnected = new Map<string, number>()
  for (const head of heads) {
    const fork = head.tipHeight - head.connected.length
    for (const [index, hash] of head.disconnected.entries()) {
      if (!connected.delete(hash)) disconnected.set(hash, fork + head.disconnected.length - index)
    }
    for (const [index, hash] of head.connected.entries()) {
      if (!disconnected.delete(hash)) connected.set(hash, fork + 1 + index)
    }
  }
  return { connected: byHeight(connected), disconnected: byHeight(disconnected) }
}

function byHeight(blocks: ReadonlyMap<string, number>): BlockId[] {
  return [...blocks]
    .map(([hash, height]) => ({ hash, height }))
    .sort((one, other) => one.height - other.height)
}

/** A head that connects more comes from a backfill: the mempool's next event arrives before a search for conflicts would end. */
const MAX_BLOCKS_SEARCHED_FOR_CONFLICTS = 100
/** The number of newest heads that get an overlay each; older ones share one. */
const MAX_HEADS_APART = 30
/** The maximum number of returned transactions, about the size of a mempool: its next event replaces them anyway. */
const MAX_RETURNED = 50_000

/**
 * Returns the common overlay of heads.
 * @throws DatabaseUnavailable.
 */
async function overlayOf(
  heads: readonly Head[],
  mempool: Mempool,
  tables: Tables,
  txids: TxidsOf,
): Promise<Overlay> {
  const { connected, disconnected } = netChange(heads)
  const confirmed = await txids(connected)
  const spent =
    connected.length <= MAX_BLOCKS_SEARCHED_FOR_CONFLICTS
      ? await spentBy(confirmed, mempool, tables)
      : new Set<string>()
  const last = heads.at(-1)
  const chained =
    last === undefined ? [] : await txsOfAll(disconnected, networkNamed(last.chain), mempool, tables)
  const position = last?.position ?? -1
  return { position, confirmed, spent, returned: returnable(chained, { confirmed, spent }) }
}

/**
 * Returns one overlay per head, because an event of the mempool may have been observed between two heads, and then needs the
 * overlays after it. The oldest of many heads share one, because the mempool would join their overlays anyway.
 * @throws DatabaseUnavailable.
 */
export async function overlaysOf(
  heads: readonly Head[],
  mempool: Mempool,
  tables: Tables,
  txids: TxidsOf,
): Promise<Overlay[]> {
  const cut = Math.max(0, heads.length - MAX_HEADS_APART)
  const parts = [...(cut > 0 ? [heads.slice(0, cut)] : []), ...heads.slice(cut).map((head) => [head])]
  const overlays: Overlay[] = []
  for (const part of parts) overlays.push(await overlayOf(part, mempool, tables, txids))
  return overlays
}

/** The heads after position `from`, up to position `to`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Returns the overlay of heads that connect too many blocks to read them all: looks up the mempool's transactions in the chain
 * instead. The overlay covers only the given transactions, so it must be made again if others have entered meanwhile.
 * @throws DatabaseUnavailable.
 */
export async function overlayBySearch(
  txs: readonly ShownTx[],
  span: Span,
  { view, blocks }: Pick<ChainState, 'blocks'> & { readonly view: ChainView },
  mempool: Mempool,
  tables: Tables,
): Promise<Overlay> {
  const disconnected = await disconnectedWithin(span, view, tables)
  const chained = await txsOfAll(disconnected, networkNamed(view.head.chain), mempool, tables)
  const all = [...txs, ...chained.map(({ tx }) => tx)]
  const outpoints = all.flatMap((tx) => tx.outpoints)
  const [confirmations, spends] = await Promise.all([
    confirmationsByTxid(
      tables,
      blocks,
      all.map((tx) => tx.txid),
    ),
    tables.spends.getAll(outpoints.map(outputPrefix)),
  ])
  const confirmed = new Set(confirmations.keys())
  const spentAt = new Map<string, number>()
  for (const outpoint of outpoints) {
    const [txid = '', vout] = outpoint.split(':')
    const all = await allSpends(tables, txid, spends.get(outputPrefix(txid)))
    for (const { prevVout, height, blockTag: tag } of all)
      if (prevVout === Number(vout) && blocks.has(height, tag))
        spentAt.set(outpoint, Math.max(height, spentAt.get(outpoint) ?? 0))
  }
  // An output of a repeated coinbase exists again (BIP 30).
  const parents = await confirmationsByTxid(
    tables,
    blocks,
    [...spentAt.keys()].map((outpoint) => outpoint.slice(0, 64)),
  )
  const isSpent = ([outpoint, height]: [string, number]): boolean =>
    height >= (parents.get(outpoint.slice(0, 64))?.height ?? 0)
  const spent = new Set([...spentAt].filter(isSpent).map(([outpoint]) => outpoint))
  return { position: span.to, confirmed, spent, returned: returnable(chained, { confirmed, spent }) }
}

/** Returns the blocks that heads of a span disconnected and that are not on the chain, lowest first. */
async function disconnectedWithin({ from, to }: Span, view: ChainView, tables: Tables): Promise<BlockId[]> {
  const sql = `SELECT tip_height AS tip, length(connected) AS grown, arrayMap(each -> lower(hex(each)), disconnected) AS gone
    FROM heads WHERE position > {from:Int64} AND position <= {to:Int64} AND notEmpty(disconnected) AND ${HEADS_OF_STATE}
    ORDER BY position LIMIT 1 BY position LIMIT 1000`
  const rows = await tables.query<{ tip: string; grown: string; gone: string[] }>(sql, { from, to })
  const blocks = new Map<string, number>()
  for (const { tip, grown, gone } of rows) {
    const top = Number(tip) - Number(grown) + gone.length
    for (const [index, hash] of gone.entries()) blocks.set(hash, top - index)
  }
  return byHeight(blocks).filter(({ height, hash }) => !view.isCanonical(height, hash))
}

async function txsOfAll(
  blocks: readonly BlockId[],
  network: Network,
  mempool: Mempool,
  tables: Tables,
): Promise<ChainedTx[]> {
  const chained: ChainedTx[] = []
  for (const block of blocks) {
    if (chained.length < MAX_RETURNED) chained.push(...(await txsOf(block, network, mempool, tables)))
  }
  return chained
}

/** Returns the txids of blocks, which must be in order of height. @throws DatabaseUnavailable. */
export type TxidsOf = (blocks: readonly BlockId[]) => Promise<ReadonlySet<string>>

async function spentBy(txids: ReadonlySet<string>, mempool: Mempool, tables: Tables): Promise<Set<string>> {
  const spent = new Set<string>()
  const unknown: string[] = []
  for (const txid of txids) {
    const tx = mempool.getAny(txid)
    if (tx === undefined) unknown.push(txid)
    else for (const outpoint of tx.outpoints) spent.add(outpoint)
  }
  await eachBody(tables, unknown, ({ body }) => {
    for (const outpoint of outpointsOf(parseTx(body))) spent.add(outpoint)
  })
  return spent
}

async function txsOf(
  block: BlockId,
  network: Network,
  mempool: Mempool,
  tables: Tables,
): Promise<ChainedTx[]> {
  const row = await blockAt(tables.unchecked, block.height, block.hash)
  const located = await blockTxsBetween(tables.unchecked, block, 0, 0xffff_ffff)
  // A power cut can lose rows of `txs` until they are repaired: their transactions stay out of the mempool until its next event.
  const confirmations = await tables.confirmations.getAll(located.map(({ txid }) => txid))
  const rows = await transactionsOf(
    tables,
    located.filter(({ txid }) => confirmations.has(txid)),
  )
  return rows.map(({ txid, body, witness, prevouts }) => {
    const tx = parseBody(body, witness)
    const coins = decodePrevouts(prevouts)
    const firstSeen = mempool.getAny(txid)?.firstSeen ?? row?.time ?? 0
    const fee = tx.isCoinbase ? 0n : sumOf(coins) - sumOf(tx.outputs)
    // Rows are views of a whole response, and this transaction is kept.
    const copies = coins.map(({ value, script }) => ({ value, script: Buffer.from(script) }))
    const entry = { raw: serializeTx(tx, true), fee, firstSeen, network }
    return { tx: shownTx(entry, copies), isCoinbase: tx.isCoinbase }
  })
}
