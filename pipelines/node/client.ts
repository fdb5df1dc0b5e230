import { setTimeout as sleep } from 'node:timers/promises'
import type { Static, TSchema } from '@sinclair/typebox'
import type { Logger } from '../logger.js'
import { hexOf } from '../chain/hash.js'
import { backoffMs, CoolDown, NODE_BACKOFF, type Backoff } from './backoff.js'
import {
  type FaultKind,
  isRpcError,
  NodeFaultError,
  NodeRefusedError,
  NodeRpcError,
  RPC_IN_WARMUP,
  RPC_INVALID_PARAMETER,
  RPC_NOT_FOUND,
} from './errors.js'
import * as replies from './replies.js'
import { Transport, type HttpReply } from './transport.js'

/** One attempt of a request. */
export interface RpcAttempt {
  readonly method: string
  /** `error`: the node returned an error; `refused`: it denied access. */
  readonly outcome: 'ok' | 'error' | 'refused' | FaultKind
  readonly seconds: number
  /** The error of the attempt, undefined for `ok`. */
  readonly error: unknown
}

export interface NodeClientOptions {
  /** Timeout of one attempt, in milliseconds. */
  readonly timeoutMs?: number
  /** Maximum number of attempts; unlimited by default. */
  readonly maxAttempts?: number
  readonly backoff?: Backoff
  readonly logger?: Logger
  /** Called after each attempt, except for aborted ones. */
  readonly onAttempt?: (attempt: RpcAttempt) => void
}

type Params = readonly unknown[]

const DEFAULT_TIMEOUT_MS = 30_000

/**
 * A JSON-RPC 1.0 client for nodes with the interface of Bitcoin Core. Temporary failures (no connection, a slow or busy node, a
 * truncated or invalid reply) are retried with growing pauses. The pause that a busy node asks for applies to all requests of
 * this client.
 */
export class NodeClient {
  readonly #transport: Transport
  readonly #coolDown: CoolDown
  readonly #backoff: Backoff
  readonly #maxAttempts: number
  readonly #logger: Logger | undefined
  readonly #onAttempt: NodeClientOptions['onAttempt']
  #nextId = 0

  /** @param url http://user:password@host:port; the credentials are sent in a header only. */
  constructor(url: string, options: NodeClientOptions = {}) {
    this.#transport = new Transport(url, options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
    this.#backoff = options.backoff ?? NODE_BACKOFF
    this.#coolDown = new CoolDown(this.#backoff)
    this.#maxAttempts = options.maxAttempts ?? Number.POSITIVE_INFINITY
    this.#logger = options.logger
    this.#onAttempt = options.onAttempt
  }

  /** host:port of the node, for messages. */
  get address(): string {
    return this.#transport.address
  }

  chainInfo(signal?: AbortSignal): Promise<replies.NodeChainInfo> {
    return this.call('getblockchaininfo', [], replies.chainInfoReply, signal)
  }

  /** Waits for a new tip, at most `waitMs`, in one of the node's RPC threads. @returns the tip then. */
  newBlock(waitMs: number, signal?: AbortSignal): Promise<replies.NodeTip> {
    return this.call('waitfornewblock', [waitMs], replies.newBlockReply, signal)
  }

  /** Returns the hash at a height. @throws NodeRpcError -8 above the node's tip. */
  blockHash(height: number, signal?: AbortSignal): Promise<string> {
    return this.call('getblockhash', [height], replies.blockHashReply, signal)
  }

  /** Returns the hash at a height, undefined above the node's tip. */
  async hashAt(height: number, signal?: AbortSignal): Promise<string | undefined> {
    return this.blockHash(height, signal).catch((error: unknown) => {
      if (isRpcError(error, RPC_INVALID_PARAMETER)) return undefined
      throw error
    })
  }

  /** Returns the hashes at `count` heights in one request. @throws NodeRpcError -8 if one is above the node's tip. */
  blockHashes(from: number, count: number, signal?: AbortSignal): Promise<string[]> {
    const heights = Array.from({ length: count }, (_, i) => from + i)
    return this.hashesAt(heights, signal)
  }

