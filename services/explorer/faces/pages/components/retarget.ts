import type { Static } from '@sinclair/typebox'
import { NotFound } from '../../../core/reads/read.js'
import type { Retarget } from '../../../core/reads/shapes.js'
import type { PageContext } from '../page.js'

type State = Static<typeof Retarget>

/** Returns a change in percent with its sign. */
export const signedPercent = ({ f }: PageContext, change: string): string =>
  change.startsWith('-') ? `−${f.percent(change.slice(1))}` : `+${f.percent(change)}`

/** Returns when the difficulty changes, in words. */
export function whenChanged({ t, f }: PageContext, { interval, blocks_left: left }: State): string {
  if (left === null) return t.mining.never
  return interval === 1 ? t.mining.eachBlock : t.mining.inBlocks(f.number(left))
}

/** Returns nothing for the failure of the read before the first block. @throws all other errors. */
export function withoutBlocks(error: unknown): undefined {
  if (!(error instanceof NotFound)) throw error
}
