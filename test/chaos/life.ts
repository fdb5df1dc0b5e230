import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../services/simnode/random.js'
import type { SourceNode } from './source-node.js'

const STEPS = 5
/** Small enough for one page of `/mempool/txs`. */
const MAX_POOLED = 60
/** Some are deeper than the final height. */
const DEEPEST = 14

/**
 * The life of the chain during a fault: transactions arrive, are replaced and dropped, blocks follow, branches
 * replace others.
 */
export async function live(node: SourceNode, random: Random): Promise<void> {
  for (let step = 0; step < STEPS; step++) {
    const { pool } = await node.order(`pool?enter=${String(3 + random.below(5))}&replace=1`)
    if (pool.length > MAX_POOLED) await node.order(`pool?evict=${String(pool.length >> 1)}`)
    const chance = random.fraction()
    if (chance < 0.3) await node.order(`reorg?depth=${String(1 + random.below(DEEPEST))}`)
    else if (chance < 0.35) await node.order('tip-back?blocks=1')
    else await node.order(`mine?blocks=${String(1 + random.below(3))}`)
    await sleep(random.below(150))
  }
}
