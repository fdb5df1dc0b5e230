import { AnswerCache, type CachedAnswer, type Moment, toBytes } from './answer-cache.js'
import { Unavailable } from '../tables/availability.js'
import type { Origin } from '../../client-address.js'
import type { Upgrade } from '../../../pipelines/tables/migrate.js'
import type { Definitions } from '../definitions/definitions.js'
import type { RateLimit } from '../../rate-limit.js'
import { parseArguments } from '../reads/arguments.js'
import {
  BadArgument,
  type NodeAsked,
  NotBuiltYet,
  NotFound,
  type Read,
  type ReadContext,
} from '../reads/read.js'
import { SharedAnswer, type WhenGone } from './shared-answer.js'
import type { ChainState, State } from '../state/state.js'
import { type Syncing, syncing } from './syncing.js'
import type { Tables } from '../tables/tables.js'
import type { Token } from '../../token.js'

export interface ReaderParts {
  readonly state: State
  readonly tables: Tables
  readonly definitions: Definitions
  readonly node: NodeAsked
  /** Of the reads that need one; they are open to all where it is left out. */
  readonly token?: Token | undefined
  /** Of requests to the reads; none where left out. */
  readonly limit?: RateLimit | undefined
  /** Called when the tables have a newer writer than the state is of: the state must be read again. */
  readonly lookForHeads?: () => void
}

/** What a client asks of a read, whatever transport brought it. */
export interface Question {
  /** Text of an argument, undefined where it was not given. */
  readonly argument: (name: string) => string | undefined
  /** As in the header; empty for none. */
  readonly minChainHeight: string
  readonly whenGone: WhenGone
  /** Of the header; asked before the first wait, never after it. */
  readonly authorization: () => string
}

/** A good answer, or the reason for which there is none of what was asked for, or that this is not known yet, or not looked for. */
export type Outcome = Made | Refused

type Made = Good | Missing | Unknown

export interface Good {
  readonly answer: CachedAnswer
  /** The state that it is of; undefined of a read from outside, whose tag is empty too. */
  readonly chain: ChainState | undefined
}

export interface Missing {
  readonly missing: string
  /** The height from which on an index would have it. */
  readonly from: number
  readonly chain: ChainState
}

export interface Unknown {
  readonly syncing: Syncing
  readonly chain: ChainState
}

/** More is asked for than can be answered soon. No error: throwing one costs more than all else of a refusal. */
export interface Refused {
  readonly refused: 'overload'
}

/** The read wants a token that was not said. */
export class Unauthorized extends Error {
  override readonly name = 'Unauthorized'
}

const REFUSED: Refused = { refused: 'overload' }
/** What clients of a `Refused` one are told, and when they may ask again. */
export const OVERLOADED = 'Overloaded, try again later'
export const OVERLOADED_RETRY_SECONDS = 1
/** What clients are told of an `Unknown` outcome, and when they may ask again. */
export const SYNCING = 'Index is syncing'
export const SYNCING_RETRY_SECONDS = 5
/** What clients are told instead of `Unavailable` while the database, or the log, is on its way to this version's format. */
export const UPGRADING = 'Index is upgrading'
export const UPGRADING_RETRY_SECONDS = 5
/** Of one answer; then it is Unavailable, and what it asked of the database ends. */
const ANSWER_DEADLINE_MS = 5_000
/**
 * Answers on their way from the tables at once; a further one is not begun. By Little's law this bounds how long one takes, and
 * with it the keys that they look up bound the gatherers' lines. It is an eighth more than the 256 connections that keep the
 * database busy: more would only wait longer.
 */
export const MOST_UNDER_WAY = 288
/** How long a request waits for the height that it asks for. */
const HEIGHT_WAIT_MS = 2_000

/** Answers reads for all transports: checks what is asked, keeps answers that are still true, shares those on their way. */
export class Reader {
  readonly #parts: ReaderParts
  readonly #cache = new AnswerCache()
  /** Answers on their way: the same question of the same moment is asked once. */
  readonly #pending = new Map<string, SharedAnswer<Made>>()
  #answersUnderWay = 0

  constructor(parts: ReaderParts) {
    this.#parts = parts
  }

  /** How far an upgrade is that may be why the database cannot answer; undefined where there is none. */
  get upgrade(): Upgrade | undefined {
    return this.#parts.tables.isReachable ? this.#parts.state.upgrade : undefined
  }

  /** Answers that are being made from the tables, at most `MOST_UNDER_WAY`. */
  get answersUnderWay(): number {
    return this.#answersUnderWay
  }

