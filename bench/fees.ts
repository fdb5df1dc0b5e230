import { CAPACITY, type MarketOptions, type MarketTx, playMarket, SPACING } from './fee-market.js'
import { FeeMethods, type Quote, TESTED_CHANCES } from './fee-methods.js'
import { type Recording, type RecordedPromises, recordedPromises } from './fee-recordings.js'
import type { Figure } from './report.js'

/** Time before the first estimates: the node's method needs days to begin with. */
const WARM_SECONDS = 3 * 86_400
/** The fee rate below which nothing is relayed. */
const MINIMUM = 0.1
const WITNESS_SCALE = 4
/** The chances that the API names, with the shares of transactions that must be confirmed in time at least. */
const NAMED = [
  ['even', 0.5, 0.5],
  ['likely', 0.8, 0.76],
  ['safe', 0.95, 0.88],
] as const

export interface FeesOptions {
  readonly days: number
  readonly recordings: readonly Recording[]
}

const MARKETS = [
  { name: 'quiet', load: 0.6, rushes: 0.3 },
  { name: 'busy', load: 0.8, rushes: 0.5 },
  { name: 'congested', load: 0.97, rushes: 0.7 },
] as const

/** A fee rate that a method quoted, and what would have sufficed. */
interface Tested extends Quote {
  /** The lowest fee rate that would have been confirmed in time. */
  readonly needed: number
  readonly isConfirmed: boolean
}

/**
 * Back-tests the estimates of fees on simulated congestion and on recorded mempools: the share of transactions that are confirmed within
 * the promised number of blocks, and how much too much they pay. Baselines are the node's method and mempool.space's, at the same
 * moments. Overpayments are compared at the lowest chance that confirms at least as many as the baseline.
 */
export function fees({ days, recordings }: FeesOptions): Figure[] {
  const tested = MARKETS.map((market) => ({ name: market.name, quotes: backTest({ ...market, days }) }))
  const all = tested.flatMap(({ quotes }) => quotes)
  const figures = [
    ...tested.flatMap(({ name, quotes }) =>
      NAMED.map(([chance, promised, least]) => ({
        name: `${name}_${chance}_confirmed`,
        value: shareOf(quotes.filter(({ method }) => method === String(promised))),
        unit: 'of transactions',
        baseline: least,
        ratio: shareOf(quotes.filter(({ method }) => method === String(promised))) / least,
      })),
    ),
    ...[1, 3, 6].flatMap((blocks) => compared(all, 'mempool.space', blocks)),
    ...[2, 6, 24, 144].flatMap((blocks) => compared(all, 'node', blocks)),
  ]
  return [...figures, ...recordings.map(recordedPromises).flatMap(ofRecording)]
}

/** Plays a market and judges all estimates by what happened afterwards. */
function backTest(options: MarketOptions): Tested[] {
  const methods = new FeeMethods()
  const needed: number[] = []
  const quoted: { readonly quote: Quote; readonly height: number }[] = []
  playMarket(options, {
    entered: (tx: MarketTx, time) => {
      methods.entered(tx, time, tx.hasParent)
    },
    replaced: (tx, time) => {
      methods.dropped(tx, time)
    },
    mined: (block) => {
      methods.mined(block.height, block.txs)
      needed[block.height] = block.needed
    },
    looked: (time, height, mempool) => {
      if (time < WARM_SECONDS) return
      const moment = {
        time,
        mempool,
        capacity: CAPACITY,
        maxWeight: CAPACITY * WITNESS_SCALE,
        spacing: SPACING,
      }
      for (const quote of methods.quotes(moment)) quoted.push({ quote, height })
    },
  })
  return quoted.flatMap(({ quote, height }) => {
    const blocks = needed.slice(height + 1, height + 1 + quote.blocks)
    if (blocks.length < quote.blocks) return []
    const lowest = Math.min(...blocks)
    const rate = Math.max(quote.rate, MINIMUM)
    return [{ ...quote, needed: Math.max(lowest, MINIMUM), isConfirmed: rate > lowest }]
  })
}

const shareOf = (quotes: readonly Tested[]): number =>
  quotes.filter(({ isConfirmed }) => isConfirmed).length / quotes.length

/** Returns how many times what would have sufficed was paid by what was confirmed in time, in the geometric mean. */
function overpaidBy(quotes: readonly Tested[]): number {
  const confirmed = quotes.filter(({ isConfirmed }) => isConfirmed)
  const logs = confirmed.map(({ rate, needed }) => Math.log(Math.max(rate, MINIMUM) / needed))
  return Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length)
}

/** Compares Headwater's method with another for a number of blocks. */
function compared(all: readonly Tested[], method: string, blocks: number): Figure[] {
  const of = (name: string): Tested[] => all.filter((each) => each.method === name && each.blocks === blocks)
  const theirs = of(method)
  const share = shareOf(theirs)
  const chance = TESTED_CHANCES.find((each) => shareOf(of(String(each))) >= share) ?? TESTED_CHANCES.at(-1)
  const ours = of(String(chance))
  const name = `${method.replace(/\W/g, '_')}_${String(blocks)}`
  return [
    {
      name: `${name}_confirmed`,
      value: shareOf(ours),
      unit: `of transactions, with a chance of ${String(chance)}`,
      baseline: share,
      ratio: shareOf(ours) / share,
    },
    {
      name: `${name}_overpaid`,
      value: overpaidBy(ours),
      unit: 'times the needed fee rate',
      baseline: overpaidBy(theirs),
      ratio: overpaidBy(ours) / overpaidBy(theirs),
      maxRatio: 1,
    },
  ]
}

const ofRecording = ({ name, kept, median, transactions }: RecordedPromises): Figure[] =>
  [...kept].flatMap(([method, share]) => [
    {
      name: `${name}_${method.replace(/\W/g, '_')}_confirmed`,
      value: share,
      unit: `of the promises to ${String(transactions)} transactions`,
    },
    {
      name: `${name}_${method.replace(/\W/g, '_')}_quoted`,
      value: median.get(method) ?? Number.NaN,
      unit: 'times the minimum',
    },
  ])
