import type { Freshness } from '../reads/read.js'
import type { Validity } from '../reads/validity.js'
import type { Dependence } from './answer-cache.js'

/** Returns what an answer depends on, besides the definitions; undefined if it is not kept. */
export function dependenceOf(fresh: Freshness, { objects, past, untilMs }: Validity): Dependence | undefined {
  // What does not change by time alone depends on its block.
  if (past !== undefined && untilMs === undefined)
    return { on: [...objects, past.tipHash], untilMs: Number.POSITIVE_INFINITY }
  if (fresh === 'outside' || (fresh === 'live' && untilMs === undefined)) return undefined
  return { on: dependencesOf(fresh, objects), untilMs: untilMs ?? Number.POSITIVE_INFINITY }
}

/** Returns the height from which on an answer does not change any more; infinite if it may always change. */
export function finalFromOf(fresh: Freshness, { past, untilMs, finalHeight }: Validity): number {
  const isLasting = fresh === 'objects' || (past !== undefined && untilMs === undefined)
  return isLasting ? finalHeight : Number.POSITIVE_INFINITY
}

function dependencesOf(fresh: Freshness, objects: ReadonlySet<string>): readonly string[] {
  if (fresh === 'head') return ['head']
  if (fresh === 'live') return ['head', 'mempool', 'heartbeat']
  // A read that recorded no object depends on all.
  return fresh === 'objects' && objects.size > 0 ? [...objects] : ['head', 'mempool']
}
