import type { BlockTx } from '../../tables/tables.js'
import { newestWhales } from '../../tables/transactions.js'
import { amount, limit } from '../arguments.js'
import { declareRead } from '../read.js'
import { listed, WhaleAlert } from '../shapes.js'
import { confirmedAlerts, unconfirmedAlert } from './whale-rows.js'

/** 1,000 coins in base units. */
export const WHALE_VALUE = 100_000_000_000n

const ARGS = {
  limit: limit(20, 100),
  minValue: amount(WHALE_VALUE.toString(), 'transactions must move more than this'),
}

/** Those of the chain alone, newest first. */
const confirmedWhales = declareRead({
  name: 'confirmedWhales',
  path: '/whale-alerts',
  fresh: 'head',
  args: ARGS,
  answer: listed(WhaleAlert),
  async resolve({ chain, tables, definitions }, { limit, minValue }) {
    const { view, network, blocks } = chain
    if (view === undefined || network === undefined) return { items: [], limit }
    const naming = { network, labels: definitions.labels }
    const located = await newestWhales(tables, BigInt(minValue), view.tagFilter(), limit)
    const timeOf = ({ height }: BlockTx): number => blocks.timeAt(height)
    return { items: await confirmedAlerts(located, tables, timeOf, naming), limit }
  },
})

/** Transactions that move more than `minValue`, newest first; those of the mempool precede those of the chain. */
export const whaleAlerts = declareRead({
  name: 'whaleAlerts',
  about: 'Transactions that move large amounts, unconfirmed ones first, then the newest.',
  path: '/whale-alerts',
  fresh: 'mempool',
  args: ARGS,
  answer: listed(WhaleAlert),
  async resolve(context, { limit, minValue }) {
    const { view, network } = context.chain
    if (view === undefined || network === undefined) return { items: [], limit }
    const naming = { network, labels: context.definitions.labels }
    const least = BigInt(minValue)
    const inMempool = context.mempool.moving(least, limit).map((tx) => unconfirmedAlert(tx, naming))
    if (inMempool.length === limit) return { items: inMempool, limit }
    const confirmed = await context.ofHead(confirmedWhales, { limit, minValue })
    return { items: [...inMempool, ...confirmed.items].slice(0, limit), limit }
  },
})
