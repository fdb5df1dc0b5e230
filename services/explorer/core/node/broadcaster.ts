import { coded } from '../../../../pipelines/errors.js'
import {
  isRpcError,
  RPC_DESERIALIZATION_ERROR,
  RPC_TRANSACTION_ALREADY_IN_CHAIN,
  RPC_TRANSACTION_ERROR,
  RPC_TRANSACTION_REJECTED,
} from '../../../../pipelines/node/errors.js'
import type { NodeConnection } from './node-connection.js'

/** The node has rejected a transaction; the message is its reason. */
export class TxRejected extends coded('HW_TX_REJECTED') {}

/** The errors that are about the transaction. Others mean that the node cannot be used for this. */
const VERDICTS = [
  RPC_DESERIALIZATION_ERROR,
  RPC_TRANSACTION_ERROR,
  RPC_TRANSACTION_REJECTED,
  RPC_TRANSACTION_ALREADY_IN_CHAIN,
]
const isVerdict = (error: unknown): boolean => isRpcError(error, ...VERDICTS)

/** Sends transactions to the node. */
export class Broadcaster {
  constructor(private readonly node: Pick<NodeConnection, 'call'>) {}

  /** Sends a transaction. Succeeds too if it is in the node's mempool, or its outputs are in the chain. @throws TxRejected, NodeUnavailable. */
  async send(raw: Uint8Array, txid: string): Promise<void> {
    try {
      await this.node.call((client, signal) => client.sendTransaction(raw, signal), isVerdict)
    } catch (error) {
      if (isRpcError(error, RPC_TRANSACTION_ALREADY_IN_CHAIN)) return
      if (!isRpcError(error, RPC_DESERIALIZATION_ERROR, RPC_TRANSACTION_ERROR, RPC_TRANSACTION_REJECTED))
        throw error
      // The same transaction with another witness.
      const [entry] = await this.node.call(
        (client, signal) => client.mempoolEntries([txid], signal),
        isVerdict,
      )
      if (entry === undefined) throw new TxRejected(error.reason)
    }
  }
}
