import { DatabaseUnavailable } from '../../../pipelines/tables/clickhouse.js'
import type { Origin } from '../../client-address.js'
import type { RateLimit } from '../../rate-limit.js'
import type { Token } from '../../token.js'
import type { Definitions } from '../definitions/definitions.js'
import { NodeUnavailable } from '../health/node-health.js'
import { parseArguments } from '../reads/arguments.js'
import {
  BadArgument,
  type NodeStatus,
  NotBuiltYet,
  NotFound,
  type Read,
  type ReadContext,
} from '../reads/read.js'
import type { ChainState, State } from '../state/state.js'
import type { Tables } from '../tables/tables.js'
import { AnswerCache, type CachedAnswer, type Encoding, type Moment } from './answer-cache.js'
import {
  DATABASE_UNAVAILABLE,
  type Failure,
  NODE_UNAVAILABLE,
  NOT_READY,
  OVERLOADED,
  overLimit,
  UNAUTHORIZED,
  upgrading,
} from './failure.js'
import { SharedAnswer, type WhenGone } from './shared-answer.js'
import { type Syncing, syncing } from './syncing.js'

export interface ReaderParts {
  readonly state: State
  readonly tables: Tables
  readonly definitions: Definitions
  readonly node: NodeStatus
  /** Of the reads that need one; they are open to all where it is left out. */
  readonly token?: Token | undefined
  /** Of requests to the reads; none where left out. */
  readonly limit?: RateLimit | undefined
  /** Called when the tables have a newer writer than the state is of: the state must be read again. */
  readonly lookForHeads?: () => void
}

/** A request for a read, whatever transport brought it. */
export interface Question {
  /** Text of an argument, undefined where it was not given. */
  readonly argument: (name: string) => string | undefined
  /** As in the header; empty for none. */
  readonly minChainHeight: string
  readonly whenGone: WhenGone
  /** Of the header; asked before the first wait, never after it. */
  readonly authorization: () => string
  readonly encoding: Encoding
}

export interface Good {
  readonly answer: CachedAnswer
  /** The state that it is of; undefined of a read from outside. */
  readonly chain: ChainState | undefined
}

/** A good answer, or why there is none. */
export type Outcome = Good | Failure

/** Of one answer; then it is DatabaseUnavailable, and what it asked of the database ends. */
const ANSWER_DEADLINE_MS = 5_000
/**
 * Answers on their way from the tables at once; a further one is not begun. By Little's law this bounds how long one takes, and
 * with it the keys that they look up bound the gatherers' lines. It is an eighth more than the 256 connections that keep the
 * database busy: more would only wait longer.
 */
export const MOST_UNDER_WAY = 288
/** How long a request waits for the height that it asks for. */
const HEIGHT_WAIT_MS = 2_000

type Arguments = Readonly<Record<string, unknown>>

/** An answer that is to be made. */
interface Wanted {
  readonly read: Read
  readonly args: Arguments
  /** Names it in the cache. */
  readonly key: string
  readonly encoding: Encoding
}

/** Answers reads for all transports: checks what is asked, keeps answers that are still true, shares those on their way. */
export class Reader {
  readonly #parts: ReaderParts
  readonly #cache = new AnswerCache()
  /** Answers on their way: the same question of the same moment is asked once. */
  readonly #pending = new Map<string, SharedAnswer<Outcome>>()
  #answersUnderWay = 0

  constructor(parts: ReaderParts) {
    this.#parts = parts
  }

  /** Answers that are being made from the tables, at most `MOST_UNDER_WAY`. */
  get answersUnderWay(): number {
    return this.#answersUnderWay
  }

  /** Returns why neither an answer nor what a client of the feed has missed can be known yet; undefined once it can. */
  get notReady(): Failure | undefined {
    return this.#parts.state.ready ? undefined : this.#unavailable()
  }

  /** Counts a request. @returns the failure of one that is over its client's limit. */
  overLimit(origin: () => Origin): Failure | undefined {
    const retryMs = this.#parts.limit?.take(origin())
    return retryMs === undefined ? undefined : overLimit(retryMs)
  }

  /** Answers at once where the answer is in memory. @throws errors of our own only, in a promise or not. */
  ask(read: Read, question: Question): Outcome | Promise<Outcome> {
    try {
      const outcome = this.#ask(read, question)
      return outcome instanceof Promise ? outcome.catch((error: unknown) => this.#failureOf(error)) : outcome
    } catch (error) {
      return this.#failureOf(error)
    }
  }

  #ask(read: Read, question: Question): Outcome | Promise<Outcome> {
    if (read.needsToken === true && this.#parts.token?.isIn(question.authorization()) === false)
      return UNAUTHORIZED
    const args = parseArguments(read.args, question.argument)
    const height = minHeight(question.minChainHeight)
    const { state, tables } = this.#parts
    // No head comes of a database that is away.
    if (height > state.chain.height && read.fresh !== 'outside' && tables.isReachable)
      return state
        .until(() => state.chain.height >= height, HEIGHT_WAIT_MS)
        .then(() => this.#now(read, args, question))
    return this.#now(read, args, question)
  }

  /** @throws the error where it is one of our own. */
  #failureOf(error: unknown): Failure {
    if (error instanceof BadArgument) return { code: error.code, message: error.message }
    if (error instanceof NodeUnavailable) return NODE_UNAVAILABLE
    if (error instanceof DatabaseUnavailable) return this.#unavailable()
    throw error
  }

  #unavailable(): Failure {
    const { state, tables } = this.#parts
    if (!tables.isReachable) return DATABASE_UNAVAILABLE
    if (state.upgrade !== undefined) return upgrading({ ...state.upgrade })
    return state.ready ? DATABASE_UNAVAILABLE : NOT_READY
  }

