import { Type } from '@sinclair/typebox'
import { addressTransactions } from '../../core/reads/addresses/addresses.js'
import { balanceHistory } from '../../core/reads/addresses/balance-history.js'
import { DAY_SECONDS, dateOf, dayOfDate } from '../../../../pipelines/chain/time.js'
import { feeHistory } from '../../core/reads/chain/fee-history.js'
import type { MiningPoolDetails } from '../../core/reads/shapes.js'
import { address } from '../../core/reads/arguments.js'
import { oneOf } from '../../core/reads/fields.js'
import { BadArgument } from '../../core/reads/read.js'
import { miningDifficulty } from '../../core/reads/statistics/mining.js'
import { exposureHistory, valueHistory } from '../../core/reads/statistics/exposure.js'
import { dailyStats, dilithiumHistory } from '../../core/reads/statistics/statistics.js'
import type { SampleStep } from '../../../../pipelines/tables/mempool/history.js'
import { mempoolHistory } from '../../core/reads/mempool/history.js'
import type { Chart, Point } from './components/charts/chart.js'
import { bandNames, SHOWN_BANDS } from './components/charts/rate-bands.js'
import { typeName } from './components/scripts.js'
import { declareText, type PageContext, pastArgument } from './page.js'

/** Time spans of charts, in days, up to now. */
export const RANGES = { day: 1, week: 7, month: 30, year: 365, all: Number.POSITIVE_INFINITY } as const
export type Range = keyof typeof RANGES
/** The span of charts by day, which shorter ones do not shorten. */
const LEAST_DAYS = RANGES.week

/** Returns the argument of a page that names the span of its charts. @param shown the span without it. */
export const rangeOf = (shown: Range) =>
  Type.Unsafe<Range>({ ...oneOf(Object.keys(RANGES), 'time span of the charts'), default: shown })

/** The most items that reads of days and of samples return at once. */
const DAYS = 365
const SAMPLES = 1_440
const DAY_MINUTES = 1_440

const csvOf = ({ to }: PageContext, id: string, query: Readonly<Record<string, string>>): string =>
  to(`/charts/${id}.csv?${new URLSearchParams(query).toString()}`)

interface Dated {
  readonly date: string
}
type ReadDays<T> = (args: {
  readonly to?: string
  readonly limit: number
}) => Promise<{ items: readonly T[] }>

/** Returns the items of the newest days, oldest first. A read returns those of a year at most. */
async function newestDays<T extends Dated>(range: Range, read: ReadDays<T>): Promise<T[]> {
  const wanted = Math.max(LEAST_DAYS, RANGES[range])
  const all: T[] = []
  for (let to = {}; all.length < wanted;) {
    const limit = Math.min(DAYS, wanted - all.length)
    const { items } = await read({ ...to, limit })
    all.push(...items)
    const oldest = items.at(-1)
    if (items.length < limit || oldest === undefined) break
    to = { to: dateOf((dayOfDate(oldest.date) ?? 0) - 1) }
  }
  return all.reverse()
}

/** Returns the difficulty of each block of up to a week, and of each day of a longer span. */
export async function difficulties(page: PageContext, range: Range): Promise<Chart> {
  const { t, f, read } = page
  const frame = {
    id: 'difficulty',
    format: (value: string | number) => f.short(value).trim(),
    lines: [t.mining.difficulty],
    csv: csvOf(page, 'difficulty', { range }),
  }
  if (RANGES[range] <= RANGES.week) {
    const { items } = await read(miningDifficulty, { windowMinutes: RANGES[range] * DAY_MINUTES })
    const points = items.map(({ height, difficulty }): Point => [height, difficulty])
    return { ...frame, title: t.mining.difficultyByBlock, x: t.words.height, points }
  }
  const days = await newestDays(range, (args) => read(dailyStats, args))
  const points = days.map(({ date, avg_difficulty }): Point => [date, avg_difficulty])
  return { ...frame, title: t.mining.difficultyByDay, x: t.words.date, points }
}

/** The most blocks of which a read returns the fees at once. */
const FEE_BLOCKS = 2_016

