import { dateOf } from '../../../../../pipelines/chain/time.js'
import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import { MAIN } from '../../../../../pipelines/chain/networks.js'
import { richest } from '../../../../../pipelines/tables/lists/ranking.js'
import { daysOf } from '../../state/past.js'
import { at, date, limit, page } from '../arguments.js'
import { daily, daysBetween, nextSecond } from './day-figures.js'
import { declareRead, NEVER, NO_BLOCK, NotBuiltYet, NotFound } from '../read.js'
import { listed, paged } from '../lists.js'
import { AdoptionItem, DailyItem, DilithiumStats, RichListItem, StatsSummary, Supply } from '../shapes.js'
import { statsSummary } from './summary.js'
import { scriptOf } from '../script.js'

export const summary = declareRead({
  name: 'statsSummary',
  about: 'The state of chain, mempool and index.',
  path: '/stats/summary',
  fresh: 'live',
  args: { at },
  answer: StatsSummary,
  notFound: [NO_BLOCK],
  resolve: (context) => statsSummary(context.chain, context.mempool, context.indexer()),
})

export const supply = declareRead({
  name: 'supply',
  about: 'The circulating and the maximum supply.',
  path: '/stats/supply',
  fresh: 'head',
  args: { at },
  answer: Supply,
  notFound: [NO_BLOCK],
  resolve: ({ chain: { tip, network } }) => ({
    circulatingSupply: String(tip?.supply ?? 0),
    utxoCount: Number(tip?.utxoCount ?? 0),
    // The network is unknown before the first head.
    maxSupply: (network ?? MAIN).maxSupply.toString(),
  }),
})

/** The error text of a rich list as of a block from which no ranking leads to the balances that are kept. */
const NO_RANKING = 'No ranking as of this block'

export const richList = declareRead({
  name: 'richList',
  about: 'Addresses by balance, highest first.',
  path: '/stats/richlist',
  fresh: 'head',
  args: { page, limit: limit(100, 500), at },
  answer: paged(RichListItem),
  notFound: [NO_BLOCK, NO_RANKING],
  async resolve(context, { page, limit }) {
    const { chain, tables, definitions } = context
    const total = Number(chain.tip?.fundedAddresses ?? 0)
    const offset = (page - 1) * limit
    if (chain.view === undefined || offset >= total) return { items: [], total, page, limit }
    const rows = await richest(tables, chain.view.tagFilter(), { offset, limit })
    if (rows === undefined && chain.present !== undefined) throw new NotFound(NO_RANKING, NEVER)
    if (rows === undefined) throw new NotBuiltYet('no ranking of this chain yet')
    const items = rows.map(({ rank, address, balance, txCount, isDilithium }) => ({
      rank,
      address,
      balance,
      percentage: percentOf(BigInt(balance), chain.tip?.supply ?? 0n, 4),
      tx_count: txCount,
      isDilithium,
      label: definitions.labels.ofScript(scriptOf(context, address)?.scriptHash ?? '')?.label ?? null,
    }))
    return { items, total, page, limit }
  },
})

export const dailyStats = declareRead({
  name: 'dailyStats',
  about: 'Figures of each UTC day, newest first.',
  path: '/stats/daily',
  fresh: 'live',
  args: { from: date('first day, UTC'), to: date('last day, UTC'), limit: limit(30, 365), at },
  answer: listed(DailyItem),
  notFound: [NO_BLOCK],
  async resolve({ chain, tables, validity }, span) {
    const days = daysBetween(await daysOf(chain, tables), span)
    // As of an earlier block, its day has lasted until its time.
    const now = chain.present === undefined ? Date.now() : Number(chain.tip?.time) * 1000
    validity.until(nextSecond(now))
    return { items: days.map((day) => daily(day, now)), limit: span.limit }
  },
})

export const dilithium = declareRead({
  name: 'dilithiumStats',
  about: 'The adoption of Dilithium.',
  path: '/stats/dilithium',
  isOfDilithium: true,
  fresh: 'head',
  args: { at },
  answer: DilithiumStats,
  notFound: [NO_BLOCK],
  resolve: ({ chain: { tip } }) =>
    adoption({
      dilithiumTxs: Number(tip?.sumDilithiumTxs ?? 0),
      txs: Number(tip?.sumTxs ?? 0),
      dilithiumAddresses: Number(tip?.dilithiumAddresses ?? 0),
      addresses: Number(tip?.addresses ?? 0),
    }),
})

export const dilithiumHistory = declareRead({
  name: 'dilithiumHistory',
  about: 'The adoption of Dilithium at the end of each UTC day, newest first.',
  path: '/stats/dilithium/history',
  isOfDilithium: true,
  fresh: 'head',
  args: { from: date('first day, UTC'), to: date('last day, UTC'), limit: limit(30, 365), at },
  answer: listed(AdoptionItem),
  notFound: [NO_BLOCK],
  async resolve({ chain, tables }, span) {
    const days = daysBetween(await daysOf(chain, tables), span)
    return { items: days.map((day) => ({ date: dateOf(day.day), ...adoption(day) })), limit: span.limit }
  },
})

interface Counts {
  readonly dilithiumTxs: number
  readonly txs: number
  readonly dilithiumAddresses: number
  readonly addresses: number
}

function adoption({ dilithiumTxs, txs, dilithiumAddresses, addresses }: Counts): DilithiumStats {
  return {
    dilithiumTransactions: dilithiumTxs,
    totalTransactions: txs,
    dilithiumTxPercent: percentOf(BigInt(dilithiumTxs), BigInt(txs), 2),
    dilithiumAddresses,
    totalAddresses: addresses,
    dilithiumAddrPercent: percentOf(BigInt(dilithiumAddresses), BigInt(addresses), 2),
  }
}
