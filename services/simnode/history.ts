import { DAY_SECONDS } from '../../pipelines/chain/time.js'
import type { SimBlock } from './chain/sim-block.js'
import type { SimChain } from './chain/sim-chain.js'
import { Random } from './random.js'

/**
 * Returns the time of the next block of a history (Unix seconds; by default that of the chain), and the number of its transactions (by
 * default around the mean of the simulation); undefined if the history is complete.
 */
export type Plan = (tip: SimBlock) => { readonly time?: number; readonly txs?: number } | undefined

/** The end of a history in which blocks have the network's spacing, and the mean spacing before, so that 30 days take a second; in seconds. */
const [RECENT, SPARSE] = [2 * 3600, 40 * 60]
/** The mean number of transactions of a block before, for the same reason. */
const SPARSE_TXS = 3

/** Returns the plan of a history up to a height. */
export function upTo(height: number): Plan {
  return (tip) => (tip.height < height ? {} : undefined)
}

/**
 * Returns the plan of a history that ends now, with the random intervals of mining: it fills the time since the tip, but not more
 * than a number of days.
 * @param interval seconds between the blocks that are mined after the history.
 */
export function untilNow({ seed, network, now }: SimChain, days: number, interval: number): Plan {
  const spacing = network.blockSpacing
  return (tip) => {
    const end = now?.() ?? tip.time
    const from = Math.max(tip.time, end - days * DAY_SECONDS)
    if (end - from <= Math.max(spacing, 2 * interval)) return undefined
    const isSparse = end - from > RECENT
    const random = Random.of(seed, 'interval', tip.height)
    const step = -Math.log(1 - random.fraction()) * (isSparse ? Math.max(SPARSE, spacing) : spacing)
    const time = Math.min(end, from + Math.ceil(step))
    return isSparse ? { time, txs: random.around(SPARSE_TXS) } : { time }
  }
}