  /** Returns the hashes at any heights in one request. @throws as `blockHashes`. */
  hashesAt(heights: readonly number[], signal?: AbortSignal): Promise<string[]> {
    const params = heights.map((height) => [height])
    return this.#batch('getblockhash', params, signal, (answer) =>
      checked('getblockhash', resultOf('getblockhash', answer), replies.blockHashReply),
    )
  }

  /** Returns a block with the hex of its transactions and its prevouts (verbosity 3). @throws NodeRpcError -5 if it is unknown. */
  block(hash: string, signal?: AbortSignal): Promise<replies.NodeBlock> {
    return this.call('getblock', [hash, 3], replies.blockReply, signal)
  }

  /** Returns the bytes of a block (verbosity 0). @throws NodeRpcError -5 if it is unknown. */
  async rawBlock(hash: string, signal?: AbortSignal): Promise<Buffer> {
    const hex = await this.call('getblock', [hash, 0], replies.rawHexReply, signal)
    return Buffer.from(hex, 'hex')
  }

  /** Returns the size of the chain on the node's disk, in bytes. */
  async chainBytes(signal?: AbortSignal): Promise<number> {
    const { size_on_disk } = await this.call('getblockchaininfo', [], replies.chainSizeReply, signal)
    return size_on_disk
  }

  /**
   * Returns the number of transactions up to a block, inclusive; undefined if the node does not know it.
   * @throws NodeRpcError if the block is unknown, or the node lacks the method.
   */
  async transactionsUpTo(hash: string, signal?: AbortSignal): Promise<number | undefined> {
    const { txcount } = await this.call('getchaintxstats', [0, hash], replies.chainTxsReply, signal)
    return txcount
  }

  mempoolInfo(signal?: AbortSignal): Promise<replies.NodeMempoolInfo> {
    return this.call('getmempoolinfo', [], replies.mempoolInfoReply, signal)
  }

  networkInfo(signal?: AbortSignal): Promise<replies.NodeNetworkInfo> {
    return this.call('getnetworkinfo', [], replies.networkInfoReply, signal)
  }

  /** Returns the number of seconds since the start of the node. */
  uptime(signal?: AbortSignal): Promise<number> {
    return this.call('uptime', [], replies.uptimeReply, signal)
  }

  /** Returns the entries of the mempool by txid. */
  mempool(signal?: AbortSignal): Promise<Record<string, replies.NodeMempoolEntry>> {
    return this.call('getrawmempool', [true], replies.mempoolReply, signal)
  }

  /** Returns the txids of the mempool. */
  mempoolTxids(signal?: AbortSignal): Promise<string[]> {
    return this.call('getrawmempool', [false], replies.mempoolTxidsReply, signal)
  }

  /** Returns entries of the mempool in one request, undefined for txids that are not in it. */
  mempoolEntries(
    txids: readonly string[],
    signal?: AbortSignal,
  ): Promise<(replies.NodeMempoolEntry | undefined)[]> {
    const params = txids.map((txid) => [txid])
    return this.#callEach('getmempoolentry', params, replies.mempoolEntryReply, signal)
  }

  /** Returns serialised transactions in one request, undefined for each that is not in the mempool. */
  async rawTransactions(txids: readonly string[], signal?: AbortSignal): Promise<(Buffer | undefined)[]> {
    const params = txids.map((txid) => [txid, 0])
    const hexes = await this.#callEach('getrawtransaction', params, replies.rawHexReply, signal)
    return hexes.map((hex) => (hex === undefined ? undefined : Buffer.from(hex, 'hex')))
  }

  /**
   * Returns transactions of blocks with the outputs that they spend, in one request; undefined for those that the node does not have
   * in their block, and for the coinbase of block 0.
   */
  transactionsOf(
    located: readonly { readonly txid: string; readonly hash: string }[],
    signal?: AbortSignal,
  ): Promise<(replies.NodeBlockTx | undefined)[]> {
    const params = located.map(({ txid, hash }) => [txid, 2, hash])
    return this.#callEach('getrawtransaction', params, replies.transactionReply, signal)
  }

  /**
   * Returns outputs of the node's chain in one request, without those that only the mempool has: null for each that is spent or
   * unknown, undefined for one that the node refuses.
   */
  unspentOutputs(
    outputs: readonly { readonly txid: string; readonly vout: number }[],
    signal?: AbortSignal,
  ): Promise<(replies.NodeTxOut | undefined)[]> {
    const params = outputs.map(({ txid, vout }) => [txid, vout, false])
    return this.#callEach('gettxout', params, replies.txOutReply, signal)
  }

  /** Returns the node's estimates of fee rates by numbers of blocks, in coins per 1000 virtual bytes; undefined where it has none. */
  async smartFees(
    targets: readonly number[],
    mode?: string,
    signal?: AbortSignal,
  ): Promise<(number | undefined)[]> {
    const params = targets.map((blocks) => [blocks, ...(mode === undefined ? [] : [mode])])
    const fees = await this.#batch('estimatesmartfee', params, signal, (answer) =>
      checked('estimatesmartfee', resultOf('estimatesmartfee', answer), replies.smartFeeReply),
    )
    return fees.map(({ feerate }) => feerate)
  }

  /** Sends a transaction to the node's mempool and to its peers. @returns the txid. @throws NodeRpcError with the node's reason. */
  sendTransaction(raw: Uint8Array, signal?: AbortSignal): Promise<string> {
    return this.call('sendrawtransaction', [hexOf(raw)], replies.txidReply, signal)
  }

  /**
   * Calls a method and validates the reply.
   * @throws NodeRpcError for an error that the node returned, NodeRefusedError if it denies access, NodeFaultError if all attempts
   *   failed, the reason of the signal if it aborts.
   */
  async call<T extends TSchema>(
    method: string,
    params: Params,
    reply: replies.Reply<T>,
    signal?: AbortSignal,
  ): Promise<Static<T>> {
    const request = { jsonrpc: '1.0', id: this.#nextId++, method, params }
    return this.#attempt(method, JSON.stringify(request), signal, (answer) =>
      checked(method, resultOf(method, answer), reply),
    )
  }

  /** Sends many calls of a method in one request. Returns undefined for calls with the error "not found" (-5). */
  #callEach<T extends TSchema>(
    method: string,
    params: readonly Params[],
    reply: replies.Reply<T>,
    signal?: AbortSignal,
  ): Promise<(Static<T> | undefined)[]> {
    return this.#batch(method, params, signal, (answer) => {
      try {
        return checked(method, resultOf(method, answer), reply)
      } catch (error) {
        if (isRpcError(error, RPC_NOT_FOUND)) return undefined
        throw error
      }
    })
  }

  /** Sends many calls of a method in one request. Returns the results in the order of the parameters. @throws as `call`. */
  async #batch<R>(
    method: string,
    params: readonly Params[],
    signal: AbortSignal | undefined,
    read: (answer: unknown) => R,
  ): Promise<R[]> {
    if (params.length === 0) return []
    const requests = params.map((each, id) => ({ jsonrpc: '1.0', id, method, params: each }))
    return this.#attempt(method, JSON.stringify(requests), signal, (answers) => {
      if (!Array.isArray(answers)) throw notABatch(method, answers)
      const byId = new Map(answers.map((each: unknown) => [isObject(each) ? each['id'] : undefined, each]))
      return params.map((_, id) => read(byId.get(id)))
    })
  }

  close(): void {
    this.#transport.close()
  }

  async #attempt<R>(
    method: string,
    body: string,
    signal: AbortSignal | undefined,
    read: (answer: unknown) => R,
  ): Promise<R> {
    for (let failures = 1; ; failures++) {
      await this.#untilCool(signal)
      const sentAt = this.#coolDown.now()
      try {
        const answer = read(this.#parse(method, await this.#transport.post(body, signal)))
        this.#coolDown.answered(sentAt)
        this.#report(method, sentAt)
        return answer
      } catch (error) {
        if (signal?.aborted !== true) this.#report(method, sentAt, error)
        if (!(error instanceof NodeFaultError)) throw error
        if (error.kind === 'busy') this.#coolDown.refuse(sentAt, error.retryAfterMs)
        if (failures >= this.#maxAttempts) throw error
        this.#logFailure(method, failures, error)
      }
      await pause(backoffMs(this.#backoff, failures), signal)
    }
  }

  #report(method: string, sentAt: number, error?: unknown): void {
    const seconds = (this.#coolDown.now() - sentAt) / 1000
    this.#onAttempt?.({ method, outcome: outcomeOf(error), seconds, error })
  }

  async #untilCool(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    for (let left = this.#coolDown.left(); left > 0; left = this.#coolDown.left()) await pause(left, signal)
  }

  #parse(method: string, { status, retryAfterMs, body }: HttpReply): unknown {
    if (status === 401 || status === 403) throw new NodeRefusedError(this.address, status)
    if (status === 503 || status === 429 || /work queue (depth )?exceeded/i.test(body.slice(0, 200))) {
      throw new NodeFaultError(
        'busy',
        `the node at ${this.address} is busy (HTTP ${String(status)})`,
        retryAfterMs,
      )
    }
    try {
      return JSON.parse(body)
    } catch {
      const what = `HTTP ${String(status)}, ${String(body.length)} characters`
      throw new NodeFaultError(
        'invalid',
        `the reply of the node to ${method} is not complete JSON (${what})`,
        retryAfterMs,
      )
    }
  }

  /** Logs the 1st, 2nd, 4th, 8th … consecutive failure: an outage of a day must not fill a disk. */
  #logFailure(method: string, failures: number, error: NodeFaultError): void {
    if ((failures & (failures - 1)) !== 0) return
    this.#logger?.warn({ code: error.code, method, failures }, `${error.message}; retrying`)
  }
}

