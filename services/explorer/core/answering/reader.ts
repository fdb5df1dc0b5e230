import { type BlockId, blockTag } from '../../../../pipelines/chain/block.js'
import { DatabaseUnavailable, TableMissing } from '../../../../pipelines/tables/clickhouse.js'
import type { Limiter } from '../../../access/rate-limit.js'
import type { Token } from '../../../access/token.js'
import type { Definitions } from '../definitions/definitions.js'
import { TxRejected } from '../node/broadcaster.js'
import { DroppedTxs } from '../mempool/dropped.js'
import { NodeUnavailable } from '../../../../pipelines/node/errors.js'
import { Projections } from '../state/projections.js'
import { CursorOutdated } from '../reads/cursor.js'
import { AnswerSize, AnswerTooLarge, MakingMemory } from '../reads/answer-size.js'
import { parseArguments, type RawArgument } from '../reads/arguments.js'
import {
  BadArgument,
  type NodeStatus,
  NotBuiltYet,
  NotFound,
  Overloaded,
  type Read,
  type ReadContext,
} from '../reads/read.js'
import { WrittenAnswer } from '../reads/written-answer.js'
import type { NodeProgress } from '../state/indexer-status.js'
import type { ChainState, State } from '../state/state.js'
import { ANSWER_DEADLINE_MS } from '../tables/availability.js'
import type { CancelSignal } from '../tables/cancellation.js'
import { Forecasts } from '../forecast/forecasts.js'
import type { HistoryTables } from '../mempool/history-tables.js'
import type { Tables } from '../tables/tables.js'
import { Validity } from '../reads/validity.js'
import { AnswerCache } from './answer-cache.js'
import { CachedAnswer, type Representation } from './cached-answer.js'
import type { Coding } from '../../../compression.js'
import { type Encoding, JSON_ENCODING } from './encoding.js'
import {
  DATABASE_UNAVAILABLE,
  type Failure,
  NODE_UNAVAILABLE,
  NOT_READY,
  OVERLOADED,
  UNAUTHORIZED,
} from './failure.js'
import { dependenceOf, finalFromOf } from './dependence.js'
import { resolveRead } from './past.js'
import { RequestLimit } from './request-limit.js'
import { type OnDisconnect, SharedAnswer } from './shared-answer.js'
import { type Syncing, syncing, syncingProgress } from './syncing.js'

export interface ReaderParts {
  readonly state: State
  readonly tables: Tables
  readonly history: HistoryTables
  readonly definitions: Definitions
  readonly node: NodeStatus
  /** Required by the reads with `needsToken`. Not set: they are open to all. */
  readonly token?: Token | undefined
  /** The maximum time for one answer in milliseconds. Then it fails with DatabaseUnavailable, and its queries are cancelled. */
  readonly deadlineMs?: number | undefined
  /** Limits the requests of each client. Not set: no limit. */
  readonly limit?: Limiter | undefined
  /** Called when the tables have a newer writer than the state: the state must be loaded again. */
  readonly refreshHeads?: () => void
}

/** A request for a read, from any transport. */
export interface ReadRequest {
  readonly argument: (name: string) => RawArgument
  /** The height that the client requires, `x-min-chain-height`; empty for none. */
  readonly minChainHeight: string
  readonly onDisconnect: OnDisconnect
  /** Returns the credentials of the client, `authorization`; empty for none. Called only before the first await. */
  readonly authorization: () => string
  readonly encoding: Encoding
  /** Counts further requests against the rate limit. @returns a failure if its client has exceeded the limit. */
  readonly charge?: (requests: number) => Failure | undefined | Promise<Failure | undefined>
}

/** A request for an answer that consists of several reads. */
export interface OperationRequest extends Pick<ReadRequest, 'minChainHeight' | 'onDisconnect'> {
  /** The number of answers that it counts as, for the limit of those in progress. */
  readonly weight: number
}

/** A successful answer. */
export interface Success {
  readonly answer: CachedAnswer
  /** The state that the answer describes; undefined for reads with `fresh: 'outside'`. */
  readonly chain: ChainState | undefined
}

/** A successful answer, or the reason for its absence. */
export type Outcome = Success | Failure

