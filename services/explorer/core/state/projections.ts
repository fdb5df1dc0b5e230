import type { Network } from '../../../../pipelines/chain/networks.js'
import { sizing } from '../../../../pipelines/mempool/rate-steps.js'
import type { ChainState } from './state.js'
import type { MempoolTxs } from '../mempool/mempool-txs.js'
import {
  inSlices,
  type ProjectedBlock,
  projectedWeight,
  projecting,
} from '../../../../pipelines/mempool/projection.js'

/** The maximum number of blocks of an answer. One more is projected, by which it is known whether transactions are left. */
export const MAX_PROJECTED_BLOCKS = 30
/** The number of transactions up to which each version of the mempool is projected: it takes some milliseconds. */
const SMALL = 2_000
/** The rest after a projection, as a multiple of the time that it took: all together take a tenth of a core. */
const REST = 9
/** The time in ms after which blocks are requested again whose successors are in progress. */
const SOON_MS = 500

/** The projected blocks of a mempool, and what waits in it. */
interface Result {
  /** The next one first. */
  readonly blocks: readonly ProjectedBlock[]
  /** The virtual sizes of all transactions by the steps of their effective fee rates. */
  readonly sizes: readonly number[]
}

/** The projection of a mempool. */
export interface Projected extends Result {
  /** The time from which on there may be newer blocks; undefined if these are projected from the requested mempool. */
  readonly untilMs: number | undefined
}

interface Projection {
  readonly mempool: MempoolTxs
  readonly view: ChainState['view']
  readonly result: Promise<Result>
  /** The end of the rest after it; undefined while it is in progress. */
  untilMs?: number
}

function* projectingAndSizing(
  mempool: MempoolTxs,
  maxWeight: number,
): Generator<undefined, Result, undefined> {
  const blocks = yield* projecting(mempool.values(), maxWeight, MAX_PROJECTED_BLOCKS + 1)
  return { blocks, sizes: yield* sizing(mempool.values()) }
}

/**
 * The projected blocks of the newest mempools. The projection of a large one takes seconds: it is made beside other work, and serves
 * for later versions of the mempool until a new block, or until the next projection has ended. That begins after a rest.
 */
export class Projections {
  #newest: Projection | undefined
  /** The last projection that has ended. */
  #ended: Projection | undefined

  /** Returns the first blocks that a mempool fills, or did shortly before, and what waits in it. */
  async of(mempool: MempoolTxs, view: ChainState['view'], network: Network): Promise<Projected> {
    const used = this.#reusable(mempool, view) ?? this.#project(mempool, view, network)
    const result = await used.result
    if (used.mempool === mempool) return { ...result, untilMs: undefined }
    const isOver = Date.now() >= (used.untilMs ?? 0)
    if (isOver && this.#newest === used) this.#project(mempool, view, network)
    return { ...result, untilMs: isOver ? Date.now() + SOON_MS : used.untilMs }
  }

  /** Returns a projection of a mempool, or of an earlier version of a large one. */
  #reusable(mempool: MempoolTxs, view: ChainState['view']): Projection | undefined {
    const projections = [this.#newest, this.#ended].filter((each) => each !== undefined)
    const own = projections.find((each) => each.mempool === mempool)
    if (own !== undefined || mempool.size <= SMALL) return own
    const earlier = projections.filter((each) => each.view === view)
    return earlier.find(({ untilMs }) => untilMs !== undefined) ?? earlier[0]
  }

  #project(mempool: MempoolTxs, view: ChainState['view'], network: Network): Projection {
    const maxWeight = projectedWeight(network)
    const result = inSlices(projectingAndSizing(mempool, maxWeight))
    const projection: Projection = { mempool, view, result: result.then(({ value }) => value) }
    void result.then(({ tookMs }) => {
      projection.untilMs = Date.now() + REST * tookMs
      this.#ended = projection
    })
    this.#newest = projection
    return projection
  }
}
