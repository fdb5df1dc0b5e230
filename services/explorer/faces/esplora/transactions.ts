import { Type } from '@sinclair/typebox'
import { merkleBranch, serializeHeader } from '../../../../pipelines/chain/block.js'
import { merkleBlock } from '../../../../pipelines/chain/forms/merkle-block.js'
import { declareRead, NEVER, NotFound, type ReadContext } from '../../core/reads/read.js'
import { findBlock } from '../../core/reads/chain/block-rows.js'
import { rawTransaction } from '../../core/reads/chain/raw-transaction.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import type { ConfirmedTx } from '../../core/tables/lookups.js'
import { blockTxsBetween, confirmationsByTxid, finalHeightOf } from '../../core/tables/transactions.js'
import { hashIn, text } from './arguments.js'
import { statusAt, transactionNow } from './transaction-rows.js'
import { UNCONFIRMED } from './transaction-json.js'

const args = { txid: text('txid of the transaction') }
const NOT_FOUND = 'Transaction not found'
const UNPROVEN = 'Transaction not found or is unconfirmed'

export const transaction = declareRead({
  name: 'esploraTransaction',
  path: '/tx/:txid',
  fresh: 'objects',
  args,
  answer: Type.Unknown(),
  async resolve(context, { txid }) {
    const json = await transactionNow(hashIn(txid), context)
    if (json === undefined) throw new NotFound(NOT_FOUND)
    return new WrittenAnswer(json)
  },
})

/** Finds the block of a transaction; undefined if it is unconfirmed, or not known. */
async function confirmationOf(txid: string, context: ReadContext): Promise<ConfirmedTx | undefined> {
  const { tables, chain, mempool, validity } = context
  validity.dependsOn(txid)
  if (mempool.get(txid) !== undefined) return undefined
  return (await confirmationsByTxid(tables, chain.blocks, [txid])).get(txid)
}

export const status = declareRead({
  name: 'esploraStatus',
  path: '/tx/:txid/status',
  fresh: 'objects',
  args,
  answer: Type.Object({ confirmed: Type.Boolean() }),
  // A transaction that is not known is not confirmed, unless a block that the index lacks may contain it.
  emptyFrom: ({ txid }, { confirmed }) => (confirmed || txid === '' ? undefined : 0),
  async resolve(context, { txid: requested }) {
    const txid = hashIn(requested)
    const row = await confirmationOf(txid, context)
    if (row !== undefined) {
      context.validity.finalFrom(finalHeightOf(row))
      return new WrittenAnswer<{ confirmed: boolean }>(statusAt(row.height, context.chain))
    }
    context.validity.finalFrom(NEVER)
    if (context.mempool.get(txid) !== undefined) return new WrittenAnswer<{ confirmed: boolean }>(UNCONFIRMED)
    return { confirmed: false }
  },
})

export const transactionHex = declareRead({
  name: 'esploraTransactionHex',
  path: '/tx/:txid/hex',
  fresh: 'objects',
  args,
  answer: Type.String(),
  resolve: async (context, { txid }) => (await rawTransaction(hashIn(txid), context)).toString('hex'),
})

export const transactionRaw = declareRead({
  name: 'esploraTransactionRaw',
  path: '/tx/:txid/raw',
  fresh: 'objects',
  args,
  answer: Type.Unknown(),
  resolve: (context, { txid }) => rawTransaction(hashIn(txid), context),
})

/** Finds a confirmed transaction, and the ids of all transactions of its block. @throws NotFound. */
async function inBlock(requested: string, context: ReadContext) {
  const { tables, chain, validity } = context
  const row = await confirmationOf(hashIn(requested), context)
  if (row === undefined) throw new NotFound(UNPROVEN)
  const { height, txIndex } = row
  const hash = chain.blocks.hashAt(height)
  const located = await blockTxsBetween(tables.unchecked, { height, hash }, 0, 0xffff_ffff)
  validity.finalFrom(finalHeightOf(row))
  return { height, hash, txIndex, txids: located.map(({ txid }) => txid) }
}

export const merkleProof = declareRead({
  name: 'esploraMerkleProof',
  path: '/tx/:txid/merkle-proof',
  fresh: 'objects',
  args,
  answer: Type.Unknown(),
  async resolve(context, { txid }) {
    const { height, txIndex, txids } = await inBlock(txid, context)
    return { block_height: height, merkle: merkleBranch(txids, txIndex), pos: txIndex }
  },
})

export const merkleBlockProof = declareRead({
  name: 'esploraMerkleBlockProof',
  path: '/tx/:txid/merkleblock-proof',
  fresh: 'objects',
  args,
  answer: Type.String(),
  async resolve(context, { txid }) {
    const { height, txIndex, txids } = await inBlock(txid, context)
    const block = await findBlock(context.tables, context.chain, String(height))
    if (block === undefined) throw new NotFound(UNPROVEN)
    return merkleBlock(serializeHeader(block.row), txids, txIndex).toString('hex')
  },
})
