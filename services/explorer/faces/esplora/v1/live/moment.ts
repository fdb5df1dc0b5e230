import type { Network } from '../../../../../../pipelines/chain/networks.js'
import type { MempoolTxs } from '../../../../core/mempool/mempool-txs.js'
import type { ProjectedBlock } from '../../../../../../pipelines/mempool/projection.js'
import { effectiveOf } from '../../../../../../pipelines/mempool/packages.js'
import type { ShownTx } from '../../../../core/mempool/shown-tx.js'
import { projectedBlocks, minimumOf } from '../../../../core/reads/fees/basis.js'
import { networkIn, type ReadContext } from '../../../../core/reads/read.js'
import type { ChainState, RelayFees } from '../../../../core/state/state.js'
import { confirmationsByTxid } from '../../../../core/tables/transactions.js'
import { rowsBetween } from '../../blocks.js'
import { firstPage } from '../../histories.js'
import { transactionsOfBlocks, unconfirmed } from '../../transaction-rows.js'
import { extendedBlocks } from '../blocks.js'
import { difficultyAdjustment } from '../difficulty.js'
import { newestTrees, summaryOf } from '../replacements.js'
import { feesOf, feesOfBlock, MEMPOOL_BLOCKS } from '../fees.js'

/** The number of blocks that a client receives at the start. */
const FIRST_BLOCKS = 8
/** The number of the newest transactions. */
const LATEST = 6
/** The transactions of a script in new blocks that a client receives. */
const MAX_OF_SCRIPT = 100
/** The time over which the inflow of transactions is averaged, in seconds. */
const INFLOW_SECONDS = 150
/** The number of transactions that may have entered in that time. */
const MAX_INFLOW = 5_000

/** The transactions and scripts of which some client wants the changes. */
export interface Interests {
  readonly txids: ReadonlySet<string>
  /** Hashes of scripts. */
  readonly scripts: ReadonlySet<string>
  readonly replacements: ReadonlySet<ReplacementsKind>
}

/** The kinds of lists of replacements: trees of all, or of those with a full one, and the summary. */
export type ReplacementsKind = 'all' | 'fullRbf' | 'summary'

/** A transaction that left the mempool. */
export interface Departed {
  readonly tx: ShownTx
  /** True if a block of the chain contains it. */
  readonly isMined: boolean
  /** The transaction of the mempool that spends one of its inputs now. */
  readonly replacedBy: string | undefined
}

/** State of chain and mempool, and its differences from the moment before. Texts are JSON. */
export interface Moment {
  readonly chain: ChainState
  readonly network: Network
  readonly mempool: MempoolTxs
  readonly projected: readonly ProjectedBlock[]
  /** The fields that are equal for all clients. */
  readonly fields: ReadonlyMap<SharedField, string>
  /** The blocks since the moment before, lowest first, at most `FIRST_BLOCKS`. */
  readonly newBlocks: readonly string[]
  /** The positions of transactions of interest in the projected blocks. */
  readonly places: ReadonlyMap<string, { readonly block: number; readonly before: number }>
  readonly entered: readonly ShownTx[]
  readonly departed: readonly Departed[]
  /** The transactions of interest that a block of the chain contains. */
  readonly confirmed: ReadonlySet<string>
  /** The lists of replacements of interest, if there are new ones. */
  readonly replacements: ReadonlyMap<ReplacementsKind, string>
  /** The transactions of scripts of interest in the blocks since the moment before, by the hash of the script. */
  readonly inBlocks: ReadonlyMap<string, readonly string[]>
}

/** The names of the fields that are equal for all clients. */
export const SHARED = [
  'mempoolInfo',
  'vBytesPerSecond',
  'blocks',
  'mempool-blocks',
  'transactions',
  'da',
  'fees',
] as const
export type SharedField = (typeof SHARED)[number]

/** Returns the moment of a state. @param before the moment before; undefined for the first. @param touched as in `Change`. */
export async function momentOf(
  context: ReadContext,
  before: Moment | undefined,
  { txids, scripts, replacements }: Interests,
  touched: ReadonlySet<string> | undefined,
): Promise<Moment> {
  const network = networkIn(context)
  const { chain, mempool } = context
  const projected = await projectedBlocks(context, network)
  const entered = before === undefined ? [] : mempool.notIn(before.mempool).filter(isNotIn(before.mempool))
  const left = before === undefined ? [] : before.mempool.notIn(mempool).filter(isNotIn(mempool))
  const isNewTip = before?.chain.tipHash !== chain.tipHash
  const fork = before === undefined ? chain.height : commonHeight(before.chain, chain)
  const wanted = isNewTip ? [...new Set([...txids, ...left.map(({ txid }) => txid)])] : []
  const confirmed = await confirmationsByTxid(context.tables, chain.blocks, wanted)
  const departed = left.map((tx) => ({
    tx,
    isMined: confirmed.has(tx.txid),
    replacedBy: tx.outpoints.map((each) => mempool.spenderOf(each)?.txid).find((each) => each !== undefined),
  }))
  const blocks = isNewTip ? await blocksDownFrom(context, chain.height) : undefined
  const fields = new Map<SharedField, string>([
    ['mempoolInfo', JSON.stringify(mempoolInfo(mempool, context.relayFees))],
    ['vBytesPerSecond', JSON.stringify(inflow(mempool))],
    ['transactions', JSON.stringify(mempool.newest(LATEST).map(latest))],
    ['mempool-blocks', JSON.stringify(projected.slice(0, MEMPOOL_BLOCKS).map(feesOfBlock))],
    ['blocks', blocks === undefined ? (before?.fields.get('blocks') ?? '[]') : `[${blocks.join(',')}]`],
    ['da', JSON.stringify(await difficultyAdjustment.resolve(context, {}))],
    ['fees', JSON.stringify(await feesOf(context, (rate) => rate))],
  ])
  const added = Math.min(chain.height - fork, FIRST_BLOCKS)
  return {
    chain,
    network,
    mempool,
    projected,
    fields,
    newBlocks: before === undefined || added === 0 ? [] : (blocks ?? []).slice(-added),
    places: positionsOf(projected, txids),
    entered,
    departed,
    replacements: departed.some(({ replacedBy }) => replacedBy !== undefined)
      ? await replacementLists(context, replacements)
      : new Map(),
    confirmed: new Set([...confirmed.keys()].filter((txid) => txids.has(txid))),
    inBlocks:
      before === undefined || !isNewTip
        ? new Map()
        : await inBlocksAbove(
            fork,
            [...scripts].filter((script) => touched === undefined || touched.has(script)),
            context,
          ),
  }
}