/** Returns how many blocks a span has on average; undefined if they are more than a chart by block has. */
function blocksOf({ network }: PageContext, range: Range): number | undefined {
  const blocks = Math.ceil((RANGES[range] * DAY_SECONDS) / (network?.blockSpacing ?? DAY_SECONDS))
  return RANGES[range] <= RANGES.week && blocks <= FEE_BLOCKS ? blocks : undefined
}

/** Returns the fees of each block of a short span, and of each day of a longer one. */
export async function fees(page: PageContext, range: Range): Promise<Chart> {
  const { t, f, read } = page
  const frame = {
    id: 'fees',
    lines: [t.words.fees],
    csv: csvOf(page, 'fees', { range }),
    format: (value: string | number) => f.amount(String(value)),
    scale: 1e-8,
  }
  const limit = blocksOf(page, range)
  if (limit !== undefined) {
    const { items } = await read(feeHistory, { limit })
    const points = items.map(({ height, total_fees }): Point => [height, total_fees]).reverse()
    return { ...frame, title: t.mining.feesByBlock, x: t.words.height, points }
  }
  const days = await newestDays(range, (args) => read(dailyStats, args))
  const points = days.map(({ date, total_fees }): Point => [date, total_fees])
  return { ...frame, title: t.mining.feesByDay, x: t.words.date, points }
}

/** Returns how full each block of a short span is; of a longer one, how many transactions each day has. */
export async function fullnesses(page: PageContext, range: Range): Promise<Chart> {
  const { t, read } = page
  const frame = { id: 'fullness', csv: csvOf(page, 'fullness', { range }) }
  const limit = blocksOf(page, range)
  if (limit !== undefined) {
    const { items } = await read(feeHistory, { limit })
    const points = items.map(({ height, fullness }): Point => [height, fullness]).reverse()
    return {
      ...frame,
      title: t.mining.fullnessByBlock,
      lines: [t.mining.fullness],
      x: t.words.height,
      points,
    }
  }
  const days = await newestDays(range, (args) => read(dailyStats, args))
  const points = days.map(({ date, tx_count }): Point => [date, tx_count])
  return {
    ...frame,
    title: t.mining.transactionsByDay,
    lines: [t.words.transactions],
    x: t.words.date,
    points,
  }
}

/** Returns the share of a mining pool of the blocks of each day. */
export function poolShares({ t }: PageContext, { days }: MiningPoolDetails): Chart {
  return {
    id: 'pool',
    title: t.mining.shareByDay,
    x: t.words.date,
    lines: [`${t.words.share}, %`],
    points: days.map(({ date, percentage }): Point => [date, percentage]),
  }
}

/** Returns the hashrate of each day. */
export async function hashrates(page: PageContext, range: Range): Promise<Chart> {
  const { t, f, read } = page
  const days = await newestDays(range, (args) => read(dailyStats, args))
  return {
    id: 'hashrate',
    title: t.mining.hashrateByDay,
    x: t.words.date,
    points: days.map(({ date, hashrate }): Point => [date, hashrate]),
    lines: [t.mining.hashrate],
    format: (value) => `${f.short(value)}H/s`,
    csv: csvOf(page, 'hashrate', { range }),
  }
}

/** Returns the share of Dilithium at the end of each day. */
export async function adoption(page: PageContext, range: Range): Promise<Chart> {
  const { t, read } = page
  const days = await newestDays(range, (args) => read(dilithiumHistory, args))
  return {
    id: 'quantum',
    title: t.quantum.overTime,
    x: t.words.date,
    points: days.map((day): Point => [day.date, day.dilithiumTxPercent, day.dilithiumAddrPercent]),
    lines: [t.quantum.percentTransactions, t.quantum.percentAddresses],
    csv: csvOf(page, 'quantum', { range }),
  }
}

/** Returns the coins by what the chain shows of their keys, at the end of each day. */
export async function exposed(page: PageContext, range: Range): Promise<Chart> {
  const { t, f, read, network } = page
  const days = await newestDays(range, (args) => read(exposureHistory, args))
  const kinds = (Object.keys(PROTECTIONS_SHOWN) as ProtectionShown[]).filter(
    (kind) => kind !== 'protected' || network?.dilithium !== undefined,
  )
  return {
    id: 'exposure',
    title: t.quantum.exposureOverTime,
    x: t.words.date,
    points: days.map((day): Point => [day.date, ...kinds.map((kind) => day[kind])]),
    lines: kinds.map((kind) => t.quantum.protections[kind]),
    isStacked: true,
    colours: kinds.map((kind) => PROTECTIONS_SHOWN[kind]),
    csv: csvOf(page, 'exposure', { range }),
    format: (value) => f.amount(String(value)),
    scale: 1e-8,
  }
}

