import { withWitnesses } from '../../../../../pipelines/chain/transaction.js'
import { transactionByTxid, type TxRow } from '../../tables/transactions.js'
import type { ReadContext } from '../read.js'
import { findTransaction } from './transaction-details.js'

const NOTHING = Buffer.alloc(0)

/** Returns the serialisation of a transaction of the chain with its witnesses. */
export const bytesOf = ({ body, witness = NOTHING }: Pick<TxRow, 'body' | 'witness'>): Uint8Array =>
  witness.length === 0 ? body : withWitnesses(body, witness)

/** Returns the serialisation of a transaction of chain or mempool, and records how long it is valid. @throws NotFound. */
export async function rawTransaction(txid: string, context: ReadContext): Promise<Buffer> {
  const { tables, chain, size, validity } = context
  const match = await findTransaction(txid, context, (key) =>
    transactionByTxid(tables, chain.blocks, key, undefined, ({ bodySize, witnessSize }) =>
      size.reserve(2 * (bodySize + witnessSize)),
    ),
  )
  if (match.unconfirmed !== undefined) return match.unconfirmed.raw
  validity.finalFrom(match.row.height)
  return Buffer.from(bytesOf(match.row))
}
