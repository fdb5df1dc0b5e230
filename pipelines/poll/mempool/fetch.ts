import { coinsToBaseUnits } from '../../chain/amount.js'
import type { Logger } from '../../logger.js'
import { mempoolTx, type MempoolTx } from '../../mempool/mempool-tx.js'
import type { NodeClient } from '../../node/client.js'
import type { NodeMempoolEntry } from '../../node/replies.js'
import { fetchInOrder, type FetchOrder } from '../fetch-in-order.js'
import { bySeen } from './delta.js'
import { slicesOf } from '../slices.js'

/** The maximum number of calls per request; the node answers a batch with one of its threads. */
const CALLS_AT_ONCE = 100
/** The maximum size of the transactions of one request, unless a single one is larger; the response in hex is twice that. */
const BYTES_AT_ONCE = 1 << 20
const MAX_WAITING_BYTES = 32 * 2 ** 20

export interface MempoolFetchSources {
  readonly node: NodeClient
  /** The maximum number of concurrent requests. */
  readonly inFlight: number
  readonly logger: Logger
}

/**
 * Fetches transactions of the node's mempool, in the order in which the node received them. Skips transactions that have left it
 * meanwhile or cannot be parsed.
 */
export async function fetchMempoolTxs(
  txids: readonly string[],
  { node, inFlight, logger }: MempoolFetchSources,
  signal: AbortSignal,
): Promise<MempoolTx[]> {
  const chunks = [...slicesOf(txids, () => 1, CALLS_AT_ONCE)]
  const order: FetchOrder<MempoolTx[]> = {
    from: 0,
    to: chunks.length - 1,
    inFlight,
    maxBytes: MAX_WAITING_BYTES,
    fetch: async (i, stop) => {
      const value = await fetchChunk(chunks[i] ?? [], { node, logger }, stop)
      return { value, bytes: value.reduce((sum, { raw }) => sum + raw.length, 0) }
    },
  }
  const result: MempoolTx[] = []
  for await (const ready of fetchInOrder(order, signal)) for (const txs of ready) result.push(...txs)
  return result.sort(bySeen)
}

async function fetchChunk(
  txids: readonly string[],
  { node, logger }: Pick<MempoolFetchSources, 'node' | 'logger'>,
  signal: AbortSignal,
): Promise<MempoolTx[]> {
  const entries = await node.mempoolEntries(txids, signal)
  const there = txids.flatMap((txid, i) => {
    const entry = entries[i]
    return entry === undefined ? [] : [{ txid, entry }]
  })
  const txs: MempoolTx[] = []
  for (const slice of slicesOf(there, ({ entry }) => entry.weight, BYTES_AT_ONCE)) {
    const raws = await node.rawTransactions(
      slice.map(({ txid }) => txid),
      signal,
    )
    for (const [i, { txid, entry }] of slice.entries()) {
      const tx = parsed(txid, raws[i], entry, logger)
      if (tx !== undefined) txs.push(tx)
    }
  }
  return txs
}

/**
 * Returns a transaction with the fee that it pays, without changes by prioritisetransaction; undefined if it cannot be parsed.
 */
function parsed(
  txid: string,
  raw: Buffer | undefined,
  { fees, time }: NodeMempoolEntry,
  logger: Logger,
): MempoolTx | undefined {
  if (raw === undefined) return undefined
  try {
    return mempoolTx({ txid, raw, fee: coinsToBaseUnits(fees.base), firstSeen: time })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    logger.warn({ code: 'HW_NODE_INVALID', txid }, `${error.message}; skipped until the next poll`)
    return undefined
  }
}
