import { type Static, Type } from '@sinclair/typebox'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { DAY_SECONDS, dayOfDate, isoTime } from '../../../../../pipelines/chain/time.js'
import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import {
  changeInPercent,
  decimalString,
  difficultyOf,
  difficultyPeriod,
} from '../../../../../pipelines/chain/difficulty.js'
import { type MiningPool, UNKNOWN } from '../../definitions/mining-pools.js'
import type { RecentBlock } from '../../state/recent-blocks.js'
import { date, limit } from '../arguments.js'
import { dailyHashrate, nextSecond } from './day-figures.js'
import { BadArgument, declareRead, NotFound, type ReadContext } from '../read.js'
import { listed } from '../lists.js'
import { DifficultyItem, HashrateItem, MiningPools, NetworkHashrate, Retarget } from '../shapes.js'

/** The maximum length of a series of difficulties: two weeks of one block a minute. */
const MAX_DIFFICULTIES = 20_160

/** The most blocks of which the mining pools are counted. */
export const MOST_COUNTED = 10_000

export const miningPools = declareRead({
  name: 'miningPools',
  about: 'Who mined the newest blocks, the largest first.',
  path: '/mining/pools',
  fresh: 'head',
  args: { window: limit(1440, MOST_COUNTED, 'maximum number of blocks, the newest ones') },
  answer: MiningPools,
  resolve({ chain, definitions }, { window }) {
    const blocks = chain.recent.slice(-window)
    const shares = new Map<MiningPool, { count: number; payout: Buffer | undefined }>()
    for (const block of blocks) {
      const { pool = UNKNOWN, payout } = definitions.pools.minerOf(block)
      const share = shares.get(pool)
      shares.set(pool, { count: (share?.count ?? 0) + 1, payout: payout ?? share?.payout })
    }
    const pools = [...shares].map(([pool, { count, payout }]) => ({
      name: pool.name,
      slug: pool.slug,
      address:
        pool === UNKNOWN || payout === undefined || chain.network === undefined
          ? null
          : (addressOf(payout, chain.network) ?? null),
      link: pool.link,
      blockCount: count,
      percentage: percentOf(BigInt(count), BigInt(blocks.length), 2),
    }))
    pools.sort((one, other) => other.blockCount - one.blockCount || (one.name < other.name ? -1 : 1))
    return { window, blockCount: blocks.length, pools }
  },
})

export const miningDifficulty = declareRead({
  name: 'miningDifficulty',
  about:
    'The difficulty of each block, oldest first; dates take precedence over minutes, and minutes over the limit.',
  path: '/mining/difficulty',
  fresh: 'head',
  args: {
    limit: limit(2000, MAX_DIFFICULTIES),
    windowMinutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_080,
        description: 'minutes before the time of the newest block',
      }),
    ),
    from: date('first day, UTC; requires to'),
    to: date('last day, UTC; requires from'),
  },
  answer: listed(DifficultyItem),
  async resolve(context, { limit, windowMinutes, from, to }) {
    if (from !== undefined && to === undefined) throw new BadArgument('to must be given with from')
    if (to !== undefined && from === undefined) throw new BadArgument('from must be given with to')
    const { recent } = context.chain
    if (from !== undefined && to !== undefined)
      return { items: await difficultiesBetween(context, dayOfDate(from) ?? 0, dayOfDate(to) ?? 0), limit }
    const newest = recent.slice(-MAX_DIFFICULTIES)
    if (windowMinutes === undefined) return { items: newest.slice(-limit).map(toDifficulty), limit }
    const since = (newest.at(-1)?.time ?? 0) - windowMinutes * 60
    return { items: newest.filter(({ time }) => time >= since).map(toDifficulty), limit }
  },
})

