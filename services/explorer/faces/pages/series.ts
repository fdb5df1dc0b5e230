import { Type } from '@sinclair/typebox'
import { balanceHistory } from '../../core/reads/addresses/balance-history.js'
import { address } from '../../core/reads/arguments.js'
import { BadArgument } from '../../core/reads/read.js'
import { miningDifficulty, miningHashrate } from '../../core/reads/statistics/mining.js'
import { exposureHistory } from '../../core/reads/statistics/exposure.js'
import { dailyStats, dilithiumHistory } from '../../core/reads/statistics/statistics.js'
import type { SampleStep } from '../../../../pipelines/tables/mempool/history.js'
import { mempoolHistory } from '../../core/reads/mempool/history.js'
import type { Chart, Point } from './components/chart.js'
import { declareText, type PageContext } from './page.js'

const DAYS = 365
/** The points of a page; the CSV has all. */
const SHOWN_BLOCKS = 360
const ALL_BLOCKS = 20_160
const SHOWN_SAMPLES = 120
const ALL_SAMPLES = 1_440

const csvOf = ({ to }: PageContext, id: string, query = ''): string => to(`/charts/${id}.csv${query}`)

/** Returns the difficulty of the newest blocks. */
export async function difficulties(page: PageContext, most = SHOWN_BLOCKS): Promise<Chart> {
  const { t, read } = page
  const { items } = await read(miningDifficulty, { limit: most })
  const points = items.map(({ height, difficulty }): Point => [height, difficulty])
  return {
    id: 'difficulty',
    title: t.mining.difficultyByBlock,
    x: t.words.height,
    points,
    lines: [t.mining.difficulty],
    csv: csvOf(page, 'difficulty'),
  }
}

/** Returns the hashrate of each day. */
export async function hashrates(page: PageContext): Promise<Chart> {
  const { t, read } = page
  const { items } = await read(miningHashrate, { limit: DAYS })
  const points = items.map(({ date, hashrate }): Point => [date, hashrate]).reverse()
  return {
    id: 'hashrate',
    title: t.mining.hashrateByDay,
    x: t.words.date,
    points,
    lines: [t.mining.hashrateUnit],
    csv: csvOf(page, 'hashrate'),
  }
}

/** Returns the share of Dilithium at the end of each day. */
export async function adoption(page: PageContext): Promise<Chart> {
  const { t, read } = page
  const { items } = await read(dilithiumHistory, { limit: DAYS })
  const points = items.map((day): Point => [day.date, day.dilithiumTxPercent, day.dilithiumAddrPercent])
  return {
    id: 'quantum',
    title: t.quantum.overTime,
    x: t.words.date,
    points: points.reverse(),
    lines: [t.quantum.percentTransactions, t.quantum.percentAddresses],
    csv: csvOf(page, 'quantum'),
  }
}

/** Returns the exposed share of all coins at the end of each day. */
export async function exposed(page: PageContext): Promise<Chart> {
  const { t, read } = page
  const { items } = await read(exposureHistory, { limit: DAYS })
  const points = items.map(({ date, exposedPercent }): Point => [date, exposedPercent])
  return {
    id: 'exposure',
    title: t.quantum.exposureOverTime,
    x: t.words.date,
    points: points.reverse(),
    lines: [t.quantum.percentExposed],
    csv: csvOf(page, 'exposure'),
  }
}

/** Returns the transactions and the active and new addresses of each day. */
export async function activity(page: PageContext): Promise<Chart> {
  const { t, read } = page
  const { items } = await read(dailyStats, { limit: DAYS })
  const points = items.map((day): Point => [day.date, day.tx_count, day.active_addresses, day.new_addresses])
  return {
    id: 'activity',
    title: t.supply.activity,
    x: t.words.date,
    points: points.reverse(),
    lines: [t.words.transactions, t.supply.activeAddresses, t.supply.newAddresses],
    csv: csvOf(page, 'activity'),
  }
}

/** Returns the balance of an address at the end of each day; undefined if there is only one day. */
export async function balances(page: PageContext, of: string): Promise<Chart | undefined> {
  const { t, f, read } = page
  const { items } = await read(balanceHistory, { address: of, limit: DAYS })
  if (items.length < 2) return undefined
  const points = items.map(({ date, balance }): Point => [date, balance]).reverse()
  return {
    id: 'balance',
    title: t.address.balanceOverTime,
    x: t.words.date,
    points,
    lines: [t.words.balance],
    csv: csvOf(page, 'balance', `?address=${of}`),
    format: (value) => f.amount(String(value)),
    scale: 1e-8,
  }
}

/** The fee rate of the second line, the lower edge of a band, in base units per virtual byte. */
const PAYING_FROM = '10.00'

/** Returns the size of the mempool at the end of each minute, hour or day. */
export async function mempoolSizes(
  page: PageContext,
  interval: SampleStep,
  most = SHOWN_SAMPLES,
): Promise<Chart> {
  const { t, f, read } = page
  const { items, bands } = await read(mempoolHistory, { interval, limit: most })
  const from = bands.indexOf(PAYING_FROM)
  const points = items.map(({ timestamp, totalVsize, vsizes }): Point => {
    return [timestamp, totalVsize, vsizes.slice(from).reduce((sum, vsize) => sum + vsize, 0)]
  })
  return {
    id: `mempool-${interval}`,
    title: t.mempool.history,
    x: t.words.time,
    points,
    lines: [`${t.mempool.vsize}, vB`, t.mempool.payingFrom(f.rate(f.number(Number(PAYING_FROM))))],
    csv: csvOf(page, `mempool-${interval}`),
  }
}

/** Charts by the name of their CSV. */
const CHARTS = {
  'difficulty.csv': (page: PageContext) => difficulties(page, ALL_BLOCKS),
  'hashrate.csv': hashrates,
  'quantum.csv': adoption,
  'exposure.csv': exposed,
  'activity.csv': activity,
  'mempool-minute.csv': (page: PageContext) => mempoolSizes(page, 'minute', ALL_SAMPLES),
  'mempool-hour.csv': (page: PageContext) => mempoolSizes(page, 'hour', ALL_SAMPLES),
  'mempool-day.csv': (page: PageContext) => mempoolSizes(page, 'day', ALL_SAMPLES),
  'balance.csv': async (page: PageContext, of?: string) => {
    const chart = of === undefined ? undefined : await balances(page, of)
    if (chart === undefined) throw new BadArgument('address must be one with a history of balances')
    return chart
  },
} satisfies Record<string, (page: PageContext, of?: string) => Promise<Chart>>

const chart = Type.Union(
  Object.keys(CHARTS).map((each) => Type.Literal(each)),
  { description: Object.keys(CHARTS).join(' or ') },
)

/** The figures of a chart as CSV, all that the API has. */
export const chartCsv = declareText({
  name: 'chart',
  path: '/charts/:chart',
  args: { chart, address: Type.Optional(address) },
  async text(page, { chart, address: of }) {
    const make = CHARTS[chart as keyof typeof CHARTS]
    const { x, lines, points } = await make(page, of)
    const rows = points.map((point) => point.slice(0, lines.length + 1).join(','))
    return `${[[x, ...lines].map(quoted).join(','), ...rows].join('\n')}\n`
  },
})

const quoted = (name: string): string => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)
