import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { FeeRate, flag, int, list, long, orNull, text } from '../fields.js'

// The shapes of forecasts of fees and confirmations. `shapes.ts` includes them.

/** The chances of forecasts by name, 0 to 1. */
export const CHANCES = { even: 0.5, likely: 0.8, safe: 0.95 } as const
export type ChanceName = keyof typeof CHANCES
export const CHANCE_NAMES = Object.keys(CHANCES) as ChanceName[]

const byChance = <T extends TSchema>(of: (percent: number) => T) => ({
  even: of(50),
  likely: of(80),
  safe: of(95),
})

export const FeeRates = Type.Object(
  byChance((percent) =>
    orNull(
      text(
        `confirmed in time with a chance of ${String(percent)} %, base units per virtual byte, decimal; null if no fee rate suffices`,
      ),
    ),
  ),
  { description: 'the lowest fee rates of a transaction that is sent now' },
)
export type FeeRates = Static<typeof FeeRates>

export const BlocksEstimate = Type.Object({
  blocks: int('number of blocks in which the transaction is to be confirmed'),
  feeRates: FeeRates,
  nodeFeeRate: orNull(
    text(
      'the node’s own estimate (estimatesmartfee), base units per virtual byte, decimal; null if it has none',
    ),
  ),
})

export const MinutesEstimate = Type.Object({
  minutes: int('time in which the transaction is to be confirmed, minutes'),
  feeRates: FeeRates,
})

const BLOCK_SECONDS = text('mean time between the newest blocks, in seconds, decimal')
const OBSERVED_MINUTES = int('minutes of the last day in which it is known what entered the mempool')

export const FeeEstimates = Type.Object({
  minimumFeeRate: FeeRate,
  blockSeconds: BLOCK_SECONDS,
  observedMinutes: OBSERVED_MINUTES,
  blocks: list(BlocksEstimate, 'fewest blocks first'),
  minutes: list(MinutesEstimate, 'shortest time first'),
})

export type FeeEstimates = Static<typeof FeeEstimates>

const PERCENT = text('chance of a confirmation in this time, percent, decimal')

export const BlocksChance = Type.Object({ blocks: int('number of blocks'), percent: PERCENT })
export const MinutesChance = Type.Object({ minutes: int('minutes'), percent: PERCENT })

export const ConfirmationBlocks = Type.Object(
  byChance((percent) =>
    orNull(int(`sufficient with a chance of ${String(percent)} %; null if more than 144`)),
  ),
  { description: 'numbers of blocks' },
)
export const ConfirmationMinutes = Type.Object(
  byChance((percent) =>
    orNull(text(`sufficient with a chance of ${String(percent)} %, decimal; null if more than 144 blocks`)),
  ),
  { description: 'times in minutes' },
)

export const ConfirmationForecast = Type.Object({
  feeRate: FeeRate,
  minimumFeeRate: FeeRate,
  accepted: flag('whether the fee rate reaches the minimum of the node'),
  waitingVsize: long('virtual bytes in the mempool that pay this fee rate (in steps of 5 %) or more'),
  blockSeconds: BLOCK_SECONDS,
  observedMinutes: OBSERVED_MINUTES,
  blocks: ConfirmationBlocks,
  minutes: ConfirmationMinutes,
  blockChances: list(BlocksChance, 'fewest blocks first'),
  minuteChances: list(MinutesChance, 'shortest time first'),
})
export type ConfirmationForecast = Static<typeof ConfirmationForecast>
