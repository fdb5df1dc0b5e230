import type { Logger } from '../../../pipelines/logger.js'
import {
  RetrievalService,
  type PassagesResponse,
  type SearchResponse,
  type StatusResponse,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { rpcClient, type RpcClient } from '../../rpc/client.js'
import { Refusal } from '../ask/reply.js'

/** The worker is not there, or too slow. */
export class RetrievalUnavailable extends Refusal {
  constructor(cause: unknown) {
    super('HW_RETRIEVAL_UNAVAILABLE', 'Search is not available now', { 'retry-after': '1' }, {}, { cause })
  }
}

const SEARCH_TIMEOUT_MS = 5_000
const STATUS_TIMEOUT_MS = 1_000
/** A longer one says nothing more to a ranking. */
const MOST_QUERY = 1_000

/** The retrieval worker, as the docs service asks it. */
export class Retrieval {
  readonly #client: RpcClient<typeof RetrievalService>
  readonly #logger: Logger
  #isUnavailable = false

  /** @param address `host:port`. */
  constructor(address: string, logger: Logger) {
    this.#client = rpcClient(RetrievalService, address)
    this.#logger = logger
  }

  /** @throws RetrievalAway. */
  search(
    request: { query: string; limit: number; tag: string },
    signal: AbortSignal,
  ): Promise<SearchResponse> {
    const query = request.query.slice(0, MOST_QUERY)
    return this.#call(
      () => this.#client.search({ ...request, query }, { timeoutMs: SEARCH_TIMEOUT_MS, signal }),
      signal,
    )
  }

  /** @throws RetrievalAway. */
  passages(query: string, limit: number, signal: AbortSignal): Promise<PassagesResponse> {
    const request = { query: query.slice(0, MOST_QUERY), limit }
    return this.#call(() => this.#client.passages(request, { timeoutMs: SEARCH_TIMEOUT_MS, signal }), signal)
  }

  /** Undefined where the worker is away. */
  async status(): Promise<StatusResponse | undefined> {
    try {
      return await this.#call(() => this.#client.status({}, { timeoutMs: STATUS_TIMEOUT_MS }))
    } catch {
      return undefined
    }
  }

  close(): void {
    this.#client.close()
  }

  /** Says once that the worker has gone, and once that it is back. */
  async #call<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      const answer = await ask()
      if (this.#isUnavailable) this.#logger.info({}, 'retrieval worker reachable again')
      this.#isUnavailable = false
      return answer
    } catch (error) {
      if (signal?.aborted === true) throw error
      const why = error instanceof Error ? error.message : String(error)
      if (!this.#isUnavailable)
        this.#logger.warn({ code: 'HW_RETRIEVAL_UNAVAILABLE', why }, 'retrieval worker unreachable')
      this.#isUnavailable = true
      throw new RetrievalUnavailable(error)
    }
  }
}
