import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { coded } from '../../../../pipelines/errors.js'
import type { NodeHealth } from '../node/node-health.js'
import type { ChainState, RelayFees } from '../state/state.js'
import type { IndexerFigures } from '../state/indexer-status.js'
import type { Forecasts } from '../forecast/forecasts.js'
import type { HistoryTables } from '../mempool/history-tables.js'
import type { Tables } from '../tables/tables.js'
import type { DroppedTxs } from '../mempool/dropped.js'
import type { MempoolTxs } from '../mempool/mempool-txs.js'
import type { Projections } from '../state/projections.js'
import type { Definitions } from '../definitions/definitions.js'
import type { AnswerSize } from './answer-size.js'
import type { Validity } from './validity.js'
import type { WrittenAnswer } from './written-answer.js'

/**
 * The validity of an answer: `objects` until one of the blocks, transactions and scripts changes that the resolver records in
 * `ReadContext.validity`; `head` until the next head; `mempool` until head or mempool change; `live` until head, mempool or the
 * newest heartbeat change, and no longer than until the time that the resolver records: without one, only now. An answer from
 * `outside` does not depend on the chain: it needs no database, and has no height.
 */
export type Freshness = 'objects' | 'head' | 'mempool' | 'live' | 'outside'

/** The schemas of the arguments by name. A name that the path contains as `:name` is a path argument. */
export type Arguments = Readonly<Record<string, TSchema>>

/** The way in which the node estimates fees, see `estimatesmartfee`. */
export type FeeMode = 'CONSERVATIVE' | 'ECONOMICAL'

/** The answers of the node itself. */
export interface NodeStatus {
  /** Returns the health of the node. @throws NodeUnavailable. */
  health(): Promise<NodeHealth>
  /** Returns the node's estimates by numbers of blocks, in base units per virtual byte; undefined or missing where it has none. */
  feeEstimates(targets: readonly number[], mode?: FeeMode): Promise<readonly (number | undefined)[]>
  /**
   * Returns a transaction as `getrawtransaction` describes it.
   * @param blockHash its block; undefined if it is unconfirmed.
   * @throws NodeRpcError, NodeUnavailable.
   */
  transaction(txid: string, blockHash: string | undefined): Promise<object>
}

/** A part of a list: `count` items from index `from` on. */
export interface Range {
  readonly from: number
  readonly count: number
}

/** The parts of transactions that an answer needs which shows less than the API's own: a page, or an operation of GraphQL. */
export interface TxDetail {
  readonly inputs: Range
  readonly outputs: Range
  /** False if no witnesses are needed. */
  readonly witness: boolean
  /** The maximum number of bytes of a script or item of a witness: only the beginning of longer scripts and items is needed. */
  readonly maxBytes?: number
}

/** The data sources of a resolver. Chain, mempool and definitions are one state for the whole answer: they do not change during it. */
export interface ReadContext {
  readonly chain: ChainState
  readonly mempool: MempoolTxs
  /** The transactions that left the mempool without a block. */
  readonly dropped: DroppedTxs
  /** The fee rates that the node requires; undefined if they are not known. */
  readonly relayFees: RelayFees | undefined
  readonly tables: Tables
  readonly history: HistoryTables
  readonly definitions: Pick<Definitions, 'labels' | 'pools'>
  readonly node: NodeStatus
  readonly projections: Projections
  readonly forecasts: Forecasts
  /** Records how long the answer is valid. */
  readonly validity: Validity
  /** Bounds the size of the answer. */
  readonly size: AnswerSize
  /** The parts of transactions that are needed. Not set: all. */
  readonly detail?: TxDetail | undefined
  /**
   * Resolves a read whose answer depends on the head alone, or takes the answer from the cache: answers that change with the mempool too
   * do not read the rows of the chain again and again.
   * @param read with `fresh: 'head'`.
   * @param args all of them.
   */
  readonly ofHead: <A extends Arguments, S extends TSchema>(
    read: Declaration<A, S>,
    args: Static<TObject<{ [K in keyof A]: A[K] }>>,
  ) => Promise<Static<S>>
  indexer(): IndexerFigures
}

