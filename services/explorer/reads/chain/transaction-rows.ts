import { ByteReader } from '../../../../pipelines/chain/bytes.js'
import { decodePrevouts } from '../../../../pipelines/chain/prevout.js'
import { readTx } from '../../../../pipelines/chain/transaction.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import { outputPrefix } from '../../tables/point-keys.js'
import type { BlockTx, Spend, TxRow } from '../../tables/tables.js'
import { transactionsByTxid, transactionsOf } from '../../tables/transactions.js'
import { NotFound, type ReadContext } from '../read.js'
import type { Transaction } from '../shapes.js'
import { WrittenAnswer } from '../written-answer.js'
import { transactionJson } from './transaction-json.js'

type Sources = Pick<ReadContext, 'chain' | 'tables' | 'validity'>

/** The block of transactions that may not be on the chain. */
interface Replaceable {
  readonly hash: string
  /** Unix seconds. */
  readonly time: number
}

/**
 * Returns transactions of blocks as JSON of shape `Transaction`, in their order.
 * @param full true to include script_sig and witness in inputs.
 * @param block the block of all of them; undefined if they are on the chain.
 */
export async function transactionsAt(
  located: readonly BlockTx[],
  { chain, tables, validity }: Sources,
  full: boolean,
  block?: Replaceable,
): Promise<string[]> {
  const [rows, spends] = await Promise.all([
    transactionsOf(tables, located),
    tables.spends.getAll(located.map(({ txid }) => outputPrefix(txid))),
  ])
  return rows.map((row) =>
    confirmed(row, spends.get(outputPrefix(row.txid)) ?? [], { chain, validity }, full, block),
  )
}

/**
 * Returns a transaction of the mempool or of the chain.
 * @param requested its txid, in upper or lower case.
 * @throws NotFound.
 */
export async function transactionNow(
  requested: string,
  context: ReadContext,
): Promise<WrittenAnswer<Transaction>> {
  const txid = requested.toLowerCase()
  const inMempool = context.mempool.get(txid)
  if (inMempool !== undefined) {
    context.validity.dependsOn(txid)
    return new WrittenAnswer(unconfirmed(inMempool))
  }
  const json = await transactionById(txid, context)
  if (json === undefined) throw new NotFound('Transaction not found')
  return new WrittenAnswer(json)
}

/** Returns a transaction of the chain; undefined if the chain does not contain it. */
async function transactionById(
  txid: string,
  { chain, tables, validity }: Sources,
): Promise<string | undefined> {
  const [rows, spends] = await Promise.all([
    transactionsByTxid(tables, chain.blocks, [txid]),
    tables.spends.get(outputPrefix(txid)),
  ])
  const row = rows.get(txid)
  return row === undefined ? undefined : confirmed(row, spends ?? [], { chain, validity }, true)
}

function confirmed(
  row: TxRow,
  spends: readonly Spend[],
  { chain: { network, blocks }, validity }: Pick<ReadContext, 'chain' | 'validity'>,
  full: boolean,
  block: Replaceable = { hash: blocks.hashAt(row.height), time: blocks.timeAt(row.height) },
): string {
  if (network === undefined) throw new Error('the network of the chain is unknown')
  const { txid, body, witness, height, txIndex, isDilithium } = row
  const { json, spentFrom } = transactionJson({
    ...{ txid, body, witness, isDilithium, network, full },
    block: { hash: block.hash, height, txIndex },
    time: block.time,
    coins: decodePrevouts(row.prevouts),
    spends: spends.filter((spend) => blocks.has(spend.height, spend.blockTag)),
  })
  validity.dependsOn(txid)
  validity.finalFrom(Math.max(height, spentFrom))
  return json
}

/** Returns an unconfirmed transaction. Unconfirmed spends of its outputs are not included. */
function unconfirmed({ raw, txid, coins, fee, isDilithium, network, firstSeen }: ShownTx): string {
  const { body, witness } = readTx(new ByteReader(raw))
  return transactionJson({
    ...{ txid, body, witness, coins, fee, isDilithium, network },
    ...{ block: undefined, time: firstSeen, spends: [], full: true },
  }).json
}
