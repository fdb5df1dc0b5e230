import { coded, isDefect } from '../../../../pipelines/errors.js'
import { NodeClient } from '../../../../pipelines/node/client.js'
import {
  isRpcError,
  RPC_DESERIALIZATION_ERROR,
  RPC_TRANSACTION_ALREADY_IN_CHAIN,
  RPC_TRANSACTION_ERROR,
  RPC_TRANSACTION_REJECTED,
  NodeUnavailable,
} from '../../../../pipelines/node/errors.js'
import type { Logger } from '../../../../pipelines/logger.js'

/** The node has rejected a transaction; the message is its reason. */
export class TxRejected extends coded('HW_TX_REJECTED') {}

export interface BroadcasterOptions {
  /** Returns the URL of the node's RPC; undefined if it is not known. */
  readonly locate: () => Promise<string | undefined>
  readonly logger: Logger
}

/** The deadline of a call; afterwards the node may still accept the transaction. */
const DEADLINE_MS = 5_000

/** Sends transactions to the node; locates the node again after a failure. */
export class Broadcaster {
  readonly #options: BroadcasterOptions
  #node: NodeClient | undefined

  constructor(options: BroadcasterOptions) {
    this.#options = options
  }

  /** Sends a transaction. Succeeds too if it is in the node's mempool, or its outputs are in the chain. @throws TxRejected, NodeUnavailable. */
  async send(raw: Uint8Array, txid: string): Promise<void> {
    try {
      await this.#call((node, signal) => node.sendTransaction(raw, signal))
    } catch (error) {
      if (isRpcError(error, RPC_TRANSACTION_ALREADY_IN_CHAIN)) return
      if (!isRpcError(error, RPC_DESERIALIZATION_ERROR, RPC_TRANSACTION_ERROR, RPC_TRANSACTION_REJECTED))
        throw error
      // The same transaction with another witness.
      const [entry] = await this.#call((node, signal) => node.mempoolEntries([txid], signal))
      if (entry === undefined) throw new TxRejected(error.reason)
    }
  }

  close(): void {
    this.#node?.close()
    this.#node = undefined
  }

  /** Calls the node. @throws NodeUnavailable if it does not answer; NodeRpcError with its verdict about a transaction. */
  async #call<R>(make: (node: NodeClient, signal: AbortSignal) => Promise<R>): Promise<R> {
    try {
      const url = await this.#options.locate()
      if (url === undefined) throw new NodeUnavailable('no node was found')
      this.#node ??= new NodeClient(url, { timeoutMs: DEADLINE_MS, maxAttempts: 1 })
      return await make(this.#node, AbortSignal.timeout(DEADLINE_MS))
    } catch (error) {
      if (isDefect(error) || isRpcError(error, ...VERDICTS)) throw error
      this.close()
      this.#options.logger.warn({ err: error }, 'the node did not take a transaction')
      throw new NodeUnavailable('node unreachable', { cause: error })
    }
  }
}

/** The errors that are about the transaction. Others mean that the node cannot be used for this. */
const VERDICTS = [
  RPC_DESERIALIZATION_ERROR,
  RPC_TRANSACTION_ERROR,
  RPC_TRANSACTION_REJECTED,
  RPC_TRANSACTION_ALREADY_IN_CHAIN,
]