/** The declaration of a read. Routes, validation and the schemas of the transports are derived from it. */
export interface Read {
  readonly name: string
  /** A sentence for the documentation of the API. Required in `READS`. */
  readonly about?: string
  /** The path under /api/v1. */
  readonly path: string
  /** `POST`: the arguments are the JSON object in the body, because they may be too long for a URL. Not set: GET. */
  readonly method?: 'POST'
  /**
   * True if the arguments are a secret of the client: they are never part of a URL, and neither they nor the answer are kept in memory or
   * shared. Only with `method: 'POST'`.
   */
  readonly isPrivate?: boolean
  readonly fresh: Freshness
  /** Returns the number of requests that the rate limit counts. Not set: 1. */
  readonly cost?: (args: never) => number
  /** True if the read requires HEALTH_API_TOKEN, when one is set. */
  readonly needsToken?: boolean
  /** True if the answer says something only of a chain with Dilithium signatures. */
  readonly isOfDilithium?: boolean
  readonly args: Arguments
  readonly answer: TSchema
  /** The error texts of a missing object. Not set: there is always an answer. */
  readonly notFound?: readonly string[]
  readonly resolve: (context: ReadContext, args: never) => unknown
  /**
   * Declared by reads whose empty answer a client may take for "unused". Returns the height from which on an index could have
   * items for an empty answer, undefined for other answers. An index that is behind returns 503 instead of the empty answer.
   */
  readonly emptyFrom?: (args: never, answer: never) => number | undefined
}

type Made<S extends TSchema> = Static<S> | WrittenAnswer<Static<S>>

/** A read whose types are known. */
export interface Declaration<A extends Arguments, S extends TSchema> extends Read {
  readonly args: A
  readonly answer: S
  readonly cost?: (args: Static<TObject<{ [K in keyof A]: A[K] }>>) => number
  readonly resolve: (
    context: ReadContext,
    args: Static<TObject<{ [K in keyof A]: A[K] }>>,
  ) => Made<S> | Promise<Made<S>>
  readonly emptyFrom?: (
    args: Static<TObject<{ [K in keyof A]: A[K] }>>,
    answer: Static<S>,
  ) => number | undefined
}

/** Implements `emptyFrom` for lists to which a block at any height may add items. */
export function listFrom(_: unknown, { items }: { readonly items: readonly unknown[] }): number | undefined {
  return items.length === 0 ? 0 : undefined
}

/** Declares a read. Derives the types of the resolver from the declared arguments and answer. */
export function declareRead<A extends Arguments, S extends TSchema>(
  read: Declaration<A, S>,
): Declaration<A, S> {
  return read
}

/** The height `from` of objects that no block can add. */
export const NEVER = Number.POSITIVE_INFINITY

/** The error text of a block that does not exist, and of a read as of such a block. */
export const NO_BLOCK = 'Block not found'

type NotFoundCode = 'HW_NOT_FOUND' | 'HW_ADDRESS_NOT_FOUND'

/** Thrown by a resolver for a missing object: 404, or 503 if the index may not have reached its block yet. */
export class NotFound extends coded<NotFoundCode>('HW_NOT_FOUND') {
  /**
   * @param from the lowest known height from which on an index would contain the object.
   * @param details what is known of it, for clients.
   */
  constructor(
    message: string,
    readonly from = 0,
    override readonly code: NotFoundCode = 'HW_NOT_FOUND',
    readonly details?: Readonly<Record<string, string | null>>,
  ) {
    super(message)
  }
}

/** Thrown by a resolver whose data is still being built: 503, as while the index is behind. */
export class NotBuiltYet extends coded('HW_SYNCING') {}

/** Returns the network of the chain. @throws NotBuiltYet before the first head. */
export function networkIn({ chain: { network } }: Pick<ReadContext, 'chain'>): Network {
  if (network === undefined) throw new NotBuiltYet('the chain is not known yet')
  return network
}

/** Thrown by a resolver that cannot begin more work of its kind now: 503. */
export class Overloaded extends coded('HW_OVERLOADED') {}

/** Thrown for an argument that is malformed or outside its range: 400. The message contains its name and range. */
export class BadArgument extends coded('HW_INVALID_ARGUMENT') {}
