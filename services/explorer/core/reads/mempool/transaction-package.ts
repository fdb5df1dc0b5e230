import { sumOf } from '../../../../../pipelines/chain/amount.js'
import { feeRate } from '../../../../../pipelines/chain/feerate.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { isoTime } from '../../../../../pipelines/chain/time.js'
import { decodePrevouts, outpointsOf } from '../../../../../pipelines/chain/prevout.js'
import { parseBody, vsizeOf, weightOf } from '../../../../../pipelines/chain/transaction.js'
import { clusterOf, effectiveOf, MAX_CLUSTER } from '../../../../../pipelines/mempool/packages.js'
import {
  packagesOf,
  type ProjectableTx,
  type ProjectedPackage,
} from '../../../../../pipelines/mempool/projection.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import { outputPrefix } from '../../tables/point-keys.js'
import {
  allSpends,
  confirmationsByTxid,
  finalHeightOf,
  NO_WITNESS,
  spendsIn,
  withTxids,
  transactionByTxid,
  type TxRow,
} from '../../tables/transactions.js'
import { hash } from '../arguments.js'
import { findTransaction } from '../chain/transaction-details.js'
import { declareRead, networkIn, type ReadContext } from '../read.js'
import { TransactionPackage } from '../shapes.js'
import { projectedBlocks } from '../fees/basis.js'

/** About the characters of a member of a list. */
const MEMBER_CHARACTERS = 150
/** The bytes of marker and flag before the witnesses of a transaction. */
const MARKER_BYTES = 2

/** Transactions that are connected by spends. */
interface Cluster {
  readonly txs: readonly ProjectableTx[]
  /** False if there are more. */
  readonly isComplete: boolean
}

export const transactionPackage = declareRead({
  name: 'transactionPackage',
  about:
    'The transactions with which a miner takes a transaction: its ancestors, its descendants, and the fee rate that counts.',
  path: '/tx/:txid/cpfp',
  fresh: 'mempool',
  args: { txid: hash },
  answer: TransactionPackage,
  notFound: ['Transaction not found'],
  resolve: (context, { txid }) => packageOf(context, txid),
})

/** Returns the package of a transaction. @throws NotFound. */
export async function packageOf(context: ReadContext, txid: string): Promise<TransactionPackage> {
  const network = networkIn(context)
  const match = await findTransaction(txid, context, (key) =>
    transactionByTxid(context.tables, context.chain.blocks, key, NO_WITNESS),
  )
  if (match.unconfirmed !== undefined) {
    const { unconfirmed: tx } = match
    const cluster = clusterOf(tx, context.mempool.graph)
    const projected = await placeOf(tx, context, network)
    const surroundings = { height: null, cluster, effective: effectiveOf(tx), projected }
    return answerOf(tx, { ...surroundings, firstSeen: tx.firstSeen }, context)
  }
  const { row } = match
  const own = projectable(row, network)
  const cluster = await clusterInBlock(row, context, network)
  const effective = cluster.isComplete ? packagesOf(cluster.txs).get(own.txid) : undefined
  context.validity.finalFrom(finalHeightOf(row))
  const { height } = row
  const firstSeen = await context.dropped.firstSeen(row.txid)
  const surroundings = { height, cluster, effective: effective ?? own, projected: null }
  return answerOf(own, { ...surroundings, firstSeen }, context)
}

/** The block, the connected transactions and the package of a transaction. */
interface Surroundings {
  /** Height of its block; null for an unconfirmed transaction. */
  readonly height: number | null
  readonly cluster: Cluster
  readonly effective: ProjectedPackage
  readonly projected: TransactionPackage['projected']
  /** Unix seconds; undefined if it is not known. */
  readonly firstSeen: number | undefined
}

function answerOf(
  tx: ProjectableTx,
  { height, cluster, effective, projected, firstSeen }: Surroundings,
  { size, chain: { blocks } }: Pick<ReadContext, 'size' | 'chain'>,
): TransactionPackage {
  const { ancestors, descendants } = relativesOf(tx, cluster.txs)
  size.add(MEMBER_CHARACTERS * (ancestors.length + descendants.length))
  const { txid, ...sizes } = memberOf(tx)
  // The clock of a miner may be behind that of the node.
  const waited =
    height === null || firstSeen === undefined ? null : Math.max(0, blocks.timeAt(height) - firstSeen)
  return {
    txid,
    block_height: height,
    first_seen: firstSeen === undefined ? null : isoTime(firstSeen),
    waited_seconds: waited,
    ...sizes,
    fee_rate: feeRate(tx.fee, tx.vsize),
    effective_fee_rate: feeRate(effective.fee, effective.vsize),
    ancestors: ancestors.map(memberOf),
    descendants: descendants.map(memberOf),
    complete: cluster.isComplete,
    projected,
  }
}

const memberOf = ({ txid, fee, vsize, weight }: ProjectableTx) => ({
  txid,
  fee: fee.toString(),
  vsize,
  weight,
})