/** Returns the positions of transactions in projected blocks: the index of the block, and the virtual bytes before the transaction. */
export function positionsOf(
  projected: readonly ProjectedBlock[],
  txids: ReadonlySet<string>,
): Moment['places'] {
  const places = new Map<string, { readonly block: number; readonly before: number }>()
  if (txids.size === 0) return places
  for (const [block, { txs }] of projected.entries()) {
    let before = 0
    for (const { txid, vsize } of txs) {
      if (txids.has(txid)) places.set(txid, { block, before })
      before += vsize
    }
  }
  return places
}

const isNotIn = (txs: MempoolTxs) => (tx: ShownTx) => txs.get(tx.txid) === undefined

/** Returns lists of replacements as JSON. */
export async function replacementLists(
  context: ReadContext,
  kinds: ReadonlySet<ReplacementsKind>,
): Promise<ReadonlyMap<ReplacementsKind, string>> {
  const lists = new Map<ReplacementsKind, string>()
  for (const kind of kinds) {
    const trees = await newestTrees(context, kind === 'fullRbf')
    lists.set(kind, JSON.stringify(kind === 'summary' ? summaryOf(trees) : trees))
  }
  return lists
}

/** Returns the height of the highest block that both chains have. */
function commonHeight(one: ChainState, other: ChainState): number {
  let height = Math.min(one.height, other.height)
  while (height >= 0 && one.blocks.hashAt(height) !== other.blocks.hashAt(height)) height--
  return height
}

/** Returns the newest blocks as JSON, lowest first. */
async function blocksDownFrom(context: ReadContext, to: number): Promise<string[]> {
  const rows = await rowsBetween(context, Math.max(0, to - FIRST_BLOCKS + 1), to)
  return (await extendedBlocks(rows, context)).map((block) => JSON.stringify(block)).reverse()
}

/** Returns the transactions of scripts in the blocks above a height, newest first. */
async function inBlocksAbove(
  height: number,
  scripts: readonly string[],
  context: ReadContext,
): Promise<Map<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>()
  for (const script of scripts) {
    const page = await firstPage(context, script, MAX_OF_SCRIPT)
    const located = page.filter((each) => each.height > height)
    if (located.length > 0) found.set(script, await transactionsOfBlocks(located, context))
  }
  return found
}

/** The figures of the node's `getmempoolinfo` that the index has; rates in whole coins per 1,000 virtual bytes, as there. */
function mempoolInfo(mempool: MempoolTxs, relayFees: RelayFees | undefined) {
  const { vsize, fees } = mempool.totals()
  const { fee, vsize: of } = minimumOf(relayFees)
  const perKilobyte = (rate: bigint): number => Number(rate) / 1e8
  return {
    loaded: true,
    size: mempool.size,
    bytes: vsize,
    total_fee: Number(fees) / 1e8,
    mempoolminfee: perKilobyte((fee * 1_000n) / BigInt(of)),
    ...(relayFees?.minRelay === undefined ? {} : { minrelaytxfee: perKilobyte(relayFees.minRelay) }),
    ...(relayFees?.incremental === undefined
      ? {}
      : { incrementalrelayfee: perKilobyte(relayFees.incremental) }),
  }
}

/** Returns the virtual bytes that enter the mempool in a second, of those that are still there. */
function inflow(mempool: MempoolTxs): number {
  const since = Date.now() / 1_000 - INFLOW_SECONDS
  const recent = mempool.newest(MAX_INFLOW).filter(({ firstSeen }) => firstSeen > since)
  return Math.round(recent.reduce((sum, { vsize }) => sum + vsize, 0) / INFLOW_SECONDS)
}

const latest = (tx: ShownTx) => {
  const { fee, vsize } = effectiveOf(tx)
  return {
    txid: tx.txid,
    fee: Number(tx.fee),
    vsize: tx.vsize,
    value: Number(tx.value),
    rate: Number(fee) / vsize,
    time: tx.firstSeen,
  }
}

/** Returns an unconfirmed transaction as JSON, with mempool.space's further fields. */
export function extendedUnconfirmed(tx: ShownTx): string {
  const { fee, vsize } = effectiveOf(tx)
  const further = {
    vsize: tx.vsize,
    feePerVsize: Number(tx.fee) / tx.vsize,
    effectiveFeePerVsize: Number(fee) / vsize,
    firstSeen: tx.firstSeen,
  }
  return `${unconfirmed(tx).slice(0, -1)},${JSON.stringify(further).slice(1)}`
}
