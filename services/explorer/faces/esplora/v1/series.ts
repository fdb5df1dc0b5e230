import { Type } from '@sinclair/typebox'
import { exactDifficulty } from '../../../../../pipelines/chain/difficulty.js'
import { DAY_SECONDS, dayOf } from '../../../../../pipelines/chain/time.js'
import { dailyHashrate } from '../../../core/reads/statistics/day-figures.js'
import { hashrateOf } from '../../../core/reads/statistics/mining.js'
import { BadArgument, declareRead, networkIn, NotFound, type ReadContext } from '../../../core/reads/read.js'
import { numberIn, text } from '../arguments.js'
import { interval, type Interval, intervalIn } from './intervals.js'

/** The number of blocks from which the current hashrate is computed. */
const HASHRATE_BLOCKS = 1_008
/** The maximum number of changes of the difficulty on a chain that changes it with every block. */
const MAX_CHANGES = 2_016
/** The maximum number of blocks of which rewards are summed. */
const MAX_REWARDS = 1_000_000
/** The longest time by which the time of a block may be ahead of the clock, and by which a requested time may be. */
const AHEAD_SECONDS = DAY_SECONDS

/** SQL of a figure of each point of a series, by its name. */
type Figures = Readonly<Record<string, string>>

/** Returns the averages of blocks of the chain in each step of an interval, oldest first. */
async function averages(
  { chain: { view, height }, tables }: ReadContext,
  { since, step }: Interval,
  figures: Figures,
): Promise<Record<string, number>[]> {
  if (view === undefined) return []
  const columns = Object.entries({ avgHeight: 'height', timestamp: 'time', ...figures })
  const sql = `SELECT ${columns.map(([name, of]) => `round(avg(${of})) AS ${name}`).join(', ')}
    FROM (SELECT * FROM blocks WHERE time >= {since:UInt32} AND height <= {tip:Int64}
      AND ${view.sqlFilter('height', 'hash')} LIMIT 1 BY height)
    GROUP BY intDiv(time, {step:UInt32}) ORDER BY intDiv(time, {step:UInt32})`
  return tables.query<Record<string, number>>(sql, { since, step, tip: height })
}

const series = (name: string, path: string, figures: Figures) =>
  declareRead({
    name,
    path: `/v1/mining/blocks/${path}/:interval`,
    fresh: 'head',
    args: interval,
    answer: Type.Unknown(),
    resolve(context, args) {
      networkIn(context)
      return averages(context, intervalIn(context, args.interval), figures)
    },
  })

export const feesSeries = series('mempoolSpaceFeesSeries', 'fees', { avgFees: 'total_fees' })
export const rewardsSeries = series('mempoolSpaceRewardsSeries', 'rewards', { avgRewards: 'coinbase_output' })

/** The rates that a point has by their percentiles; a block without transactions has none of its own. */
const percentile = (at: number): string => `arrayElement(fee_rate_percentiles, ${String(at)})`
export const feeRatesSeries = series('mempoolSpaceFeeRatesSeries', 'fee-rates', {
  avgFee_0: 'min_fee_rate',
  avgFee_10: percentile(1),
  avgFee_25: percentile(2),
  avgFee_50: percentile(3),
  avgFee_75: percentile(4),
  avgFee_90: percentile(5),
  avgFee_100: 'max_fee_rate',
})

export const sizesSeries = declareRead({
  name: 'mempoolSpaceSizesSeries',
  path: '/v1/mining/blocks/sizes-weights/:interval',
  fresh: 'head',
  args: interval,
  answer: Type.Unknown(),
  async resolve(context, args) {
    networkIn(context)
    const figures = { avgSize: 'size', avgWeight: 'weight' }
    const points = await averages(context, intervalIn(context, args.interval), figures)
    return {
      sizes: points.map(({ avgWeight: _, ...point }) => point),
      weights: points.map(({ avgSize: _, ...point }) => point),
    }
  },
})

/** A block with which the difficulty changed. */
interface Change {
  readonly time: number
  readonly height: number
  readonly difficulty: number
  /** The new difficulty as a multiple of the one before. */
  readonly adjustment: number
}

/** Returns the changes of the difficulty, oldest first, at most the newest 2,016 on a chain that changes it with every block. */
async function changesOf(context: ReadContext): Promise<Change[]> {
  const { chain, tables } = context
  const { retarget } = networkIn(context)
  const { view } = chain
  if (view === undefined) return []
  const blocks =
    retarget.interval === 1
      ? chain.recent.slice(-MAX_CHANGES - 1)
      : await tables.query<{ height: number; time: number; bits: number }>(
          `SELECT height, time, bits FROM blocks WHERE height % {interval:UInt32} = 0 AND height <= {tip:Int64}
            AND ${view.sqlFilter('height', 'hash')} ORDER BY height LIMIT 1 BY height`,
          { interval: retarget.interval, tip: chain.height },
        )
  return blocks.flatMap(({ time, height, bits }, index) => {
    const difficulty = exactDifficulty(bits)
    const before = index === 0 ? undefined : blocks[index - 1]?.bits
    // The first one is there only if it is the first of the chain.
    if (before === undefined) return height === 0 ? [{ time, height, difficulty, adjustment: 1 }] : []
    const adjustment = Math.round((difficulty / exactDifficulty(before)) * 1e6) / 1e6
    return [{ time, height, difficulty, adjustment }]
  })
}