  /** @throws Unavailable until head and mempool were read once: neither an answer nor what a client of the feed has missed is known before. */
  mustBeReady(): void {
    if (!this.#parts.state.ready) throw new Unavailable('the chain was not read yet')
  }

  /** Counts a request. @returns milliseconds until its client may ask again, undefined where it may now. */
  overLimit(origin: () => Origin): number | undefined {
    return this.#parts.limit?.take(origin())
  }

  /**
   * At once where the answer is in memory.
   * @throws Unauthorized, BadArgument, Unavailable, NodeUnavailable; all else is a fault of ours. In a promise or not.
   */
  ask(read: Read, question: Question): Outcome | Promise<Outcome> {
    if (read.needsToken === true && this.#parts.token?.isIn(question.authorization()) === false)
      throw new Unauthorized('Unauthorized')
    const args = parseArguments(read.args, question.argument)
    const height = minHeight(question.minChainHeight)
    const { state, tables } = this.#parts
    // No head comes of a database that is away.
    if (height > state.chain.height && read.fresh !== 'outside' && tables.isReachable)
      return state
        .until(() => state.chain.height >= height, HEIGHT_WAIT_MS)
        .then(() => this.#now(read, args, question.whenGone))
    return this.#now(read, args, question.whenGone)
  }

  #now(read: Read, args: Record<string, unknown>, whenGone: WhenGone): Outcome | Promise<Outcome> {
    const { state } = this.#parts
    if (read.fresh === 'outside') return this.#outside(read, args, whenGone)
    this.mustBeReady()
    const moment = this.#moment()
    const key = `${read.name} ${JSON.stringify(args)}`
    const cached = this.#cache.get(read.fresh, key, moment)
    if (cached !== undefined) return this.#believed({ answer: cached, chain: state.chain })
    return (
      this.#underWay(read, args, key, moment)
        ?.join(whenGone)
        .then((outcome) => this.#believed(outcome)) ?? REFUSED
    )
  }

  #moment(): Moment {
    const { state, definitions } = this.#parts
    return {
      position: state.chain.position,
      tipHash: state.chain.tipHash,
      poolVersion: state.pool.version,
      definitions: definitions.version,
    }
  }

  /** What says that there is nothing is not believed of an index that may only not have got there. */
  #believed(outcome: Made): Outcome {
    if ('syncing' in outcome) return outcome
    const { chain } = outcome
    const from = 'missing' in outcome ? outcome.from : outcome.answer.emptyFrom
    if (from === undefined || chain === undefined) return outcome
    const behind = syncing(chain, this.#parts.state.nodeHeight, from)
    return behind === undefined ? outcome : { syncing: behind, chain }
  }

  async #outside(read: Read, args: Record<string, unknown>, whenGone: WhenGone): Promise<Good> {
    const make = async (signal: AbortSignal): Promise<Buffer> =>
      Buffer.from(JSON.stringify(await read.resolve(this.#context(signal), args as never)))
    const body = await new SharedAnswer(make, ANSWER_DEADLINE_MS, () => undefined).join(whenGone)
    return { answer: { body, etag: '' }, chain: undefined }
  }

  /** @returns undefined where no further answer is begun. */
  #underWay(
    read: Read,
    args: Record<string, unknown>,
    key: string,
    moment: Moment,
  ): SharedAnswer<Made> | undefined {
    const { position, tipHash, poolVersion, definitions } = moment
    const pendingKey = `${key} ${String(position)} ${tipHash} ${String(poolVersion)} ${String(definitions)}`
    const underWay = read.fresh === 'live' ? undefined : this.#pending.get(pendingKey)
    if (underWay !== undefined) return underWay
    if (this.#answersUnderWay >= MOST_UNDER_WAY || this.#parts.tables.isOverloaded) return undefined
    this.#answersUnderWay++
    const make = (signal: AbortSignal): Promise<Made> => this.#make(read, args, key, signal)
    const making = new SharedAnswer<Made>(make, ANSWER_DEADLINE_MS, () => {
      this.#answersUnderWay--
      if (this.#pending.get(pendingKey) === making) this.#pending.delete(pendingKey)
    })
    this.#pending.set(pendingKey, making)
    return making
  }

  /** Makes an answer of the state of now; again where that state was not the tables' until the last row was read. */
  async #make(read: Read, args: Record<string, unknown>, key: string, signal: AbortSignal): Promise<Made> {
    const { state, lookForHeads } = this.#parts
    for (;;) {
      const context = this.#context(signal)
      const { chain, tables } = context
      const moment = this.#moment()
      const resolving = (async (): Promise<unknown> => read.resolve(context, args as never))()
      const [made] = await Promise.allSettled([resolving])
      if (made.status === 'rejected' && made.reason instanceof Unavailable) throw made.reason
      // What is missing, or fails, may be so of rows of two states.
      if (!tables.hasRead || (await tables.fence()) === chain.fence) {
        if (made.status === 'rejected') return without(made.reason, chain, state.nodeHeight)
        const emptyFrom = read.emptyFrom?.(args as never, made.value as never)
        const answer = { ...toBytes(made.value, moment.tipHash), emptyFrom }
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
      pool: state.pool,
      tables: tables.withSignal(signal),
      definitions,
      node,
      indexer: () => state.indexer(),
    }
  }
}

/** @throws the error, unless it is that nothing was found, or is not built yet. */
function without(error: unknown, chain: ChainState, nodeHeight: number | undefined): Missing | Unknown {
  if (error instanceof NotBuiltYet)
    return { syncing: { indexedHeight: chain.height, nodeHeight: nodeHeight ?? null }, chain }
  if (error instanceof NotFound) return { missing: error.message, from: error.from, chain }
  throw error
}

/** @throws BadArgument. @returns -1 where none is asked for. */
function minHeight(header: string): number {
  if (header === '') return -1
  if (!/^\d{1,10}$/.test(header))
    throw new BadArgument('x-min-chain-height must be an integer from 0 to 9999999999')
  return Number(header)
}
