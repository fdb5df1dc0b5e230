import { Type } from '@sinclair/typebox'
import { feeRate } from '../../../../../pipelines/chain/feerate.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { type PackagedTx, repackaged } from '../../../../../pipelines/mempool/packages.js'
import type { ProjectableTx, ProjectedPackage } from '../../../../../pipelines/mempool/projection.js'
import { feeRatesOf } from '../../mempool/shown-tx.js'
import { MAX_PROJECTED_BLOCKS } from '../../state/projections.js'
import type { BlockRow } from '../../tables/blocks.js'
import { blockTxsIn, NO_WITNESS, storedOf, transactionAt, type TxRow } from '../../tables/transactions.js'
import { heightOrHash } from '../arguments.js'
import { findBlock } from '../chain/block-rows.js'
import { noBlock } from '../chain/blocks.js'
import { declareRead, networkIn, type ReadContext } from '../read.js'
import { BlockSummary, ProjectedBlockSummary } from '../shapes.js'
import { projectedBlocks } from '../fees/basis.js'
import { parentsOf, projectable } from './transaction-package.js'

/** The number of transactions that one lookup reads: their rows are in memory together. */
const AT_ONCE = 2_000
/** About the characters of a transaction of a list. */
const CHARACTERS = 160

/** A transaction of a block, with its row. */
export interface BlockMember {
  readonly tx: ProjectableTx
  readonly row: TxRow
}

/** Returns the transactions of a block in its order, without their witnesses. */
export async function blockMembers(
  { tables, size }: Pick<ReadContext, 'tables' | 'size'>,
  block: BlockRow,
  network: Network,
): Promise<BlockMember[]> {
  await size.reserve(CHARACTERS * block.txCount)
  const located = await blockTxsIn(tables, block, 0, block.txCount - 1)
  const members: BlockMember[] = []
  for (let from = 0; from < located.length; from += AT_ONCE) {
    const some = located.slice(from, from + AT_ONCE)
    const stored = await storedOf(tables, some, false)
    for (const at of some) {
      const row = await transactionAt(tables, at, stored, NO_WITNESS)
      members.push({ tx: projectable(row, network), row })
    }
  }
  return members
}

/**
 * Returns the packages in which a projection would take transactions of a block that are not taken alone, by txid. Those that are
 * connected to more than `MAX_CLUSTER` others have none, as in the mempool: their cost would grow with the square of their number.
 */
export function packagesInBlock(txs: readonly ProjectableTx[]): Map<string, ProjectedPackage> {
  const byTxid = new Map<string, PackagedTx>(txs.map((tx) => [tx.txid, tx]))
  const children = new Map<string, PackagedTx[]>()
  for (const tx of txs)
    for (const parent of parentsOf(tx)) {
      const others = children.get(parent)
      if (others === undefined) children.set(parent, [tx])
      else others.push(tx)
    }
  const graph = {
    get: (txid: string) => byTxid.get(txid),
    childrenOf: (txid: string) => children.get(txid) ?? [],
  }
  const changed = repackaged(byTxid.values(), graph)
  return new Map(changed.map(({ tx, packaged }) => [tx.txid, packaged ?? tx]))
}

export const blockSummary = declareRead({
  name: 'blockSummary',
  about: 'All transactions of a block in brief: size, fee and effective fee rate.',
  path: '/block/:heightOrHash/summary',
  fresh: 'objects',
  args: { heightOrHash },
  answer: BlockSummary,
  notFound: ['Block not found'],
  async resolve(context, { heightOrHash }) {
    const network = networkIn(context)
    const match = await findBlock(context.tables, context.chain, heightOrHash)
    if (match === undefined) throw noBlock(heightOrHash)
    const { height, hash } = match.row
    context.validity.dependsOn(hash)
    context.validity.finalFrom(height)
    const members = await blockMembers(context, match.row, network)
    const packages = packagesInBlock(members.slice(1).map(({ tx }) => tx))
    const items = members.map(({ tx, row }) => {
      const rated = packages.get(tx.txid) ?? tx
      return {
        txid: tx.txid,
        fee: tx.fee.toString(),
        vsize: tx.vsize,
        effective_fee_rate: feeRate(rated.fee, rated.vsize),
        is_dilithium: row.isDilithium,
      }
    })
    return { hash, height, canonical: match.canonical, items }
  },
})

export const projectedBlock = declareRead({
  name: 'projectedBlock',
  about: 'All transactions of a block that miners would build from the mempool now, in brief.',
  path: '/mempool/blocks/txs',
  fresh: 'mempool',
  args: {
    block: Type.Integer({
      minimum: 1,
      maximum: MAX_PROJECTED_BLOCKS,
      default: 1,
      description: 'number of the block, 1 for the next one',
    }),
  },
  answer: ProjectedBlockSummary,
  async resolve(context, { block }) {
    const { chain, mempool, size } = context
    const blocks = chain.network === undefined ? [] : await projectedBlocks(context, chain.network)
    const txs = blocks[block - 1]?.txs ?? []
    await size.reserve(CHARACTERS * txs.length)
    const items = txs.flatMap(({ txid }) => {
      // The blocks of a large mempool may be those of an earlier one: a transaction may have left since.
      const tx = mempool.get(txid)
      if (tx === undefined) return []
      const { fee, vsize, isDilithium } = tx
      const item = { fee: fee.toString(), vsize, effective_fee_rate: feeRatesOf(tx).effective }
      return [{ txid, ...item, is_dilithium: isDilithium }]
    })
    return { block, items }
  },
})