/** The kinds of protection that a chart shows, from its bottom, with the colours of their bands: what is exposed is compared most easily. */
const PROTECTIONS_SHOWN = { exposed: 7, hidden: 4, protected: 2, unknown: 0 } as const
type ProtectionShown = keyof typeof PROTECTIONS_SHOWN
/** The types with bands of their own; those of less value are one band together. */
const TYPES_SHOWN = 7

/** Returns the coins by the type of their script, at the end of each day. */
export async function typeValues(page: PageContext, range: Range): Promise<Chart> {
  const { t, f, read } = page
  const days = await newestDays(range, (args) => read(valueHistory, args))
  const most = new Map<string, bigint>()
  for (const { script_type, value } of days.flatMap(({ types }) => types))
    if (BigInt(value) > (most.get(script_type) ?? -1n)) most.set(script_type, BigInt(value))
  const names = [...most].sort(([, one], [, other]) => (one < other ? 1 : -1)).map(([name]) => name)
  const shown = names.slice(0, names.length > TYPES_SHOWN + 1 ? TYPES_SHOWN : TYPES_SHOWN + 1)
  const isRest = names.length > shown.length
  const points = days.map(({ date, types }): Point => {
    const sumOf = (some: typeof types): string =>
      String(some.reduce((sum, { value }) => sum + BigInt(value), 0n))
    const own = shown.map((name) => sumOf(types.filter(({ script_type }) => script_type === name)))
    const rest = types.filter(({ script_type }) => !shown.includes(script_type))
    return [date, ...own, ...(isRest ? [sumOf(rest)] : [])]
  })
  return {
    id: 'types',
    title: t.quantum.valuesOverTime,
    x: t.words.date,
    points,
    lines: [...shown.map((type) => typeName(t, type)), ...(isRest ? [t.quantum.otherTypes] : [])],
    isStacked: true,
    csv: csvOf(page, 'types', { range }),
    format: (value) => f.amount(String(value)),
    scale: 1e-8,
  }
}

/** Returns the transactions and the active and new addresses of each day. */
export async function activity(page: PageContext, range: Range): Promise<Chart> {
  const { t, read } = page
  const days = await newestDays(range, (args) => read(dailyStats, args))
  return {
    id: 'activity',
    title: t.supply.activity,
    x: t.words.date,
    points: days.map((day): Point => [day.date, day.tx_count, day.active_addresses, day.new_addresses]),
    lines: [t.words.transactions, t.supply.activeAddresses, t.supply.newAddresses],
    csv: csvOf(page, 'activity', { range }),
  }
}

/** The days below which the balance of an address is shown by block, and the transactions up to which it is. */
const [FEW_DAYS, FEW_TRANSACTIONS] = [14, 100]

/** Returns the balance of an address at the end of each day; after each block, if all its transactions are of a few days. */
export async function balances(page: PageContext, range: Range, of: string): Promise<Chart> {
  const { t, f, read } = page
  const days = await newestDays(range, (args) => read(balanceHistory, { address: of, ...args }))
  const frame = {
    id: 'balance',
    lines: [t.words.balance],
    csv: csvOf(page, 'balance', { range, address: of }),
    format: (value: string | number) => f.amount(String(value)),
    scale: 1e-8,
  }
  const byBlock = days.length < FEW_DAYS ? await balancesByBlock(page, of) : undefined
  if (byBlock !== undefined)
    return { ...frame, title: t.address.balanceByBlock, x: t.words.height, points: byBlock }
  const points = days.map(({ date, balance }): Point => [date, balance])
  return { ...frame, title: t.address.balanceOverTime, x: t.words.date, points }
}

