import { Type } from '@sinclair/typebox'
import { merkleBranch } from '../../../../../pipelines/chain/block.js'
import { NodeRpcError } from '../../../../../pipelines/node/errors.js'
import { rawTransaction } from '../../../core/reads/chain/raw-transaction.js'
import { findTransaction } from '../../../core/reads/chain/transaction-details.js'
import { declareRead, NEVER, NotFound, type ReadContext } from '../../../core/reads/read.js'
import { WrittenAnswer } from '../../../core/reads/written-answer.js'
import { blockTxsBetween, confirmationsByTxid } from '../../../core/tables/transactions.js'
import { text } from './arguments.js'

const args = { txid: text('txid of the transaction') }
/** The node's text, which clients may look for. */
const NOT_FOUND = 'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.'

/** Names a missing transaction as the node does. @throws NotFound, and the other errors of `make`. */
async function withNodeText<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof NotFound) throw new NotFound(NOT_FOUND, error.from)
    throw error
  }
}

export const transaction = declareRead({
  name: 'electrumTransaction',
  path: '/electrum/transaction',
  fresh: 'objects',
  args,
  answer: Type.Unknown(),
  resolve: (context, { txid }) =>
    withNodeText(async () => new WrittenAnswer(`"${(await rawTransaction(txid, context)).toString('hex')}"`)),
})

/** A transaction as the node describes it: the form of its own RPC is part of the protocol. */
export const verboseTransaction = declareRead({
  name: 'electrumVerboseTransaction',
  path: '/electrum/verbose-transaction',
  fresh: 'mempool',
  args,
  answer: Type.Unknown(),
  resolve: (context, { txid }) =>
    withNodeText(async () => {
      const { tables, chain, node } = context
      const match = await findTransaction(txid, context, async (key) =>
        (await confirmationsByTxid(tables, chain.blocks, [key])).get(key),
      )
      const hash = match.unconfirmed === undefined ? chain.blocks.hashAt(match.row.height) : undefined
      try {
        return await node.transaction(txid, hash)
      } catch (error) {
        if (error instanceof NodeRpcError) throw new NotFound(error.reason, NEVER)
        throw error
      }
    }),
})

/** Returns the txids of the block at a height. @throws NotFound. */
async function txidsAt({ chain, tables, validity }: ReadContext, height: number): Promise<readonly string[]> {
  if (height > chain.height) throw new NotFound(`height ${String(height)} out of range`, height)
  const hash = chain.blocks.hashAt(height)
  validity.dependsOn(hash)
  validity.finalFrom(height)
  const located = await blockTxsBetween(tables.unchecked, { height, hash }, 0, 0xffff_ffff)
  return located.map(({ txid }) => txid)
}

export const merkleProof = declareRead({
  name: 'electrumMerkleProof',
  path: '/electrum/merkle-proof',
  fresh: 'objects',
  args: { ...args, height: text('height of its block') },
  answer: Type.Unknown(),
  async resolve(context, { txid, height }) {
    const txids = await txidsAt(context, Number(height))
    const pos = txids.indexOf(txid)
    if (pos < 0) throw new NotFound(`tx ${txid} not in block at height ${height}`, NEVER)
    return { block_height: Number(height), merkle: merkleBranch(txids, pos), pos }
  },
})

export const transactionAtPosition = declareRead({
  name: 'electrumTransactionAtPosition',
  path: '/electrum/transaction-at-position',
  fresh: 'objects',
  args: {
    height: text('height of the block'),
    position: text('index of the transaction'),
    withBranch: Type.Boolean({ description: 'whether the answer proves it' }),
  },
  answer: Type.Unknown(),
  async resolve(context, { height, position, withBranch }) {
    const txids = await txidsAt(context, Number(height))
    const txid = txids[Number(position)]
    if (txid === undefined)
      throw new NotFound(`no tx at position ${position} in block at height ${height}`, NEVER)
    return withBranch ? { tx_hash: txid, merkle: merkleBranch(txids, Number(position)) } : txid
  },
})
