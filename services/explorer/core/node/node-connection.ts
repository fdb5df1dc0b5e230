import { isDefect } from '../../../../pipelines/errors.js'
import { NodeClient } from '../../../../pipelines/node/client.js'
import { NodeRpcError, NodeUnavailable, RPC_IN_WARMUP } from '../../../../pipelines/node/errors.js'
import type { Logger } from '../../../../pipelines/logger.js'

export interface NodeConnectionOptions {
  /** Returns the URL of the node's RPC; undefined if it is not known. */
  readonly locate: () => Promise<string | undefined>
  readonly logger: Logger
}

/** The deadline of a call. A transaction may be accepted after it. */
const DEADLINE_MS = 5_000
const LOG_EVERY_MS = 1_000

/** Calls the node for clients; locates the node again after a failure. */
export class NodeConnection {
  readonly #options: NodeConnectionOptions
  #node: NodeClient | undefined
  #silentUntil = 0

  constructor(options: NodeConnectionOptions) {
    this.#options = options
  }

  /**
   * Calls the node.
   * @param isVerdict returns whether an error of the node is its answer, rather than a sign that it cannot be used now.
   * @throws NodeUnavailable if it does not answer; NodeRpcError with its verdict.
   */
  async call<R>(
    make: (node: NodeClient, signal: AbortSignal) => Promise<R>,
    isVerdict = (error: NodeRpcError): boolean => error.rpcCode !== RPC_IN_WARMUP,
  ): Promise<R> {
    try {
      const url = await this.#options.locate()
      if (url === undefined) throw new NodeUnavailable('no node was found')
      this.#node ??= new NodeClient(url, { timeoutMs: DEADLINE_MS, maxAttempts: 1 })
      return await make(this.#node, AbortSignal.timeout(DEADLINE_MS))
    } catch (error) {
      if (isDefect(error) || (error instanceof NodeRpcError && isVerdict(error))) throw error
      this.close()
      this.#log(error)
      throw new NodeUnavailable('node unreachable', { cause: error })
    }
  }

  /** Logs a failure, unless another one has just been logged: every request may call the node. */
  #log(error: unknown): void {
    if (performance.now() < this.#silentUntil) return
    this.#silentUntil = performance.now() + LOG_EVERY_MS
    this.#options.logger.warn({ err: error }, 'the node did not answer a call')
  }

  close(): void {
    this.#node?.close()
    this.#node = undefined
  }
}