/** Returns the balance of an address after each block that changes it, up to the tip; undefined if it has too many transactions. */
async function balancesByBlock({ read, chain }: PageContext, of: string): Promise<Point[] | undefined> {
  const { items, total } = await read(addressTransactions, {
    address: of,
    page: 1,
    limit: FEW_TRANSACTIONS,
    sort: 'asc',
  })
  const confirmed = items.filter(({ block_height }) => block_height !== null)
  if (total > FEW_TRANSACTIONS || confirmed.length === 0) return undefined
  const byHeight = new Map<number, string>()
  let balance = 0n
  for (const { block_height, value_change } of confirmed) {
    const height = block_height ?? 0
    // The balance is the same up to the block that changes it.
    if (height > 0 && !byHeight.has(height) && !byHeight.has(height - 1))
      byHeight.set(height - 1, String(balance))
    byHeight.set(height, String((balance += BigInt(value_change))))
  }
  // Nothing has changed since.
  byHeight.set(chain.height, String(balance))
  return [...byHeight]
}

/** The samples of a span, and of how many one is shown: a sample is a state, not a sum. */
const SAMPLING: Readonly<Record<Range, readonly [interval: SampleStep, count: number, every: number]>> = {
  day: ['minute', SAMPLES, 10],
  week: ['hour', 168, 1],
  month: ['hour', 720, 4],
  year: ['day', 365, 1],
  all: ['day', SAMPLES, 4],
}

/** Returns the size of the mempool by fee rate, at the end of minutes, hours or days. */
export async function mempoolSizes(page: PageContext, range: Range): Promise<Chart> {
  const { t, read } = page
  const [interval, limit, every] = SAMPLING[range]
  const { items, bands } = await read(mempoolHistory, { interval, limit })
  // A short history is shown completely.
  const shown =
    items.length <= limit / every ? items : items.filter((_, at) => (items.length - 1 - at) % every === 0)
  const edges = SHOWN_BANDS.map((band) => bands.indexOf(band))
  const points = shown.map(({ timestamp, vsizes }): Point => {
    const sums = edges.map((from, at) =>
      vsizes.slice(from, edges[at + 1]).reduce((sum, vsize) => sum + vsize, 0),
    )
    return [timestamp, ...sums]
  })
  return {
    id: 'mempool',
    title: `${t.mempool.history}, vB`,
    x: t.words.time,
    points,
    lines: bandNames(page),
    isStacked: true,
    csv: csvOf(page, 'mempool', { range }),
  }
}

/** Charts by the name of their CSV. */
const CHARTS = {
  'difficulty.csv': difficulties,
  'hashrate.csv': hashrates,
  'fees.csv': fees,
  'fullness.csv': fullnesses,
  'quantum.csv': adoption,
  'exposure.csv': exposed,
  'types.csv': typeValues,
  'activity.csv': activity,
  'mempool.csv': mempoolSizes,
  'balance.csv': async (page: PageContext, range: Range, of?: string) => {
    if (of === undefined) throw new BadArgument('address is missing')
    return balances(page, range, of)
  },
} satisfies Record<string, (page: PageContext, range: Range, of?: string) => Promise<Chart>>

/** The charts that are known as of any block. */
const PAST_CHARTS: ReadonlySet<string> = new Set([
  'quantum.csv',
  'exposure.csv',
  'types.csv',
  'activity.csv',
  'balance.csv',
])

const chart = Type.Union(
  Object.keys(CHARTS).map((each) => Type.Literal(each)),
  { description: Object.keys(CHARTS).join(' or ') },
)

/** The figures of a chart as CSV, with the points of a long series that its picture leaves out. */
export const chartCsv = declareText({
  name: 'chart',
  path: '/charts/:chart',
  args: { chart, range: rangeOf('all'), address: Type.Optional(address), at: pastArgument },
  async text(page, { chart, range, address: of }) {
    if (page.chain.present !== undefined && !PAST_CHARTS.has(chart))
      throw new BadArgument('at must be left out for this chart')
    const make = CHARTS[chart as keyof typeof CHARTS]
    const { x, lines, points } = await make(page, range, of)
    const rows = points.map((point) => point.slice(0, lines.length + 1).join(','))
    return `${[[x, ...lines].map(quoted).join(','), ...rows].join('\n')}\n`
  },
})

const quoted = (name: string): string => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)
