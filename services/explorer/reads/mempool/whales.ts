import type { BlockTx } from '../../tables/tables.js'
import { newestWhales } from '../../tables/transactions.js'
import { amount, limit } from '../arguments.js'
import { declareRead } from '../read.js'
import { listed, WhaleAlert } from '../shapes.js'
import { confirmedAlerts, unconfirmedAlert } from './whale-rows.js'

/** 1,000 coins in base units. */
export const WHALE_VALUE = 100_000_000_000n

/** Transactions that move more than `minValue`, newest first; those of the mempool precede those of the chain. */
export const whaleAlerts = declareRead({
  name: 'whaleAlerts',
  about: 'Transactions that move large amounts, unconfirmed ones first, then the newest.',
  path: '/whale-alerts',
  fresh: 'mempool',
  args: {
    limit: limit(20, 100),
    minValue: amount(WHALE_VALUE.toString(), 'transactions must move more than this'),
  },
  answer: listed(WhaleAlert),
  async resolve(context, { limit, minValue }) {
    const { view, network, blocks } = context.chain
    if (view === undefined || network === undefined) return { items: [], limit }
    const naming = { network, labels: context.definitions.labels }
    const least = BigInt(minValue)
    const inMempool = context.mempool.moving(least, limit).map((tx) => unconfirmedAlert(tx, naming))
    const left = limit - inMempool.length
    if (left === 0) return { items: inMempool, limit }
    const located = await newestWhales(context.tables, least, view.tagFilter(), left)
    const timeOf = ({ height }: BlockTx): number => blocks.timeAt(height)
    const confirmed = await confirmedAlerts(located, context.tables, timeOf, naming)
    return { items: [...inMempool, ...confirmed], limit }
  },
})
