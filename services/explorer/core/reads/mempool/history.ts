import { Type } from '@sinclair/typebox'
import { feeRateUp } from '../../../../../pipelines/chain/feerate.js'
import { DAY_SECONDS, dayOfDate, isoTime } from '../../../../../pipelines/chain/time.js'
import { RATE_BANDS } from '../../../../../pipelines/mempool/rate-bands.js'
import {
  MEMPOOL_SAMPLES,
  NO_MIN_FEE,
  SAMPLE_STEPS,
  type SampleStep,
} from '../../../../../pipelines/tables/mempool/history.js'
import { type SelectedRow, Selection } from '../../../../../pipelines/tables/selection.js'
import { date, limit } from '../arguments.js'
import { oneOf } from '../fields.js'
import { declareRead, type ReadContext } from '../read.js'
import { MempoolHistory, type MempoolSample } from '../shapes.js'

const SAMPLES = new Selection(MEMPOOL_SAMPLES.columns)
type Sample = SelectedRow<typeof MEMPOOL_SAMPLES.columns>

const INTERVALS = Object.keys(SAMPLE_STEPS) as SampleStep[]
/** The size that the fee rates of nodes are for. */
const NODE_VSIZE = 1_000
/** The time after the end of a minute in which its sample is written, or later if the poller writes few events. */
const WRITTEN_MS = 5_000
const MINUTE_MS = 60_000

export const mempoolHistory = declareRead({
  name: 'mempoolHistory',
  about: 'Size, fees and fee rates of the mempool at the end of each minute, hour or day, oldest first.',
  path: '/mempool/history',
  fresh: 'mempool',
  args: {
    interval: Type.Unsafe<SampleStep>({
      ...oneOf(INTERVALS, 'time between two samples'),
      default: 'minute',
    }),
    from: date('first day, UTC'),
    to: date('last day, UTC'),
    limit: limit(120, 1_440, 'maximum number of items, the newest ones'),
  },
  answer: MempoolHistory,
  async resolve(context, { interval, from, to, limit }) {
    const now = Date.now()
    const begin = now - (now % MINUTE_MS)
    context.validity.until(now < begin + WRITTEN_MS ? begin + WRITTEN_MS : begin + MINUTE_MS)
    const items = await samplesOf(context, {
      step: SAMPLE_STEPS[interval],
      first: from === undefined ? 0 : (dayOfDate(from) ?? 0) * DAY_SECONDS,
      end: to === undefined ? 0xffff_ffff : ((dayOfDate(to) ?? 0) + 1) * DAY_SECONDS,
      limit,
    })
    return { interval, bands: [...RATE_BANDS], items, limit }
  },
})

interface Wanted {
  /** Seconds. */
  readonly step: number
  /** The begin of the first sample, and the end of the last one, in Unix seconds. */
  readonly first: number
  readonly end: number
  readonly limit: number
}

async function samplesOf(
  { history }: Pick<ReadContext, 'history'>,
  { step, first, end, limit }: Wanted,
): Promise<MempoolSample[]> {
  // One more: a sample shows how many transactions had entered before.
  const rows = await SAMPLES.bytes(
    history,
    `FROM mempool_samples WHERE step = {step:UInt32} AND start >= {first:Int64} AND start < {end:Int64}
     ORDER BY start DESC, taken_at DESC LIMIT 1 BY start LIMIT {most:UInt32}`,
    { step, first: first - step, end, most: limit + 1 },
  )
  return rows
    .map((row, index) => toSample(row, rows[index + 1]))
    .slice(0, limit)
    .filter((_, index) => (rows[index] as Sample).start >= first)
    .reverse()
}

function toSample(row: Sample, before: Sample | undefined): MempoolSample {
  const { start, takenAt, txCount, vsize, fees, minFee, bands } = row
  return {
    timestamp: isoTime(start),
    takenAt: new Date(takenAt).toISOString(),
    txCount,
    totalVsize: vsize,
    totalFees: fees.toString(),
    minFeeRate: minFee === NO_MIN_FEE ? null : feeRateUp(BigInt(minFee), NODE_VSIZE),
    enteredPerSecond: before === undefined ? null : enteringRate(before, row),
    vsizes: bands.map(Number),
  }
}

/** Returns the transactions that entered per second between two samples; null if they do not follow each other. */
function enteringRate(before: Sample, { step, start, takenAt, entered }: Sample): string | null {
  const seconds = (takenAt - before.takenAt) / 1000
  // A new log counts from 0.
  if (start - before.start !== step || seconds <= 0 || entered < before.entered) return null
  return ((entered - before.entered) / seconds).toFixed(2)
}
