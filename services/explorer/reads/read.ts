import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { coded } from '../../../pipelines/errors.js'
import type { NodeHealth } from '../health/node-health.js'
import type { ChainState } from '../state/state.js'
import type { IndexerFigures } from '../state/indexer-status.js'
import type { Tables } from '../tables/tables.js'
import type { MempoolView } from '../mempool/mempool.js'
import type { Definitions } from '../definitions/definitions.js'

/**
 * How long an answer stays true: until the next head, until the head or the mempool changes, or only now. One from `outside` is of
 * no state of the chain at all: it needs no database, and names no height.
 */
export type Freshness = 'head' | 'mempool' | 'live' | 'outside'

/** The schemas of the arguments by name; one whose name stands in the path as `:name` is a path argument. */
export type Arguments = Readonly<Record<string, TSchema>>

/** What the node says of itself. */
export interface NodeStatus {
  /** @throws NodeUnavailable. */
  health(): Promise<NodeHealth>
}

/**
 * What a resolver may ask. `chain` is one state for the whole answer. `mempool` changes under a resolver that awaits: take from
 * it all that the answer needs before the first await, so that chain and mempool are of one moment.
 */
export interface ReadContext {
  readonly chain: ChainState
  readonly mempool: MempoolView
  readonly tables: Tables
  readonly definitions: Pick<Definitions, 'labels' | 'pools'>
  readonly node: NodeStatus
  indexer(): IndexerFigures
}

/** A read, declared once: routes, validation and (with the next transports) their schemas come from it. */
export interface Read {
  readonly name: string
  /** A sentence for whoever asks; each of READS has one. */
  readonly about?: string
  /** Under /api/v1. */
  readonly path: string
  readonly fresh: Freshness
  /** Asks for HEALTH_API_TOKEN, where one is set. */
  readonly needsToken?: boolean
  readonly args: Arguments
  readonly answer: TSchema
  readonly resolve: (context: ReadContext, args: never) => unknown
  /**
   * Of a read whose empty answer a client may take for "unused": the height from which on an index would have something to
   * put into an answer like this one, undefined where there is something in it. An index that is behind does not give it.
   */
  readonly emptyFrom?: (args: never, answer: never) => number | undefined
}

interface Declaration<A extends Arguments, S extends TSchema> extends Read {
  readonly args: A
  readonly answer: S
  readonly resolve: (
    context: ReadContext,
    args: Static<TObject<{ [K in keyof A]: A[K] }>>,
  ) => Static<S> | Promise<Static<S>>
  readonly emptyFrom?: (
    args: Static<TObject<{ [K in keyof A]: A[K] }>>,
    answer: Static<S>,
  ) => number | undefined
}

/** `emptyFrom` of lists that a block at any height may add to. */
export function listFrom(_: unknown, { items }: { readonly items: readonly unknown[] }): number | undefined {
  return items.length === 0 ? 0 : undefined
}

/** Types the resolver by the declared arguments and answer. */
export function declareRead<A extends Arguments, S extends TSchema>(read: Declaration<A, S>): Read {
  return read
}

/** `from` of what no block can bring. */
export const NEVER = Number.POSITIVE_INFINITY

type NotFoundCode = 'HW_NOT_FOUND' | 'HW_ADDRESS_NOT_FOUND'

/** Thrown by a resolver: what was asked for is not there (404; 503 where the index may only not have got there). */
export class NotFound extends coded<NotFoundCode>('HW_NOT_FOUND') {
  /** @param from the height from which on an index would have it, as far as that is known. */
  constructor(
    message: string,
    readonly from = 0,
    override readonly code: NotFoundCode = 'HW_NOT_FOUND',
  ) {
    super(message)
  }
}

/** Thrown by a resolver: what it would take to answer is still being built (503 as while the index is behind). */
export class NotBuiltYet extends coded('HW_SYNCING') {}

/** Thrown for an argument that is malformed or outside its range (400); the message names it and its range. */
export class BadArgument extends coded('HW_INVALID_ARGUMENT') {}
