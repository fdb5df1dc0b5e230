import { type Static, Type } from '@sinclair/typebox'
import { feeRateUp } from '../../../../../pipelines/chain/feerate.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { projectedWeight } from '../../../../../pipelines/mempool/projection.js'
import { stepOf } from '../../../../../pipelines/mempool/rate-steps.js'
import type { Situation } from '../../forecast/forecasts.js'
import { chanceOf, type Confirmation, type Futures } from '../../forecast/futures.js'
import { feeHistory } from '../chain/fee-history.js'
import { declareRead, networkIn, type ReadContext } from '../read.js'
import { ConfirmationForecast, FeeEstimates, type FeeRates } from '../shapes.js'
import { type ChanceName, CHANCES } from './forecast-shapes.js'
import { feeEstimatesOfNode, minimumOf, projectionOf } from './basis.js'

/** The times for which fee rates are estimated, in blocks and in minutes. */
const BLOCKS = [1, 2, 3, 6, 12, 24, 72, 144]
const MINUTES = [10, 20, 30, 60, 120, 240, 720, 1_440]
/** The newest blocks from which the time between blocks is derived, and those whose size counts. */
const SPACING_BLOCKS = 144
const MINED_BLOCKS = 12
/** The shortest time between blocks that is believed, in seconds: simulated blocks may all have the same time. */
const LEAST_SPACING = 1

/** The futures of the mempool, with what they are derived from. */
export interface Forecast {
  readonly futures: Futures
  /** Minutes of the last day in which it is known what entered the mempool. */
  readonly observedMinutes: number
  /** Base units per virtual byte. */
  readonly minimum: number
}

/** Returns the forecast for the mempool now, and records how long it is valid. */
export async function forecastOf(context: ReadContext, network: Network): Promise<Forecast> {
  const { sizes } = await projectionOf(context, network)
  const { futures, observedMinutes, untilMs } = await context.forecasts.of({
    sizes,
    capacity: projectedWeight(network) / network.witnessScale,
    ...(await recentBlocksOf(context, network)),
  })
  context.validity.until(untilMs)
  const { fee, vsize } = minimumOf(context.relayFees)
  return { futures, observedMinutes, minimum: Number(fee) / vsize }
}

/** Returns the time between the newest blocks, and what they confirmed per second. */
async function recentBlocksOf(
  context: ReadContext,
  network: Network,
): Promise<Pick<Situation, 'spacing' | 'mined'>> {
  const { items } = await context.ofHead(feeHistory, { limit: SPACING_BLOCKS })
  const [newest, oldest] = [items[0], items.at(-1)]
  const seconds =
    newest === undefined || oldest === undefined
      ? 0
      : (Date.parse(newest.timestamp) - Date.parse(oldest.timestamp)) / 1000
  const spacing =
    items.length < 2 ? network.blockSpacing : Math.max(seconds / (items.length - 1), LEAST_SPACING)
  const mined = items.slice(0, MINED_BLOCKS)
  const full = network.maxBlockWeight / network.witnessScale
  const vsize = mined.reduce((sum, { fullness }) => sum + (Number(fullness) / 100) * full, 0)
  return { spacing, mined: vsize / (Math.max(mined.length, 1) * spacing) }
}

/** Returns a fee rate in base units per virtual byte with two decimals, rounded up. */
const shown = (rate: number): string => feeRateUp(BigInt(Math.ceil(rate * 1e6 - 1e-3)), 1_000_000)

/** Returns the fee rate with a chance of a confirmation in time, not below the minimum. @param chance 0 to 1. */
export function rateFor(
  { futures, minimum }: Forecast,
  isInTime: (confirmation: Confirmation) => boolean,
  chance: number,
): string | null {
  const rate = futures.rateFor(isInTime, chance)
  return rate === undefined ? null : shown(Math.max(rate, minimum))
}

function ratesFor(forecast: Forecast, isInTime: (confirmation: Confirmation) => boolean): FeeRates {
  const rate = (name: ChanceName): string | null => rateFor(forecast, isInTime, CHANCES[name])
  return { even: rate('even'), likely: rate('likely'), safe: rate('safe') }
}

const withinBlocks =
  (most: number) =>
  ({ blocks }: Confirmation): boolean =>
    blocks <= most
const withinMinutes =
  (most: number) =>
  ({ seconds }: Confirmation): boolean =>
    seconds <= most * 60

/** An index that is behind has neither the node's newest blocks nor what waits now: its forecasts would be wrong. */
const fromNow = (): number => 0

