import { Type } from '@sinclair/typebox'
import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import { dateOf, dayOf, isoTime } from '../../../../../pipelines/chain/time.js'
import { UNKNOWN } from '../../definitions/mining-pools.js'
import { limit } from '../arguments.js'
import { declareRead, NEVER, NotFound } from '../read.js'
import { MiningPoolDetails } from '../shapes.js'

export const miningPool = declareRead({
  name: 'miningPool',
  about: 'A mining pool: its newest blocks, and its share of the blocks of each day.',
  path: '/mining/pool',
  fresh: 'head',
  args: {
    slug: Type.String({
      default: UNKNOWN.slug,
      minLength: 1,
      maxLength: 100,
      description: 'name of the mining pool in URLs, or unknown for all miners that are no known mining pool',
    }),
    limit: limit(20, 100, 'maximum number of blocks'),
  },
  answer: MiningPoolDetails,
  notFound: ['Mining pool not found'],
  resolve({ chain: { recent }, definitions }, { slug, limit }) {
    const pool = [...definitions.pools.all, UNKNOWN].find((each) => each.slug === slug)
    if (pool === undefined) throw new NotFound('Mining pool not found', NEVER)
    const isOwn = (block: (typeof recent)[number]): boolean =>
      (definitions.pools.minerOf(block).pool ?? UNKNOWN) === pool
    const own = recent.filter(isOwn)
    const days = new Map<number, { all: number; own: number }>()
    for (const block of recent) {
      const day = dayOf(block.time)
      const count = days.get(day) ?? { all: 0, own: 0 }
      days.set(day, { all: count.all + 1, own: count.own + (isOwn(block) ? 1 : 0) })
    }
    // The blocks before the first one may be of the same day.
    const [first] = recent
    if (first !== undefined && first.height > 0) days.delete(dayOf(first.time))
    const sorted = [...days].sort(([one], [other]) => one - other)
    return {
      name: pool.name,
      slug: pool.slug,
      link: pool.link,
      window: recent.length,
      blockCount: own.length,
      percentage: percentOf(BigInt(own.length), BigInt(recent.length), 2),
      days: sorted.map(([day, count]) => ({
        date: dateOf(day),
        block_count: count.all,
        pool_block_count: count.own,
        percentage: percentOf(BigInt(count.own), BigInt(count.all), 2),
      })),
      items: own
        .slice(-limit)
        .reverse()
        .map(({ height, blockHash, time }) => ({ height, hash: blockHash, timestamp: isoTime(time) })),
      limit,
    }
  },
})