/**
 * The maximum number of answers in progress that use the tables; beyond it no further one is started. By Little's law this bounds
 * the time of an answer, and because an answer looks up a limited number of keys, it also bounds the queues of lookups. Few more
 * than the 256 connections that keep the database busy: more answers would only wait longer.
 */
export const MAX_IN_FLIGHT = 264
/** The maximum time that a request waits for its minimum chain height. */
const HEIGHT_WAIT_MS = 2_000

/** The maximum number of characters of the lists that an operation reads, of which its answer contains a part. */
const OPERATION_CHARACTERS = 32 * 2 ** 20

type Arguments = Readonly<Record<string, unknown>>

/** An answer to produce. */
interface Wanted {
  readonly read: Read
  readonly args: Arguments
  /** Its key in the cache. */
  readonly key: string
  readonly encoding: Encoding
}

/** Answers reads for all transports: validates requests, caches answers while they are valid, and shares answers in progress. */
export class Reader {
  /** The limit of the faces that have none of their own. */
  readonly limit: RequestLimit
  readonly #parts: ReaderParts
  readonly #cache = new AnswerCache<Wanted>()
  #definitionsVersion: number
  readonly #projections = new Projections()
  readonly #forecasts: Forecasts
  /** Answers in progress: equal requests at one state share an answer. */
  readonly #pending = new Map<string, { readonly clock: number; readonly answer: SharedAnswer<Outcome> }>()
  #answersUnderWay = 0
  readonly #deadlineMs: number
  readonly #memory = new MakingMemory()

  constructor(parts: ReaderParts) {
    this.#parts = parts
    this.limit = new RequestLimit(parts.limit)
    this.#deadlineMs = parts.deadlineMs ?? ANSWER_DEADLINE_MS
    this.#forecasts = new Forecasts(parts.history)
    this.#definitionsVersion = parts.definitions.version
    parts.state.watch((change) => {
      this.#cache.apply(change)
      this.#prepareHot()
    })
  }

  /** The figures of the cache of answers. */
  get cache(): Pick<AnswerCache<unknown>, 'bytes' | 'size' | 'requests' | 'dropped'> {
    return this.#cache
  }

  /** The state that answers from the cache describe. */
  get chain(): ChainState {
    return this.#parts.state.chain
  }

  /** Returns an answer that was found under this URL before and is still valid. Call `sent` if it is sent. */
  atUrl(url: string): CachedAnswer | undefined {
    this.#followDefinitions()
    return this.#cache.byUrl(url)
  }

  /** Counts a request that was answered with `atUrl`. */
  countHit(answer: CachedAnswer): void {
    this.#cache.hit(answer)
  }

  /** Finds the answer under a URL from now on, while it is in the cache and does not depend on the progress of the index. */
  link({ answer }: Success, url: string): void {
    if (answer.emptyFrom === undefined) this.#cache.link(answer, url)
  }

