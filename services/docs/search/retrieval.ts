import type { Logger } from '../../../pipelines/logger.js'
import {
  RetrievalService,
  type PassagesResponse,
  type SearchResponse,
  type StatusResponse,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { rpcClient, type RpcClient } from '../../rpc/client.js'
import { Refusal } from '../http/reply.js'

/** Thrown if the retrieval worker is unreachable or too slow. */
export class RetrievalUnavailable extends Refusal {
  constructor(cause: unknown) {
    super('HW_RETRIEVAL_UNAVAILABLE', 'Search is not available now', { 'retry-after': '1' }, {}, { cause })
  }
}

const SEARCH_TIMEOUT_MS = 5_000
const STATUS_TIMEOUT_MS = 1_000
/** The maximum length of a query, in characters. A longer one does not improve the ranking. */
const MAX_QUERY = 1_000

/** The client of the retrieval worker. */
export class Retrieval {
  readonly #client: RpcClient<typeof RetrievalService>
  readonly #logger: Logger
  #isUnavailable = false

  /** @param address `host:port`. */
  constructor(address: string, logger: Logger) {
    this.#client = rpcClient(RetrievalService, address)
    this.#logger = logger
  }

  /** Returns the pages that match a query, with their hits. @throws RetrievalUnavailable. */
  search(
    request: { query: string; limit: number; tag: string; lang: string },
    signal: AbortSignal,
  ): Promise<SearchResponse> {
    const query = request.query.slice(0, MAX_QUERY)
    return this.#call(
      () => this.#client.search({ ...request, query }, { timeoutMs: SEARCH_TIMEOUT_MS, signal }),
      signal,
    )
  }

  /** Returns the passages that match a query best. @param lang a BCP 47 tag; empty for the main one. @throws RetrievalUnavailable. */
  passages(query: string, limit: number, signal: AbortSignal, lang = ''): Promise<PassagesResponse> {
    const request = { query: query.slice(0, MAX_QUERY), limit, lang }
    return this.#call(() => this.#client.passages(request, { timeoutMs: SEARCH_TIMEOUT_MS, signal }), signal)
  }

  /** Returns the status of the worker; undefined if it is unreachable. */
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

  /** Runs a call. Logs once that the worker is unreachable, and once that it is reachable again. */
  async #call<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      const answer = await call()
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
