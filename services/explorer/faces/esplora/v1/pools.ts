import { Type } from '@sinclair/typebox'
import { workOf } from '../../../../../pipelines/chain/difficulty.js'
import { DAY_SECONDS } from '../../../../../pipelines/chain/time.js'
import { type MiningPool, UNKNOWN } from '../../../core/definitions/mining-pools.js'
import { hashrateOf } from '../../../core/reads/statistics/mining.js'
import { BadArgument, declareRead, networkIn, NotFound, type ReadContext } from '../../../core/reads/read.js'
import { MAX_RECENT, type RecentBlock } from '../../../core/state/recent-blocks.js'
import { blockKey } from '../../../core/tables/point-keys.js'
import { numberIn, text } from '../arguments.js'
import { extendedBlocks } from './blocks.js'
import { interval, intervalIn } from './intervals.js'

const WEEK_SECONDS = 7 * DAY_SECONDS
/** 1970-01-05, the first Monday of Unix time. */
const FIRST_MONDAY = 4 * DAY_SECONDS
/** The number of the largest pools of the last week whose hashrates are listed together. */
const LARGEST = 10
/** The number of blocks of a list. */
const BLOCKS_OF_LIST = 100

const NO_POOL = 'This mining pool does not exist'
const slug = { slug: text('slug of a pool') }

/** Returns the pool that mined a block, or the pool that stands for all unknown miners. */
const minerOf = (block: RecentBlock, { definitions }: Pick<ReadContext, 'definitions'>): MiningPool =>
  definitions.pools.minerOf(block).pool ?? UNKNOWN

/**
 * Returns the blocks of an interval, lowest first. @throws BadArgument for a longer interval than the newest 20,160 blocks, whose miners
 * are not in memory.
 */
function blocksIn(context: ReadContext, name: string): readonly RecentBlock[] {
  networkIn(context)
  const { since } = intervalIn(context, name)
  const { recent } = context.chain
  const isWhole = recent[0]?.height === 0 || (recent[0]?.time ?? 0) < since
  if (!isWhole)
    throw new BadArgument(`This interval has more than ${(MAX_RECENT - 1).toLocaleString('en')} blocks`)
  return recent.filter(({ time }) => time >= since)
}

/** Returns the blocks of the last seconds of the chain, of those in memory. */
const newestOf = (recent: readonly RecentBlock[], seconds: number): readonly RecentBlock[] => {
  const since = (recent.at(-1)?.time ?? 0) - seconds
  return recent.filter(({ time }) => time >= since)
}

/** Returns the pool with a slug. @throws NotFound. */
function poolIn({ definitions }: Pick<ReadContext, 'definitions'>, name: string): MiningPool {
  const pool = [...definitions.pools.all, UNKNOWN].find((each) => each.slug === name)
  if (pool === undefined) throw new NotFound(NO_POOL)
  return pool
}

export const poolList = declareRead({
  name: 'mempoolSpacePoolList',
  path: '/v1/mining/pools',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  resolve: ({ definitions }) =>
    [...definitions.pools.all, UNKNOWN].map(({ name, slug, id }) => ({ name, slug, unique_id: id })),
})

/** Returns the heights of the blocks of the chain without transactions, from a height on. */
async function emptyBlocks({ chain, tables }: ReadContext, from: number): Promise<ReadonlySet<number>> {
  const sql = `SELECT DISTINCT height FROM blocks WHERE height BETWEEN {from:Int64} AND {to:Int64} AND tx_count = 1
    AND ${chain.view?.sqlFilter('height', 'hash') ?? '0'}`
  const rows = await tables.query<{ height: number }>(sql, { from, to: chain.height })
  return new Set(rows.map(({ height }) => height))
}