  /** Makes the answers again that were requested often before a change, so that their next requests find them. */
  #prepareHot(): void {
    const hot = this.#cache.takeHot()
    if (hot.length === 0) return
    // At the end of the turn, when chain and mempool belong to the same state again.
    queueMicrotask(() => {
      for (const request of hot) {
        const answer = this.#underWay(request)?.join(() => undefined)
        // A request that needs the answer reports the error.
        answer?.catch(() => undefined)
      }
    })
  }

  /** Returns an answer in a content coding. */
  inCoding({ answer }: Success, coding: Coding | undefined): Representation | Promise<Representation> {
    const representation = answer.inCoding(coding)
    if (representation !== undefined) return representation
    if (coding === undefined) return answer.identity
    return answer.compressed(coding, (bytes) => {
      this.#cache.grow(answer, bytes)
    })
  }

  /** The number of answers in progress that use the tables, at most `MAX_IN_FLIGHT`. */
  get answersUnderWay(): number {
    return this.#answersUnderWay
  }

  /** True if no further answer is started. */
  get isFull(): boolean {
    return this.#answersUnderWay >= MAX_IN_FLIGHT || this.#parts.tables.isOverloaded
  }

  /**
   * Returns whether a read would be refused now because of overload, without anything that an answer needs: its answer must be neither
   * in memory nor in progress. False also if that cannot be decided so soon; call `answer` then.
   */
  refuses(read: Read, argument: ReadRequest['argument']): boolean {
    if (!this.isFull || this.notReady !== undefined) return false
    if (read.fresh === 'outside' || read.needsToken === true || read.cost !== undefined) return false
    try {
      const key = keyOf(read, parseArguments(read.args, argument), JSON_ENCODING)
      this.#followDefinitions()
      return !this.#cache.has(key) && this.#joinable(key) === undefined
    } catch (error) {
      if (error instanceof BadArgument) return false
      throw error
    }
  }

  /** The failure of all chain reads and subscriptions until head and mempool have been read; undefined afterwards. */
  get notReady(): Failure | undefined {
    return this.#parts.state.ready ? undefined : this.#unavailable()
  }

  /**
   * Checks a request for something else than a read, and returns the state to answer it from.
   * @param signal aborts the queries of the context.
   * @throws BadArgument for the minimum height; only defects otherwise.
   */
  async begin(minChainHeight: string, signal: CancelSignal): Promise<ReadContext | Failure> {
    const height = minHeight(minChainHeight)
    const { state, tables } = this.#parts
    if (height > state.chain.height && tables.isReachable)
      await state.until(() => state.chain.height >= height, HEIGHT_WAIT_MS, signal)
    if (this.notReady !== undefined) return this.notReady
    return tables.isOverloaded ? OVERLOADED : this.#context(signal, new Validity(), this.#sizeOf(signal))
  }

  /** Returns the failure of an empty answer if the index may not have reached the blocks of its items yet. */
  ifBehind(chain: ChainState): Failure | undefined {
    const behind = syncing(chain, this.#parts.state.node, 0)
    return behind === undefined ? undefined : syncingFailure(behind, chain)
  }

  /** Returns whether the node is known to have blocks beyond a state. */
  isNodeBeyond({ height }: ChainState): boolean {
    return (this.#parts.state.nodeHeight ?? -1) > height
  }

  /** Answers a request, synchronously if the answer is in memory. @throws only defects, synchronously or by rejecting. */
  answer(read: Read, request: ReadRequest): Outcome | Promise<Outcome> {
    try {
      const outcome = this.#answer(read, request)
      return outcome instanceof Promise ? outcome.catch((error: unknown) => this.failureOf(error)) : outcome
    } catch (error) {
      return this.failureOf(error)
    }
  }

  #answer(read: Read, request: ReadRequest): Outcome | Promise<Outcome> {
    if (read.needsToken === true && this.#parts.token?.isIn(request.authorization()) === false)
      return UNAUTHORIZED
    const args = parseArguments(read.args, request.argument)
    const further = (read.cost?.(args as never) ?? 1) - 1
    if (further <= 0 || request.charge === undefined) return this.#atHeight(read, args, request)
    const failure = request.charge(further)
    if (failure instanceof Promise)
      return failure.then((refused) => refused ?? this.#atHeight(read, args, request))
    return failure ?? this.#atHeight(read, args, request)
  }

  /** Answers when the state has the height that the request requires, or after a while. */
  #atHeight(read: Read, args: Arguments, request: ReadRequest): Outcome | Promise<Outcome> {
    const height = minHeight(request.minChainHeight)
    const { state, tables } = this.#parts
    // An unreachable database delivers no new head.
    if (height > state.chain.height && read.fresh !== 'outside' && tables.isReachable)
      return state
        .until(() => state.chain.height >= height, HEIGHT_WAIT_MS)
        .then(() => this.#now(read, args, request))
    return this.#now(read, args, request)
  }

  /** Returns whether the credentials of a client allow the reads with `needsToken`. */
  isAuthorized(authorization: string): boolean {
    return this.#parts.token?.isIn(authorization) !== false
  }

  /**
   * Makes an answer that consists of several reads, from one state: again if the tables no longer have it when all is read.
   * @param make receives the sources of the reads, whose lookups share queries, and a function that returns the failure for what is
   *   missing if the index may not have reached its height yet.
   */
  async operation<T>(
    make: (context: ReadContext, absence: (from: number) => Failure | undefined) => Promise<T>,
    { minChainHeight, onDisconnect, weight }: OperationRequest,
  ): Promise<{ readonly result: T; readonly chain: ChainState } | Failure> {
    try {
      const height = minHeight(minChainHeight)
      const { state, tables } = this.#parts
      if (height > state.chain.height && tables.isReachable)
        await state.until(() => state.chain.height >= height, HEIGHT_WAIT_MS)
      if (this.notReady !== undefined) return this.notReady
      const isFull = this.#answersUnderWay > 0 && this.#answersUnderWay + weight > MAX_IN_FLIGHT
      if (isFull || tables.isOverloaded) return OVERLOADED
      this.#answersUnderWay += weight
      const resolve = (context: ReadContext): Promise<T> =>
        make(context, (from) => {
          const behind = syncing(context.chain, state.node, from)
          return behind === undefined ? undefined : syncingFailure(behind, context.chain)
        })
      const contextOf = (signal: CancelSignal, validity: Validity, size: AnswerSize): ReadContext => {
        return { ...this.#context(signal, validity, size), tables: tables.forOperation(signal) }
      }
      const making = new SharedAnswer(
        (signal) => {
          const size = this.#sizeOf(signal, OPERATION_CHARACTERS)
          return this.#atOneState(signal, contextOf, resolve, size).finally(() => {
            size.release()
          })
        },
        this.#deadlineMs,
        () => {
          this.#answersUnderWay -= weight
        },
      )
      const { result, context } = await making.join(onDisconnect)
      const { chain } = context
      if (result.status === 'fulfilled') return { result: result.value, chain }
      return absence(result.reason, chain, state.node)
    } catch (error) {
      return this.failureOf(error)
    }
  }

  /**
   * Resolves at the current state, and again if the state was not valid in the tables until the last row was read: even an absence or
   * an error may result from rows of two states. Also again, in the database that serves by then, if its own was dropped meanwhile.
   * @throws DatabaseUnavailable; other errors are results.
   */
  async #atOneState<T>(
    signal: CancelSignal,
    contextOf: (signal: CancelSignal, validity: Validity, size: AnswerSize) => ReadContext,
    resolve: (context: ReadContext) => Promise<T>,
    size: AnswerSize,
  ): Promise<{ result: PromiseSettledResult<T>; context: ReadContext; clock: number }> {
    const { state, refreshHeads } = this.#parts
    for (;;) {
      size.reset()
      const context = contextOf(signal, new Validity(), size)
      const { chain, tables } = context
      const { clock } = this.#cache
      try {
        const [result] = await Promise.allSettled([resolve(context)])
        if (result.status === 'rejected' && result.reason instanceof DatabaseUnavailable) throw result.reason
        if (!tables.hasRead || (await tables.fence()) === chain.fence) return { result, context, clock }
      } catch (error) {
        if (!isOfMissingTable(error)) throw error
      }
      refreshHeads?.()
      await state.until(() => state.chain !== chain, undefined, signal)
      signal.throwIfAborted()
    }
  }

  /** Returns whether a block is on the current chain. */
  isOnChain({ height, hash }: BlockId): boolean {
    return this.#parts.state.chain.blocks.has(height, blockTag(hash))
  }

  /** Returns the failure for an expected error. @throws any other error. */
  failureOf(error: unknown): Failure {
    if (error instanceof BadArgument || error instanceof AnswerTooLarge || error instanceof TxRejected)
      return { code: error.code, message: error.message }
    if (error instanceof Overloaded) return OVERLOADED
    if (error instanceof NodeUnavailable) return NODE_UNAVAILABLE
    if (!(error instanceof DatabaseUnavailable)) throw error
    return error.cause instanceof NodeUnavailable ? NODE_UNAVAILABLE : this.#unavailable()
  }

  #unavailable(): Failure {
    const { state, tables } = this.#parts
    if (!tables.isReachable) return DATABASE_UNAVAILABLE
    return state.ready ? DATABASE_UNAVAILABLE : NOT_READY
  }

  #now(read: Read, args: Arguments, request: ReadRequest): Outcome | Promise<Outcome> {
    if (read.fresh === 'outside') return this.#outside(read, args, request)
    if (this.notReady !== undefined) return this.notReady
    const { encoding, onDisconnect } = request
    const isPrivate = read.isPrivate === true
    const key = isPrivate ? '' : keyOf(read, args, encoding)
    this.#followDefinitions()
    const cached = isPrivate ? undefined : this.#cache.get(key)
    if (cached !== undefined) return this.#verified({ answer: cached, chain: this.#parts.state.chain })
    return (
      this.#underWay({ read, args, key, encoding })
        ?.join(onDisconnect)
        .then((outcome) => this.#verified(outcome)) ?? OVERLOADED
    )
  }

  /** Drops all answers if labels or mining pools have changed: most answers with addresses or blocks contain them. */
  #followDefinitions(): void {
    const { version } = this.#parts.definitions
    if (version === this.#definitionsVersion) return
    this.#definitionsVersion = version
    this.#cache.apply({ kind: 'head', touched: undefined })
  }

  /** Replaces "not found" and empty answers by a failure if the index may not have reached their blocks yet. */
  #verified(outcome: Outcome): Outcome {
    const { chain } = outcome
    const from = 'answer' in outcome ? outcome.answer.emptyFrom : outcome.from
    if (from === undefined || chain === undefined) return outcome
    const behind = syncing(chain, this.#parts.state.node, from)
    return behind === undefined ? outcome : syncingFailure(behind, chain)
  }

  async #outside(read: Read, args: Arguments, { encoding, onDisconnect }: ReadRequest): Promise<Success> {
    const make = async (signal: CancelSignal): Promise<CachedAnswer> => {
      const context = this.#context(signal, new Validity(), this.#sizeOf(signal))
      const value = await resolveRead(read, context, args)
      return new CachedAnswer(encoding.encode(value), {
        path: read.path,
        finalFrom: Number.POSITIVE_INFINITY,
        media: encoding.media,
      })
    }
    const answer = await new SharedAnswer(make, this.#deadlineMs, () => undefined).join(onDisconnect)
    return { answer, chain: undefined }
  }

  /** Returns the answer in progress to an equal request, unless something has changed since it was begun. */
  #joinable(key: string): SharedAnswer<Outcome> | undefined {
    const pending = this.#pending.get(key)
    return pending?.clock === this.#cache.clock ? pending.answer : undefined
  }

  /** Joins or starts the answer. @returns undefined under overload. */
  #underWay(request: Wanted): SharedAnswer<Outcome> | undefined {
    const { read, key } = request
    const isPrivate = read.isPrivate === true
    const underWay = isPrivate || read.fresh === 'live' ? undefined : this.#joinable(key)
    if (underWay !== undefined) return underWay
    if (this.isFull) return undefined
    this.#answersUnderWay++
    const make = (signal: CancelSignal): Promise<Outcome> => this.#make(request, signal)
    const making = new SharedAnswer<Outcome>(make, this.#deadlineMs, () => {
      this.#answersUnderWay--
      if (this.#pending.get(key)?.answer === making) this.#pending.delete(key)
    })
    if (!isPrivate) this.#pending.set(key, { clock: this.#cache.clock, answer: making })
    return making
  }

  /** Computes an answer at the current state, and keeps it. */
  async #make(request: Wanted, signal: CancelSignal): Promise<Outcome> {
    const size = this.#sizeOf(signal)
    try {
      return await this.#compute(request, signal, size)
    } finally {
      size.release()
    }
  }

  async #compute(request: Wanted, signal: CancelSignal, size: AnswerSize): Promise<Outcome> {
    const { read, args, key, encoding } = request
    const { result, context, clock } = await this.#atOneState(
      signal,
      (...of) => this.#context(...of),
      (sources): Promise<unknown> => resolveRead(read, sources, args),
      size,
    )
    const { chain, validity } = context
    const { past } = validity
    if (result.status === 'rejected')
      return absence(result.reason, { ...chain, ...past }, this.#parts.state.node, past !== undefined)
    const value = result.value
    const emptyFrom =
      value instanceof WrittenAnswer || past !== undefined
        ? undefined
        : read.emptyFrom?.(args as never, value as never)
    const finalFrom = finalFromOf(read.fresh, validity)
    const answer = new CachedAnswer(encoding.encode(value), {
      path: read.path,
      emptyFrom,
      finalFrom,
      media: encoding.media,
      isPrivate: read.isPrivate,
      past,
    })
    const dependence = read.isPrivate === true ? undefined : dependenceOf(read.fresh, validity)
    this.#followDefinitions()
    if (dependence !== undefined) this.#cache.keep(key, answer, dependence, clock, request)
    return { answer, chain }
  }

  #sizeOf(signal: CancelSignal, maxCharacters?: number): AnswerSize {
    return new AnswerSize(this.#memory, signal, maxCharacters)
  }

  #context(signal: CancelSignal, validity: Validity, size: AnswerSize): ReadContext {
    const { state, tables, history, definitions, node } = this.#parts
    const context: ReadContext = {
      chain: state.chain,
      mempool: state.mempool.snapshot(),
      dropped: new DroppedTxs(state.drops, history, signal),
      relayFees: state.relayFees,
      tables: tables.withSignal(signal),
      history,
      definitions: { labels: definitions.labels, pools: definitions.pools },
      node,
      projections: this.#projections,
      forecasts: this.#forecasts,
      validity,
      size,
      ofHead: (read, args) => this.#ofHead(context, read, args),
      indexer: () => {
        validity.until(state.indexerUntilMs)
        return state.indexer()
      },
    }
    return context
  }

  /** Returns the answer of a read at the state of another read, from the cache if it is the current state. */
  async #ofHead(context: ReadContext, read: Read, args: Arguments): Promise<unknown> {
    const { chain } = context
    if (chain === this.chain) {
      const request = { read, args, key: keyOf(read, args, JSON_ENCODING), encoding: JSON_ENCODING }
      this.#followDefinitions()
      const answer = this.#cache.get(request.key)
      const outcome = answer ? { answer, chain } : await this.#underWay(request)?.join(() => undefined)
      if (outcome !== undefined && 'answer' in outcome && outcome.chain === chain) {
        const { body } = outcome.answer
        context.size.add(body.length)
        await context.size.reserve(body.length)
        return JSON.parse(body.toString())
      }
    }
    const value: unknown = await resolveRead(read, context, args)
    return value instanceof WrittenAnswer ? value.parse() : value
  }
}