export const feeEstimates = declareRead({
  name: 'feeEstimates',
  about:
    'Fee rates with which a transaction is confirmed within numbers of blocks and minutes, with three chances.',
  path: '/fees/estimates',
  fresh: 'mempool',
  args: {},
  answer: FeeEstimates,
  emptyFrom: fromNow,
  async resolve(context) {
    const forecast = await forecastOf(context, networkIn(context))
    const node = await feeEstimatesOfNode(context, BLOCKS)
    return {
      ...basisOf(forecast),
      blocks: BLOCKS.map((blocks, index) => {
        const rate = node[index]
        return {
          blocks,
          feeRates: ratesFor(forecast, withinBlocks(blocks)),
          nodeFeeRate: rate === undefined ? null : shown(rate),
        }
      }),
      minutes: MINUTES.map((minutes) => ({ minutes, feeRates: ratesFor(forecast, withinMinutes(minutes)) })),
    }
  },
})

/** The fee rates of a confirmation that is likely, as in `feeEstimates`; null where no fee rate suffices. */
export interface LikelyRates {
  readonly nextBlock: string | null
  readonly halfHour: string | null
  readonly hour: string | null
}

/** Returns some of the fee rates of `feeEstimates`, without asking the node for its own. */
export async function likelyRates(context: ReadContext, network: Network): Promise<LikelyRates> {
  const forecast = await forecastOf(context, network)
  const rate = (isInTime: (confirmation: Confirmation) => boolean): string | null =>
    rateFor(forecast, isInTime, CHANCES.likely)
  return {
    nextBlock: rate(withinBlocks(1)),
    halfHour: rate(withinMinutes(30)),
    hour: rate(withinMinutes(60)),
  }
}

const basisOf = ({ futures, observedMinutes, minimum }: Forecast) => ({
  minimumFeeRate: shown(minimum),
  blockSeconds: futures.market.spacing.toFixed(1),
  observedMinutes,
})

export const confirmationForecast = declareRead({
  name: 'confirmationForecast',
  about:
    'The time after which a transaction with a fee rate that is sent now is confirmed, with three chances.',
  path: '/fees/confirmation',
  fresh: 'mempool',
  args: {
    feeRate: Type.String({
      pattern: '^[0-9]{1,9}(\\.[0-9]{1,8})?$',
      description: 'base units per virtual byte, decimal',
      allowed: 'a decimal number of base units per virtual byte',
    }),
  },
  answer: ConfirmationForecast,
  emptyFrom: fromNow,
  async resolve(context, { feeRate }) {
    const forecast = await forecastOf(context, networkIn(context))
    return confirmationOf(forecast, Number(feeRate))
  },
})

/** Returns when a transaction with a fee rate is confirmed that is sent now. @param rate base units per virtual byte. */
export function confirmationOf(forecast: Forecast, rate: number): Static<typeof ConfirmationForecast> {
  const { futures, minimum } = forecast
  const confirmations = futures.confirmations(rate)
  const blocks = byChance(confirmations.map((each) => each.blocks))
  const seconds = byChance(confirmations.map((each) => each.seconds))
  const minutes = (name: ChanceName): string | null => {
    const value = seconds[name]
    return value === null ? null : (value / 60).toFixed(1)
  }
  const percent = (isInTime: (confirmation: Confirmation) => boolean): string =>
    (100 * chanceOf(confirmations, isInTime)).toFixed(1)
  return {
    feeRate: shown(rate),
    ...basisOf(forecast),
    accepted: rate >= minimum,
    waitingVsize: futures.market.waiting[stepOf(rate)] ?? 0,
    blocks,
    minutes: { even: minutes('even'), likely: minutes('likely'), safe: minutes('safe') },
    blockChances: BLOCKS.map((most) => ({ blocks: most, percent: percent(withinBlocks(most)) })),
    minuteChances: MINUTES.map((most) => ({ minutes: most, percent: percent(withinMinutes(most)) })),
  }
}

/** Returns for each chance the smallest value that at least this share of values do not exceed; null if it is infinite. */
function byChance(values: readonly number[]): Record<ChanceName, number | null> {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (chance: number): number | null => {
    const value = sorted[Math.ceil(sorted.length * chance) - 1] as number
    return Number.isFinite(value) ? value : null
  }
  return { even: at(CHANCES.even), likely: at(CHANCES.likely), safe: at(CHANCES.safe) }
}
