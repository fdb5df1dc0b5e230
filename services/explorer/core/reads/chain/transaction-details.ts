import { isoTime } from '../../../../../pipelines/chain/time.js'
import { merkleBranch, merkleRoot } from '../../../../../pipelines/chain/block.js'
import { ByteReader } from '../../../../../pipelines/chain/bytes.js'
import { isUnspendable } from '../../../../../pipelines/chain/script.js'
import { parseBody, readTx, type Tx, withWitnesses } from '../../../../../pipelines/chain/transaction.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import { spendersOf } from '../../mempool/spenders.js'
import { outputPrefix } from '../../tables/point-keys.js'
import type { ConfirmedTx } from '../../tables/lookups.js'
import {
  allSpends,
  blockTxsBetween,
  NO_WITNESS,
  confirmationsByTxid,
  spendsIn,
  withTxids,
  transactionByTxid,
  finalHeightOf,
} from '../../tables/transactions.js'
import { at, hash } from '../arguments.js'
import { declareRead, NO_BLOCK, NotFound, type ReadContext } from '../read.js'
import { MerkleProof, type Outspend, Outspends, TransactionHex, TransactionStatus } from '../shapes.js'

const args = { txid: hash }
/** About the characters of an item of `transactionOutspends`. */
const OUTSPEND_CHARACTERS = 150
const NOTHING = Buffer.alloc(0)

/** A transaction of the mempool, or what a lookup has found of one of the chain. */
type FoundTx<T> = { readonly unconfirmed: ShownTx } | { readonly unconfirmed?: never; readonly row: T }

/** Finds a transaction of the mempool or of the chain. @param lookUp finds it in the chain. @throws NotFound. */
export async function findTransaction<T>(
  requested: string,
  { mempool, validity }: ReadContext,
  lookUp: (txid: string) => Promise<T | undefined>,
): Promise<FoundTx<T>> {
  const txid = requested.toLowerCase()
  validity.dependsOn(txid)
  const unconfirmed = mempool.get(txid)
  if (unconfirmed !== undefined) return { unconfirmed }
  const row = await lookUp(txid)
  if (row === undefined) throw new NotFound('Transaction not found')
  return { row }
}

/** Finds a transaction, and if it is confirmed its block. @throws NotFound. */
function findConfirmed(requested: string, context: ReadContext): Promise<FoundTx<ConfirmedTx>> {
  const { tables, chain } = context
  return findTransaction(requested, context, async (txid) =>
    (await confirmationsByTxid(tables, chain.blocks, [txid])).get(txid),
  )
}

export const transactionHex = declareRead({
  name: 'transactionHex',
  about: 'The serialisation of a transaction, including its witnesses.',
  path: '/tx/:txid/hex',
  fresh: 'objects',
  args,
  answer: TransactionHex,
  notFound: ['Transaction not found'],
  async resolve(context, { txid }) {
    const { tables, chain, size } = context
    const match = await findTransaction(txid, context, (key) =>
      transactionByTxid(tables, chain.blocks, key, undefined, ({ bodySize, witnessSize }) =>
        size.reserve(2 * (bodySize + witnessSize)),
      ),
    )
    if (match.unconfirmed !== undefined)
      return { txid: match.unconfirmed.txid, hex: match.unconfirmed.raw.toString('hex') }
    const { body, witness = NOTHING, height } = match.row
    size.add(2 * (body.length + witness.length))
    context.validity.finalFrom(height)
    return { txid: match.row.txid, hex: Buffer.from(withWitnesses(body, witness)).toString('hex') }
  },
})