const isOfMissingTable = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable && error.cause instanceof TableMissing

/** Returns the key of an answer in the cache. Texts stand beside their lengths, so that no two requests share a key. */
function keyOf(read: Read, args: Arguments, encoding: Encoding): string {
  let key = `${encoding.name} ${read.name}`
  for (const name in args) {
    const value = args[name]
    // Most arguments are one text, for which JSON takes a sixth of a refusal.
    key +=
      typeof value === 'string'
        ? ` ${name} ${String(value.length)} ${value}`
        : ` ${name} ${JSON.stringify(value)}`
  }
  return key
}

/** Returns the failure of a read that found nothing, or whose data is not built yet. @throws any other error. */
function absence(error: unknown, chain: ChainState, node: NodeProgress | undefined, isPast = false): Failure {
  if (error instanceof NotBuiltYet) return syncingFailure(syncingProgress(chain, node), chain)
  if (error instanceof CursorOutdated) return { code: error.code, message: error.message, chain }
  if (error instanceof NotFound) {
    const { code, message, from, details } = error
    // Blocks yet to come change nothing as of an earlier one.
    return {
      code,
      message,
      ...(isPast ? {} : { from }),
      chain,
      ...(details === undefined ? {} : { details }),
    }
  }
  throw error
}

function syncingFailure(behind: Syncing, chain: ChainState): Failure {
  return { code: 'HW_SYNCING', message: 'Index is syncing', retryMs: 5_000, details: { ...behind }, chain }
}

/** Parses `x-min-chain-height`. @returns -1 for an empty text. @throws BadArgument. */
function minHeight(text: string): number {
  if (text === '') return -1
  if (!/^\d{1,10}$/.test(text))
    throw new BadArgument('x-min-chain-height must be an integer from 0 to 9999999999')
  return Number(text)
}