  #now(read: Read, args: Arguments, { encoding, whenGone }: Question): Outcome | Promise<Outcome> {
    const { state } = this.#parts
    if (read.fresh === 'outside') return this.#outside(read, args, encoding, whenGone)
    if (this.notReady !== undefined) return this.notReady
    const moment = this.#moment()
    const key = `${encoding.name} ${read.name} ${JSON.stringify(args)}`
    const cached = this.#cache.get(read.fresh, key, moment)
    if (cached !== undefined) return this.#believed({ answer: cached, chain: state.chain })
    return (
      this.#underWay({ read, args, key, encoding }, moment)
        ?.join(whenGone)
        .then((outcome) => this.#believed(outcome)) ?? OVERLOADED
    )
  }

  #moment(): Moment {
    const { state, definitions } = this.#parts
    return {
      position: state.chain.position,
      tipHash: state.chain.tipHash,
      mempoolVersion: state.mempool.version,
      definitions: definitions.version,
    }
  }

  /** Turns what says that there is nothing into a failure where the index may only not have got there. */
  #believed(outcome: Outcome): Outcome {
    const { chain } = outcome
    const from = 'answer' in outcome ? outcome.answer.emptyFrom : outcome.from
    if (from === undefined || chain === undefined) return outcome
    const behind = syncing(chain, this.#parts.state.nodeHeight, from)
    return behind === undefined ? outcome : syncingFailure(behind, chain)
  }

  async #outside(read: Read, args: Arguments, encoding: Encoding, whenGone: WhenGone): Promise<Good> {
    const make = async (signal: AbortSignal): Promise<CachedAnswer> =>
      encoding.encode(await read.resolve(this.#context(signal), args as never), '')
    const answer = await new SharedAnswer(make, ANSWER_DEADLINE_MS, () => undefined).join(whenGone)
    return { answer, chain: undefined }
  }

  /** @returns undefined where no further answer is begun. */
  #underWay(wanted: Wanted, moment: Moment): SharedAnswer<Outcome> | undefined {
    const { read, key } = wanted
    const { position, tipHash, mempoolVersion, definitions } = moment
    const pendingKey = `${key} ${String(position)} ${tipHash} ${String(mempoolVersion)} ${String(definitions)}`
    const underWay = read.fresh === 'live' ? undefined : this.#pending.get(pendingKey)
    if (underWay !== undefined) return underWay
    if (this.#answersUnderWay >= MOST_UNDER_WAY || this.#parts.tables.isOverloaded) return undefined
    this.#answersUnderWay++
    const make = (signal: AbortSignal): Promise<Outcome> => this.#make(wanted, signal)
    const making = new SharedAnswer<Outcome>(make, ANSWER_DEADLINE_MS, () => {
      this.#answersUnderWay--
      if (this.#pending.get(pendingKey) === making) this.#pending.delete(pendingKey)
    })
    this.#pending.set(pendingKey, making)
    return making
  }

  /** Makes an answer of the state of now; again where that state was not the tables' until the last row was read. */
  async #make({ read, args, key, encoding }: Wanted, signal: AbortSignal): Promise<Outcome> {
    const { state, lookForHeads } = this.#parts
    for (;;) {
      const context = this.#context(signal)
      const { chain, tables } = context
      const moment = this.#moment()
      const resolving = (async (): Promise<unknown> => read.resolve(context, args as never))()
      const [made] = await Promise.allSettled([resolving])
      if (made.status === 'rejected' && made.reason instanceof DatabaseUnavailable) throw made.reason
      // What is missing, or fails, may be so of rows of two states.
      if (!tables.hasRead || (await tables.fence()) === chain.fence) {
        if (made.status === 'rejected') return without(made.reason, chain, state.nodeHeight)
        const emptyFrom = read.emptyFrom?.(args as never, made.value as never)
        const answer = { ...encoding.encode(made.value, moment.tipHash), emptyFrom }
        this.#cache.keep(read.fresh, key, answer, moment)
        return { answer, chain }
      }
      lookForHeads?.()
      await state.until(() => state.chain.fence !== chain.fence, undefined, signal)
      signal.throwIfAborted()
    }
  }

  #context(signal: AbortSignal): ReadContext {
    const { state, tables, definitions, node } = this.#parts
    return {
      chain: state.chain,
      mempool: state.mempool,
      tables: tables.withSignal(signal),
      definitions,
      node,
      indexer: () => state.indexer(),
    }
  }
}

/** Returns the failure of a read that found nothing, or not yet all that it needs. @throws any other error. */
function without(error: unknown, chain: ChainState, nodeHeight: number | undefined): Failure {
  if (error instanceof NotBuiltYet)
    return syncingFailure({ indexedHeight: chain.height, nodeHeight: nodeHeight ?? null }, chain)
  if (error instanceof NotFound) return { code: error.code, message: error.message, from: error.from, chain }
  throw error
}

function syncingFailure(behind: Syncing, chain: ChainState): Failure {
  return { code: 'HW_SYNCING', message: 'Index is syncing', retryMs: 5_000, details: { ...behind }, chain }
}

/** @throws BadArgument. @returns -1 where none is asked for. */
function minHeight(header: string): number {
  if (header === '') return -1
  if (!/^\d{1,10}$/.test(header))
    throw new BadArgument('x-min-chain-height must be an integer from 0 to 9999999999')
  return Number(header)
}