export const transactionStatus = declareRead({
  name: 'transactionStatus',
  about: 'Whether a transaction is confirmed, and by which block.',
  path: '/tx/:txid/status',
  fresh: 'objects',
  args: { ...args, at },
  answer: TransactionStatus,
  notFound: ['Transaction not found', NO_BLOCK],
  async resolve(context, { txid }) {
    const match = await findConfirmed(txid, context)
    if (match.unconfirmed !== undefined) {
      const { firstSeen } = match.unconfirmed
      const nowhere = { block_hash: null, block_height: null, tx_index: null }
      return { txid: match.unconfirmed.txid, confirmed: false, ...nowhere, timestamp: isoTime(firstSeen) }
    }
    const { height, txIndex } = match.row
    const { blocks } = context.chain
    context.validity.finalFrom(finalHeightOf(match.row))
    return {
      txid: match.row.txid,
      confirmed: true,
      block_hash: blocks.hashAt(height),
      block_height: height,
      tx_index: txIndex,
      timestamp: isoTime(blocks.timeAt(height)),
    }
  },
})

export const transactionOutspends = declareRead({
  name: 'transactionOutspends',
  about: 'The inputs that spend the outputs of a transaction, confirmed or not.',
  path: '/tx/:txid/outspends',
  fresh: 'objects',
  args: { ...args, at },
  answer: Outspends,
  notFound: ['Transaction not found', NO_BLOCK],
  async resolve(context, { txid: requested }) {
    const { chain, tables, mempool, validity, size } = context
    const match = await findTransaction(requested, context, (key) =>
      transactionByTxid(tables, chain.blocks, key, NO_WITNESS),
    )
    const tx: Pick<Tx, 'txid' | 'outputs'> =
      match.unconfirmed === undefined
        ? parseBody(match.row.body)
        : readTx(new ByteReader(match.unconfirmed.raw))
    const { txid, outputs } = tx
    await size.reserve(OUTSPEND_CHARACTERS * outputs.length)
    size.add(OUTSPEND_CHARACTERS * outputs.length)
    const rows =
      match.unconfirmed === undefined
        ? await allSpends(tables, txid, await tables.spends.get(outputPrefix(txid)))
        : []
    const own = match.unconfirmed === undefined ? await spendsIn(tables, chain.blocks, match.row, rows) : []
    const named = await withTxids(tables, own)
    const confirmed = new Map(named.map((spend) => [spend.prevVout, spend]))
    const spenders = spendersOf(mempool, tx)
    const items = outputs.map(({ script }, vout): Outspend => {
      const spend = confirmed.get(vout)
      if (spend === undefined) {
        const { txid: spentTxid = null, vin = null } = spenders.get(vout) ?? {}
        if (!isUnspendable(script)) validity.finalFrom(Number.POSITIVE_INFINITY)
        return { vout, spent: spentTxid !== null, spent_txid: spentTxid, spent_vin: vin, block_height: null }
      }
      validity.finalFrom(spend.height)
      return { vout, spent: true, spent_txid: spend.txid, spent_vin: spend.vin, block_height: spend.height }
    })
    if (match.unconfirmed === undefined) validity.finalFrom(finalHeightOf(match.row))
    else validity.finalFrom(Number.POSITIVE_INFINITY)
    return { txid, items }
  },
})

export const transactionMerkleProof = declareRead({
  name: 'transactionMerkleProof',
  about: 'The hashes that prove that a block contains a transaction.',
  path: '/tx/:txid/merkle-proof',
  fresh: 'objects',
  args,
  answer: MerkleProof,
  notFound: ['Transaction not found', 'Transaction is not confirmed'],
  async resolve(context, { txid: requested }) {
    const { chain, tables, validity } = context
    const match = await findConfirmed(requested, context)
    if (match.unconfirmed !== undefined) throw new NotFound('Transaction is not confirmed')
    const { txid, height, txIndex } = match.row
    const hash = chain.blocks.hashAt(height)
    const located = await blockTxsBetween(tables.unchecked, { height, hash }, 0, 0xffff_ffff)
    const txids = located.map((each) => each.txid)
    validity.finalFrom(finalHeightOf(match.row))
    return {
      txid,
      block_hash: hash,
      block_height: height,
      tx_index: txIndex,
      merkle_root: merkleRoot(txids),
      merkle: merkleBranch(txids, txIndex),
    }
  },
})
