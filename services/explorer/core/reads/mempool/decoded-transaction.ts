import { sumOf } from '../../../../../pipelines/chain/amount.js'
import { resolveCoins } from '../../mempool/coins.js'
import { isResolved, shownTx, type ShownTx } from '../../mempool/shown-tx.js'
import { networkIn, type ReadContext } from '../read.js'
import type { Transaction } from '../shapes.js'
import { unconfirmed } from '../chain/transaction-rows.js'

/** The number of inputs up to which the outputs that they spend are looked up. */
const MAX_LOOKUPS = 1_000

/** A transaction that neither chain nor mempool need contain. */
export interface DecodedTransaction {
  /** Without its time; fee and input value count only if all outputs that it spends are known. */
  readonly tx: Transaction
  /** False if an output that it spends is neither in the chain nor in the mempool, or if there are too many to look up. */
  readonly isResolved: boolean
  /** The unconfirmed transactions that spend one of the same outputs. */
  readonly conflicts: readonly ShownTx[]
}

/**
 * Decodes a transaction, with the outputs that it spends as far as chain and mempool have them.
 * @throws RangeError for bytes that are not exactly one transaction; DatabaseUnavailable.
 */
export async function decodedTransaction(raw: Buffer, context: ReadContext): Promise<DecodedTransaction> {
  const { mempool, tables } = context
  const bare = shownTx({ raw, fee: 0n, firstSeen: 0, network: networkIn(context) })
  const [found = bare] =
    bare.outpoints.length > MAX_LOOKUPS ? [] : await resolveCoins([bare], (txid) => mempool.get(txid), tables)
  const fee = sumOf(found.coins) - found.value
  const spenders = bare.outpoints.map((outpoint) => mempool.spenderOf(outpoint))
  return {
    tx: JSON.parse(unconfirmed({ ...found, fee }, context)) as Transaction,
    isResolved: isResolved(found),
    conflicts: [...new Set(spenders)].filter(
      (each) => each !== undefined && each.txid !== bare.txid,
    ) as ShownTx[],
  }
}