function outcomeOf(error: unknown): RpcAttempt['outcome'] {
  if (error === undefined) return 'ok'
  if (error instanceof NodeFaultError) return error.kind
  return error instanceof NodeRefusedError ? 'refused' : 'error'
}

function resultOf(method: string, answer: unknown): unknown {
  if (!isObject(answer)) throw invalidReply(method, 'not an object')
  const error = answer['error']
  if (error === null || error === undefined) return answer['result']
  const code = isObject(error) && typeof error['code'] === 'number' ? error['code'] : 0
  const message = isObject(error) && typeof error['message'] === 'string' ? error['message'] : 'no message'
  if (code === RPC_IN_WARMUP)
    throw new NodeFaultError('busy', `the node is starting: ${message.slice(0, 200)}`)
  throw new NodeRpcError(method, code, message.slice(0, 200))
}

function checked<T extends TSchema>(method: string, result: unknown, reply: replies.Reply<T>): Static<T> {
  if (reply.is(result)) return result
  throw invalidReply(method, reply.mismatch(result) ?? 'does not match')
}

function invalidReply(method: string, why: string): NodeFaultError {
  return new NodeFaultError('invalid', `the reply of the node to ${method} is invalid: ${why}`)
}

/** Returns the error for a reply that is not a batch. @throws NodeFaultError if the node is starting, as for any other call. */
function notABatch(method: string, answer: unknown): NodeFaultError {
  let why = 'a single reply'
  try {
    resultOf(method, answer)
  } catch (error) {
    if (!(error instanceof NodeRpcError)) throw error
    why = error.message
  }
  return invalidReply(
    method,
    `expected an array of replies to a batch, got ${why}; NODE_RPC_URL must be a node, or a proxy, that accepts JSON-RPC batches`,
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    // The sleep throws an AbortError of its own; callers compare with the signal's reason.
    signal?.throwIfAborted()
    throw error
  }
}