/** Returns the txids of the transactions from which one spends. */
export const parentsOf = ({ outpoints }: ProjectableTx): string[] =>
  outpoints.map((each) => each.slice(0, 64))

/** Returns the ancestors and the descendants of a transaction, each list in an order in which a block may have them. */
function relativesOf(
  { txid }: ProjectableTx,
  txs: readonly ProjectableTx[],
): { readonly ancestors: readonly ProjectableTx[]; readonly descendants: readonly ProjectableTx[] } {
  const members = new Map(txs.map((tx) => [tx.txid, tx]))
  const children = new Map<string, string[]>()
  for (const tx of txs)
    for (const parent of new Set(parentsOf(tx)))
      children.set(parent, [...(children.get(parent) ?? []), tx.txid])
  const childrenOf = (id: string): readonly string[] => children.get(id) ?? []
  const knownParentsOf = (id: string): readonly string[] => {
    const tx = members.get(id)
    return tx === undefined ? [] : parentsOf(tx).filter((parent) => members.has(parent))
  }
  const reached = (next: (id: string) => readonly string[]): ReadonlySet<string> => {
    const found = new Set([txid])
    for (const id of found) for (const each of next(id)) found.add(each)
    found.delete(txid)
    return found
  }
  const [above, below] = [reached(knownParentsOf), reached(childrenOf)]
  // Those without a parent first, then the ones whose parents are all there.
  const missing = new Map([...members.keys()].map((id) => [id, new Set(knownParentsOf(id)).size]))
  const sorted = [...missing].filter(([, count]) => count === 0).map(([id]) => id)
  for (const id of sorted)
    for (const child of childrenOf(id)) {
      const left = (missing.get(child) ?? 0) - 1
      missing.set(child, left)
      if (left === 0) sorted.push(child)
    }
  const within = (set: ReadonlySet<string>): ProjectableTx[] =>
    sorted.filter((id) => set.has(id)).flatMap((id) => members.get(id) ?? [])
  return { ancestors: within(above), descendants: within(below) }
}

/** Returns the place of an unconfirmed transaction in the projected blocks; null if it is in none of them. */
async function placeOf(
  { txid }: ShownTx,
  context: ReadContext,
  network: Network,
): Promise<TransactionPackage['projected']> {
  const blocks = await projectedBlocks(context, network)
  for (const [index, { txs }] of blocks.entries()) {
    const at = txs.findIndex((tx) => tx.txid === txid)
    if (at < 0) continue
    const before = txs.slice(0, at).reduce((sum, { vsize }) => sum + vsize, 0)
    return { block: index + 1, tx_index: at + 1, vsize_before: before }
  }
  return null
}

/** Returns a confirmed transaction as far as its place in a block depends on it. */
export function projectable({ txid, body, prevouts, witnessSize }: TxRow, network: Network): ProjectableTx {
  const tx = parseBody(body)
  const size = body.length + (witnessSize > 0 ? witnessSize + MARKER_BYTES : 0)
  const weight = weightOf({ strippedSize: body.length, size }, network)
  const fee = tx.isCoinbase ? 0n : sumOf(decodePrevouts(prevouts)) - sumOf(tx.outputs)
  return { txid, fee, size, weight, vsize: vsizeOf(weight, network), outpoints: outpointsOf(tx) }
}

/** Returns a transaction of a block and the transactions of the block that are connected to it. One round of lookups for each generation. */
async function clusterInBlock(
  start: TxRow,
  { tables, chain: { blocks } }: ReadContext,
  network: Network,
): Promise<Cluster> {
  const txs: ProjectableTx[] = []
  const known = new Set([start.txid])
  const isInBlock = (row: Pick<TxRow, 'height'> | undefined): boolean => row?.height === start.height
  let rows: readonly TxRow[] = [start]
  while (rows.length > 0) {
    const generation = rows.map((row) => projectable(row, network))
    txs.push(...generation)
    const parents = [...new Set(generation.flatMap(parentsOf))].filter((txid) => !known.has(txid))
    const [confirmed, spends] = await Promise.all([
      confirmationsByTxid(tables, blocks, parents),
      Promise.all(
        rows.map(async (row) => {
          const all = await allSpends(tables, row.txid, await tables.spends.get(outputPrefix(row.txid)))
          return spendsIn(tables, blocks, row, all)
        }),
      ),
    ])
    const inBlock = await withTxids(tables, spends.flat().filter(isInBlock))
    const neighbours = new Set([
      ...parents.filter((txid) => isInBlock(confirmed.get(txid))),
      ...inBlock.map(({ txid }) => txid),
    ])
    const next = [...neighbours].filter((txid) => !known.has(txid))
    for (const txid of next) known.add(txid)
    if (known.size > MAX_CLUSTER) return { txs, isComplete: false }
    const found = await Promise.all(next.map((txid) => transactionByTxid(tables, blocks, txid, NO_WITNESS)))
    rows = found.filter((row) => row !== undefined)
  }
  return { txs, isComplete: true }
}
