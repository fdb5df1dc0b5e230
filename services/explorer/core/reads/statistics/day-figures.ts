import type { Static } from '@sinclair/typebox'
import { DAY_SECONDS, dateOf, dayOfDate } from '../../../../../pipelines/chain/time.js'
import { decimalString } from '../../../../../pipelines/chain/difficulty.js'
import type { Day, Days } from '../../state/days.js'
import type { DailyItem, HashrateItem } from '../shapes.js'

/** The number of digits that do not depend on the order in which the difficulties of a day were added. */
const SURE_DIGITS = 13

interface Span {
  /** The first and the last date. Not set: all days. */
  readonly from?: string
  readonly to?: string
  readonly limit: number
}

/** Returns the newest days between two dates (inclusive), newest first. */
export function daysBetween(days: Days, { from, to, limit }: Span): Days {
  const first = dayOfDate(from ?? '') ?? 0
  const last = dayOfDate(to ?? '') ?? Number.POSITIVE_INFINITY
  return days.filter(({ day }) => day >= first && day <= last).slice(0, limit)
}

/** Returns the figures of a day. @param now Unix milliseconds: the hashrate of today is computed from its elapsed seconds. */
export function daily(day: Day, now: number): Static<typeof DailyItem> {
  return {
    date: dateOf(day.day),
    block_count: day.blocks,
    tx_count: day.txs,
    total_fees: day.fees.toString(),
    active_addresses: day.activeAddresses,
    new_addresses: day.newAddresses,
    avg_difficulty: averageDifficulty(day),
    hashrate: hashrate(day, now),
    total_output: day.output.toString(),
  }
}

/** Returns the hashrate of a day. @param now Unix milliseconds. */
export function dailyHashrate(day: Day, now: number): Static<typeof HashrateItem> {
  return {
    date: dateOf(day.day),
    hashrate: hashrate(day, now),
    avg_difficulty: averageDifficulty(day),
    block_count: day.blocks,
  }
}

/** Returns the time at which the figures of today change: their hashrate depends on the elapsed seconds. Both in Unix milliseconds. */
export function nextSecond(now: number): number {
  return (Math.floor(now / 1000) + 1) * 1000
}

function averageDifficulty({ difficulties, blocks }: Day): string {
  return decimalString(Number((difficulties / blocks).toPrecision(SURE_DIGITS)))
}

/** Returns hashes per second. */
function hashrate({ day, work }: Day, now: number): string {
  const elapsed = Math.floor(now / 1000) - day * DAY_SECONDS
  const isToday = elapsed >= 0 && elapsed < DAY_SECONDS
  return decimalString(Number(work) / (isToday ? Math.max(1, elapsed) : DAY_SECONDS))
}
