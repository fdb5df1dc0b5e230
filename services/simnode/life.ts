import type { Plan } from './history.js'
import { Random } from './random.js'
import type { Simulation } from './simulation.js'

export interface LifeOptions {
  readonly blockIntervalMs: number
  readonly txsPerBlock?: number
  /** Probability of a reorganisation instead of the next block. */
  readonly reorgRate?: number
  readonly reorgDepth?: number
  /** The minimum size of every 20th block, in bytes. */
  readonly bigBlock?: number
  /** The blocks to mine first, after the process was suspended. */
  readonly plan?: Plan | undefined
}

/** The number of changes of the mempool per block. */
const TICKS = 5
const BIG_EVERY = 20

/** Runs a simulation on a timer: transactions enter, are replaced and evicted, and blocks are mined. @returns a function that stops it. */
export function live(simulation: () => Simulation, options: LifeOptions): () => void {
  let ticks = 0
  const timer = setInterval(
    () => {
      beat(simulation(), options, ++ticks)
    },
    Math.max(1, options.blockIntervalMs / TICKS),
  )
  return () => {
    clearInterval(timer)
  }
}

/** Makes one change of the mempool; every fifth one is followed by a block or a reorganisation. */
export function beat(simulation: Simulation, options: LifeOptions, tick: number): void {
  const { txsPerBlock = 5, reorgRate = 0, reorgDepth = 3, bigBlock = 0, plan } = options
  if (plan !== undefined) Array.from(simulation.history(plan))
  const { chain, mempool } = simulation
  const random = Random.of(chain.seed, 'life', chain.tip.hash, tick)
  simulation.enter(random.around((txsPerBlock * 1.1) / TICKS))
  if (random.chance(0.35)) simulation.replace(1)
  if (random.chance(0.1) || mempool.size > 20 * txsPerBlock + 50)
    simulation.evict(1 + Math.floor(mempool.size / 50))
  if (tick % TICKS !== 0) return
  const { height } = chain.tip
  if (height > 1 && random.chance(reorgRate))
    simulation.reorg(Math.min(height - 1, 1 + random.below(reorgDepth)))
  else {
    // As miners do: a block that leaves out what fits would contradict every estimate of fee rates.
    const waiting = mempool.size === 0 ? {} : { txs: mempool.size }
    simulation.mine({ bytes: height % BIG_EVERY === 0 ? bigBlock : 0, ...waiting })
  }
}