export const poolRanking = declareRead({
  name: 'mempoolSpacePools',
  path: '/v1/mining/pools/:interval',
  fresh: 'head',
  args: interval,
  answer: Type.Unknown(),
  async resolve(context, args) {
    const blocks = blocksIn(context, args.interval)
    const empty = await emptyBlocks(context, blocks[0]?.height ?? 0)
    const counts = new Map<MiningPool, { blockCount: number; emptyBlocks: number }>()
    for (const block of blocks) {
      const pool = minerOf(block, context)
      const { blockCount, emptyBlocks: without } = counts.get(pool) ?? { blockCount: 0, emptyBlocks: 0 }
      const isEmpty = empty.has(block.height)
      counts.set(pool, { blockCount: blockCount + 1, emptyBlocks: without + (isEmpty ? 1 : 0) })
    }
    const sorted = [...counts].sort(
      ([one, { blockCount: more }], [other, { blockCount: less }]) =>
        less - more || (one.name < other.name ? -1 : 1),
    )
    const { recent } = context.chain
    const rate = (seconds: number) => Number(hashrateOf(recent, newestOf(recent, seconds).length).hashrate)
    return {
      pools: sorted.map(([{ id, name, slug: poolSlug, link }, count], index) => ({
        poolId: id,
        name,
        link: link ?? '',
        blockCount: count.blockCount,
        rank: index + 1,
        emptyBlocks: count.emptyBlocks,
        slug: poolSlug,
        avgMatchRate: null,
        avgFeeDelta: null,
        poolUniqueId: id,
      })),
      blockCount: blocks.length,
      lastEstimatedHashrate: rate(DAY_SECONDS),
      lastEstimatedHashrate3d: rate(3 * DAY_SECONDS),
      lastEstimatedHashrate1w: rate(WEEK_SECONDS),
    }
  },
})

/** Returns what the coinbases of blocks of the chain pay, in base units. */
async function rewardOf({ chain, tables }: ReadContext, blocks: readonly RecentBlock[]): Promise<number> {
  const [first] = blocks
  if (first === undefined) return 0
  const sql = `SELECT height, toString(coinbase_output) AS reward FROM blocks
    WHERE height BETWEEN {from:Int64} AND {to:Int64} AND ${chain.view?.sqlFilter('height', 'hash') ?? '0'} LIMIT 1 BY height`
  const rows = await tables.query<{ height: number; reward: string }>(sql, {
    from: first.height,
    to: chain.height,
  })
  const heights = new Set(blocks.map(({ height }) => height))
  return Number(rows.reduce((sum, row) => (heights.has(row.height) ? sum + BigInt(row.reward) : sum), 0n))
}

/** A pool's blocks among the newest 20,160. */
export const pool = declareRead({
  name: 'mempoolSpacePool',
  path: '/v1/mining/pool/:slug',
  fresh: 'head',
  args: slug,
  answer: Type.Unknown(),
  async resolve(context, args) {
    networkIn(context)
    const found = poolIn(context, args.slug)
    const { recent } = context.chain
    const isOwn = (block: RecentBlock): boolean => minerOf(block, context) === found
    const own = recent.filter(isOwn)
    const spans = { all: recent, '24h': newestOf(recent, DAY_SECONDS), '1w': newestOf(recent, WEEK_SECONDS) }
    const counts = Object.entries(spans).map(([name, blocks]) => {
      return { name, count: blocks.filter(isOwn).length, of: blocks.length }
    })
    const share = ({ count, of }: { count: number; of: number }): number => (of === 0 ? 0 : count / of)
    const day = counts.find(({ name }) => name === '24h') ?? { count: 0, of: 0 }
    return {
      pool: {
        id: found.id,
        unique_id: found.id,
        name: found.name,
        link: found.link ?? '',
        addresses: found.addresses,
        regexes: found.tags,
        slug: found.slug,
      },
      blockCount: Object.fromEntries(counts.map(({ name, count }) => [name, count])),
      blockShare: Object.fromEntries(counts.map((each) => [each.name, share(each)])),
      estimatedHashrate: Number(hashrateOf(recent, day.of).hashrate) * share(day),
      reportedHashrate: null,
      avgBlockHealth: null,
      totalReward: await rewardOf(context, own),
    }
  },
})

