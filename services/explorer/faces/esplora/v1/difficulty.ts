import { Type } from '@sinclair/typebox'
import { changeInPercent, difficultyPeriod } from '../../../../../pipelines/chain/difficulty.js'
import { declareRead, networkIn } from '../../../core/reads/read.js'

export const difficultyAdjustment = declareRead({
  name: 'mempoolSpaceDifficulty',
  path: '/v1/difficulty-adjustment',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  resolve(context) {
    const network = networkIn(context)
    const { recent, height } = context.chain
    const period = difficultyPeriod(recent, network)
    const tip = recent.at(-1)
    if (period === undefined || tip === undefined) return null
    const { bits, previousBits, start, startTime, next, secondsLeft, expectedBits } = period
    const { interval } = network.retarget
    const [mined, left] = [height - start, next === undefined ? 0 : next - height]
    const spacing = network.blockSpacing
    const elapsed = tip.time - startTime
    const timeAvg = mined === 0 ? spacing : elapsed / mined
    return {
      progressPercent: (mined / interval) * 100,
      difficultyChange: expectedBits === undefined ? 0 : Number(changeInPercent(bits, expectedBits)),
      estimatedRetargetDate: (tip.time + (secondsLeft ?? 0)) * 1_000,
      remainingBlocks: left,
      remainingTime: (secondsLeft ?? 0) * 1_000,
      previousRetarget: previousBits === undefined ? 0 : Number(changeInPercent(previousBits, bits)),
      previousTime: startTime,
      nextRetargetHeight: next ?? 0,
      timeAvg: Math.round(timeAvg * 1_000),
      adjustedTimeAvg: Math.round(timeAvg * 1_000),
      timeOffset: 0,
      expectedBlocks: elapsed / spacing,
    }
  },
})
