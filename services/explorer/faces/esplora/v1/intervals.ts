import { DAY_SECONDS } from '../../../../../pipelines/chain/time.js'
import { BadArgument, type ReadContext } from '../../../core/reads/read.js'
import { text } from '../arguments.js'

const HOUR = 3_600
const MONTH = 30 * DAY_SECONDS
const YEAR = 365 * DAY_SECONDS

/** The intervals by their names: their length, and the length of the steps in which a series averages blocks, in seconds. */
const INTERVALS: Readonly<Record<string, { readonly length: number; readonly step: number }>> = {
  '24h': { length: DAY_SECONDS, step: 1 },
  '3d': { length: 3 * DAY_SECONDS, step: 1 },
  '1w': { length: 7 * DAY_SECONDS, step: 300 },
  '1m': { length: MONTH, step: 1_800 },
  '3m': { length: 3 * MONTH, step: 2 * HOUR },
  '6m': { length: 6 * MONTH, step: 3 * HOUR },
  '1y': { length: YEAR, step: 8 * HOUR },
  '2y': { length: 2 * YEAR, step: 8 * HOUR },
  '3y': { length: 3 * YEAR, step: 12 * HOUR },
  '4y': { length: 4 * YEAR, step: 12 * HOUR },
  all: { length: Number.POSITIVE_INFINITY, step: DAY_SECONDS },
}

/** The argument that names an interval. */
export const interval = { interval: text(Object.keys(INTERVALS).join(', ')) }

/** An interval that ends with the newest block. */
export interface Interval {
  /** Unix seconds; 0 for the whole chain. */
  readonly since: number
  /** The seconds that a point of a series stands for. */
  readonly step: number
}

/** Returns the interval with a name, back from the time of the newest block. @throws BadArgument. */
export function intervalIn({ chain }: Pick<ReadContext, 'chain'>, name: string): Interval {
  const found = Object.hasOwn(INTERVALS, name) ? INTERVALS[name] : undefined
  if (found === undefined)
    throw new BadArgument(`Invalid interval: one of ${Object.keys(INTERVALS).join(', ')} is expected`)
  const tip = chain.recent.at(-1)?.time ?? 0
  return { since: Math.max(0, tip - found.length), step: found.step }
}