const adjustments = async (context: ReadContext, since: number) =>
  (await changesOf(context))
    .filter(({ time }) => time >= since)
    .map(({ time, height, difficulty, adjustment }) => [time, height, difficulty, adjustment])
    .reverse()

export const difficultyAdjustments = declareRead({
  name: 'mempoolSpaceDifficultyAdjustments',
  path: '/v1/mining/difficulty-adjustments',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => adjustments(context, 0),
})

export const difficultyAdjustmentsIn = declareRead({
  name: 'mempoolSpaceDifficultyAdjustmentsIn',
  path: '/v1/mining/difficulty-adjustments/:interval',
  fresh: 'head',
  args: interval,
  answer: Type.Unknown(),
  resolve: (context, args) => adjustments(context, intervalIn(context, args.interval).since),
})

/** The hashrate of each whole day, and the changes of the difficulty. */
export const hashrates = declareRead({
  name: 'mempoolSpaceHashrates',
  path: '/v1/mining/hashrate/:interval',
  fresh: 'head',
  args: interval,
  answer: Type.Unknown(),
  async resolve(context, args) {
    networkIn(context)
    const { days, recent } = context.chain
    const { since } = intervalIn(context, args.interval)
    const tip = recent.at(-1)
    const today = dayOf(tip?.time ?? 0)
    const whole = days.filter(({ day }) => day < today && day * DAY_SECONDS >= since)
    return {
      hashrates: whole
        .map((day) => ({
          timestamp: day.day * DAY_SECONDS,
          avgHashrate: Number(dailyHashrate(day, Number.POSITIVE_INFINITY).hashrate),
        }))
        .reverse(),
      difficulty: (await changesOf(context)).filter(({ time }) => time >= since),
      currentHashrate: Number(hashrateOf(recent, HASHRATE_BLOCKS).hashrate),
      currentDifficulty: tip === undefined ? 0 : exactDifficulty(tip.bits),
    }
  },
})

/** The sums that the newest blocks paid, as texts. */
export const rewardStats = declareRead({
  name: 'mempoolSpaceRewardStats',
  path: '/v1/mining/reward-stats/:count',
  fresh: 'head',
  args: { count: text('number of blocks') },
  answer: Type.Unknown(),
  async resolve(context, args) {
    networkIn(context)
    const { chain, tables } = context
    const count = numberIn(args.count)
    if (count < 1 || count > MAX_REWARDS)
      throw new BadArgument(`the number of blocks must be from 1 to ${String(MAX_REWARDS)}`)
    const startBlock = Math.max(0, chain.height - count + 1)
    const sql = `SELECT toString(sum(coinbase_output)) AS totalReward, toString(sum(total_fees)) AS totalFee,
        toString(sum(tx_count)) AS totalTx
      FROM (SELECT coinbase_output, total_fees, tx_count, height FROM blocks WHERE height BETWEEN {from:Int64} AND {to:Int64}
        AND ${chain.view?.sqlFilter('height', 'hash') ?? '0'} LIMIT 1 BY height)`
    const [sums] = await tables.query<Record<'totalReward' | 'totalFee' | 'totalTx', string>>(sql, {
      from: startBlock,
      to: chain.height,
    })
    return { startBlock, endBlock: chain.height, ...sums }
  },
})

/** The newest block whose time is not after a time. */
export const blockAtTime = declareRead({
  name: 'mempoolSpaceBlockAtTime',
  path: '/v1/mining/blocks/timestamp/:timestamp',
  fresh: 'head',
  args: { timestamp: text('Unix seconds') },
  answer: Type.Unknown(),
  resolve(context, { timestamp }) {
    networkIn(context)
    const seconds = Number(timestamp)
    if (!/^[1-9][0-9]*$/.test(timestamp) || seconds > Date.now() / 1_000 + AHEAD_SECONDS)
      throw new BadArgument('Invalid timestamp, value must be Unix seconds')
    const { blocks, height: tip } = context.chain
    let best: { readonly height: number; readonly time: number } | undefined
    for (let height = tip; height >= 0; height--) {
      const time = blocks.timeAt(height)
      if (time <= seconds && time > (best?.time ?? -1)) best = { height, time }
    }
    if (best === undefined) throw new NotFound('Block not found')
    const { height, time } = best
    return { height, hash: blocks.hashAt(height), timestamp: new Date(time * 1_000).toISOString() }
  },
})