/** Returns the newest blocks of a pool below a height, newest first. */
async function blocksOfPool(context: ReadContext, name: string, below: number) {
  networkIn(context)
  const found = poolIn(context, name)
  const own = context.chain.recent.filter(
    (block) => block.height < below && minerOf(block, context) === found,
  )
  const keys = own
    .slice(-BLOCKS_OF_LIST)
    .reverse()
    .map(({ height, blockHash }) => blockKey(height, blockHash))
  const rows = await context.tables.blocks.getAll(keys)
  return extendedBlocks(
    keys.flatMap((key) => rows.get(key) ?? []),
    context,
  )
}

export const poolBlocks = declareRead({
  name: 'mempoolSpacePoolBlocks',
  path: '/v1/mining/pool/:slug/blocks',
  fresh: 'head',
  args: slug,
  answer: Type.Unknown(),
  resolve: (context, args) => blocksOfPool(context, args.slug, Number.POSITIVE_INFINITY),
})

export const poolBlocksBelow = declareRead({
  name: 'mempoolSpacePoolBlocksBelow',
  path: '/v1/mining/pool/:slug/blocks/:height',
  fresh: 'head',
  args: { ...slug, height: text('height above the first block') },
  answer: Type.Unknown(),
  resolve: (context, args) => blocksOfPool(context, args.slug, numberIn(args.height)),
})

/** Returns the Monday at or before a time, in Unix seconds. */
const mondayOf = (time: number): number =>
  Math.floor((time - FIRST_MONDAY) / WEEK_SECONDS) * WEEK_SECONDS + FIRST_MONDAY

/** Returns the share and the hashrate of pools in each whole week, oldest first. */
function weekly(blocks: readonly RecentBlock[], pools: ReadonlySet<MiningPool>, context: ReadContext) {
  const weeks = new Map<number, RecentBlock[]>()
  for (const block of blocks) {
    const week = weeks.get(mondayOf(block.time)) ?? []
    week.push(block)
    weeks.set(mondayOf(block.time), week)
  }
  const last = mondayOf(blocks.at(-1)?.time ?? 0)
  const [first = 0] = blocks.map(({ time }) => time)
  const whole = [...weeks].filter(([monday]) => monday < last && monday >= first)
  return whole.flatMap(([monday, of]) => {
    const work = workOfAll(of)
    return [...pools].flatMap((each) => {
      const own = of.filter((block) => minerOf(block, context) === each).length
      const share = own / of.length
      const avgHashrate = (work / WEEK_SECONDS) * share
      return own === 0 ? [] : [{ timestamp: monday, avgHashrate, share, poolName: each.name }]
    })
  })
}

/** Returns the expected number of hashes to find blocks that follow each other. */
function workOfAll(blocks: readonly RecentBlock[]): number {
  const [first] = blocks
  const last = blocks.at(-1)
  if (first === undefined || last === undefined) return 0
  const own = workOf(first.bits)
  return Number(BigInt(`0x${last.chainwork}`) - BigInt(`0x${first.chainwork}`) + own)
}

export const poolHashrate = declareRead({
  name: 'mempoolSpacePoolHashrate',
  path: '/v1/mining/pool/:slug/hashrate',
  fresh: 'head',
  args: slug,
  answer: Type.Unknown(),
  resolve(context, args) {
    networkIn(context)
    return weekly(context.chain.recent, new Set([poolIn(context, args.slug)]), context)
  },
})

export const poolsHashrate = declareRead({
  name: 'mempoolSpacePoolsHashrate',
  path: '/v1/mining/hashrate/pools/:interval',
  fresh: 'head',
  args: interval,
  answer: Type.Unknown(),
  resolve(context, args) {
    const blocks = blocksIn(context, args.interval)
    const counts = new Map<MiningPool, number>()
    for (const block of newestOf(context.chain.recent, WEEK_SECONDS)) {
      const miner = minerOf(block, context)
      counts.set(miner, (counts.get(miner) ?? 0) + 1)
    }
    const largest = [...counts].sort(([, one], [, other]) => other - one).slice(0, LARGEST)
    return weekly(blocks, new Set(largest.map(([each]) => each)), context)
  },
})