/** Returns the difficulties of the newest blocks with a timestamp of these days, both inclusive; oldest first. */
async function difficultiesBetween(
  { chain: { view, height }, tables }: ReadContext,
  first: number,
  last: number,
): Promise<DifficultyItem[]> {
  if (view === undefined || first > last) return []
  const sql = `SELECT height, time, bits FROM blocks
    WHERE time >= {first:Int64} AND time < {end:Int64} AND height <= {tip:Int64} AND ${view.sqlFilter('height', 'hash')}
    ORDER BY height DESC LIMIT 1 BY height LIMIT ${String(MAX_DIFFICULTIES)}`
  const params = { first: first * DAY_SECONDS, end: (last + 1) * DAY_SECONDS, tip: height }
  const rows = await tables.query<{ height: number; time: number; bits: number }>(sql, params)
  return rows.reverse().map(toDifficulty)
}

function toDifficulty({ height, time, bits }: Pick<RecentBlock, 'height' | 'time' | 'bits'>): DifficultyItem {
  return { height, timestamp: isoTime(time), difficulty: difficultyOf(bits) }
}

export const miningRetarget = declareRead({
  name: 'miningRetarget',
  about: 'The current difficulty, and when and by how much it changes next.',
  path: '/mining/retarget',
  fresh: 'head',
  args: {},
  answer: Retarget,
  notFound: ['Block not found'],
  resolve({ chain: { network, recent, height } }) {
    const period = network && difficultyPeriod(recent, network)
    const tip = recent.at(-1)
    if (network === undefined || period === undefined || tip === undefined)
      throw new NotFound('Block not found')
    const { bits, previousBits, start, startTime, next, secondsLeft, expectedBits } = period
    return {
      difficulty: difficultyOf(bits),
      interval: network.retarget.interval,
      start_height: start,
      start_time: isoTime(startTime),
      next_height: next ?? null,
      blocks_left: next === undefined ? null : next - height,
      expected_time: secondsLeft === undefined ? null : isoTime(tip.time + secondsLeft),
      expected_change: expectedBits === undefined ? null : changeInPercent(bits, expectedBits),
      previous_change: previousBits === undefined ? null : changeInPercent(previousBits, bits),
    }
  },
})

export const miningHashrate = declareRead({
  name: 'miningHashrate',
  about: 'The hashrate of each UTC day, newest first.',
  path: '/mining/hashrate',
  fresh: 'live',
  args: { limit: limit(30, 365) },
  answer: listed(HashrateItem),
  resolve({ chain, validity }, { limit }) {
    const now = Date.now()
    validity.until(nextSecond(now))
    return { items: chain.days.slice(0, limit).map((day) => dailyHashrate(day, now)), limit }
  },
})

/** Like the node's getnetworkhashps: the work of the newest blocks divided by the span of their timestamps. */
export const networkHashrate = declareRead({
  name: 'networkHashrate',
  about: 'The hashrate by the work of the newest blocks.',
  path: '/mining/network-hashrate',
  fresh: 'head',
  args: {
    window: Type.Integer({ minimum: 2, maximum: 10_080, default: 1440, description: 'number of blocks' }),
  },
  answer: NetworkHashrate,
  resolve: ({ chain: { recent } }, { window }) => hashrateOf(recent, window),
})

/** Returns the hashrate by the work of the newest blocks, at most `window` of them. @param recent lowest first. */
export function hashrateOf(recent: readonly RecentBlock[], window: number): Static<typeof NetworkHashrate> {
  const blocks = recent.slice(-(window + 1))
  const [lowest] = blocks
  const tip = blocks.at(-1)
  if (lowest === undefined || tip === undefined)
    return { hashrate: '0', window, blockCount: 0, elapsedSeconds: 0 }
  let earliest = tip.time
  let latest = tip.time
  for (const { time } of blocks) {
    earliest = Math.min(earliest, time)
    latest = Math.max(latest, time)
  }
  const elapsedSeconds = latest - earliest
  const work = BigInt(`0x${tip.chainwork}`) - BigInt(`0x${lowest.chainwork}`)
  const hashrate = elapsedSeconds === 0 ? '0' : decimalString(Number(work) / elapsedSeconds)
  return { hashrate, window, blockCount: blocks.length - 1, elapsedSeconds }
}
