import { type Static, Type } from '@sinclair/typebox'
import { parseTx } from '../../../../pipelines/chain/transaction.js'
import { badArgument, parseArguments, type RawArgument } from '../reads/arguments.js'
import type { State } from '../state/state.js'
import type { Tables } from '../tables/tables.js'
import { confirmationsByTxid } from '../tables/transactions.js'
import { type Broadcaster, TxRejected } from '../node/broadcaster.js'

/** The maximum size of a transaction, in bytes: more than any that a node relays. */
export const MAX_TX_BYTES = 1_000_000

/** The declaration of the command that broadcasts a transaction. It is not a read: it is never cached, and answers are not shared. */
export const sendTransaction = {
  name: 'sendTransaction',
  about: 'Sends a transaction to the node, which relays it. Succeeds too if mempool or chain contain it.',
  path: '/tx/send',
  method: 'POST',
  args: {
    hex: Type.String({
      pattern: '^([0-9a-fA-F]{2})+$',
      maxLength: 2 * MAX_TX_BYTES,
      description: 'the complete serialisation of the transaction',
      allowed: 'a serialised transaction in hexadecimal',
    }),
  },
  answer: Type.Object({ txid: Type.String({ description: '64 hexadecimal characters' }) }),
} as const

/**
 * Sends the transaction in the arguments of a request.
 * @throws BadArgument, TxRejected, NodeUnavailable; DatabaseUnavailable if it is not known whether the chain contains a transaction
 *   that the node has rejected.
 */
export type SendTransaction = (
  argument: (name: string) => RawArgument,
) => Promise<Static<typeof sendTransaction.answer>>

interface Sources {
  readonly state: Pick<State, 'chain' | 'mempool'>
  readonly tables: Tables
}

/** Returns the command that sends transactions by a broadcaster. */
export function transactionSender(broadcaster: Broadcaster, sources: Sources): SendTransaction {
  return async (argument) => {
    // Files and terminals end with a line break.
    const trimmed = (name: string): RawArgument => {
      const value = argument(name)
      return typeof value === 'string' ? value.trim() : value
    }
    const { hex } = parseArguments(sendTransaction.args, trimmed) as { hex: string }
    const raw = Buffer.from(hex, 'hex')
    const txid = txidOf(raw)
    try {
      await broadcaster.send(raw, txid)
    } catch (error) {
      // The node does not recognise a confirmed transaction whose outputs have all been spent.
      if (!(error instanceof TxRejected) || !(await isKnown(txid, sources))) throw error
    }
    return { txid }
  }
}

function txidOf(raw: Buffer): string {
  try {
    return parseTx(raw).txid
  } catch (error) {
    if (error instanceof RangeError) throw badArgument('hex', sendTransaction.args.hex)
    throw error
  }
}

async function isKnown(txid: string, { state, tables }: Sources): Promise<boolean> {
  if (state.mempool.snapshot().get(txid) !== undefined) return true
  return (await confirmationsByTxid(tables, state.chain.blocks, [txid])).has(txid)
}
