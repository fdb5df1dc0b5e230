import { Type } from '@sinclair/typebox'
import { expectedBetween } from '../../../core/reads/mempool/expected-blocks.js'
import { declareRead, networkIn, type ReadContext } from '../../../core/reads/read.js'
import { hashIn, numberIn, text } from '../arguments.js'
import { blockIn } from '../blocks.js'
import { expectationOf } from './blocks.js'
import { interval, intervalIn } from './intervals.js'

/** The number of blocks of a list, beside the first one. */
const BLOCKS_OF_LIST = 15

/** Returns the scores of blocks of the chain from a height downwards: those of which it is known what was expected. */
async function scoresFrom(context: ReadContext, height: number) {
  networkIn(context)
  const { blocks, height: tip } = context.chain
  const to = Math.min(height, tip)
  const expected = await expectedBetween(context, { from: Math.max(0, to - BLOCKS_OF_LIST), to })
  return [...expected.values()]
    .filter((each) => each.canonical && blocks.hashAt(each.height) === each.hash)
    .sort((one, other) => other.height - one.height)
    .map(({ hash }) => ({ hash, ...expectationOf(hash, expected) }))
}

export const newestScores = declareRead({
  name: 'mempoolSpaceScores',
  path: '/v1/mining/blocks/audit/scores',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => scoresFrom(context, context.chain.height),
})

export const scoresBelow = declareRead({
  name: 'mempoolSpaceScoresBelow',
  path: '/v1/mining/blocks/audit/scores/:height',
  fresh: 'head',
  args: { height: text('height of the first block') },
  answer: Type.Unknown(),
  resolve: (context, { height }) => scoresFrom(context, numberIn(height)),
})

export const score = declareRead({
  name: 'mempoolSpaceScore',
  path: '/v1/mining/blocks/audit/score/:hash',
  fresh: 'head',
  args: { hash: text('hash of the block') },
  answer: Type.Unknown(),
  async resolve(context, args) {
    const hash = hashIn(args.hash)
    const { height } = await blockIn(context, hash)
    return { hash, ...expectationOf(hash, await expectedBetween(context, { from: height, to: height })) }
  },
})

/** The scores of the blocks of an interval: time, height and share of the expected weight in percent. */
export const predictions = declareRead({
  name: 'mempoolSpacePredictions',
  path: '/v1/mining/blocks/predictions/:interval',
  fresh: 'head',
  args: interval,
  answer: Type.Unknown(),
  async resolve(context, args) {
    networkIn(context)
    const { since } = intervalIn(context, args.interval)
    const { chain } = context
    const first = chain.recent.find(({ time }) => time >= since)?.height ?? chain.height
    const expected = await expectedBetween(context, { from: first, to: chain.height })
    return [...expected.values()]
      .filter(({ canonical, match_percent }) => canonical && match_percent !== null)
      .sort((one, other) => one.height - other.height)
      .map(({ height, match_percent }) => [chain.blocks.timeAt(height), height, Number(match_percent)])
  },
})
