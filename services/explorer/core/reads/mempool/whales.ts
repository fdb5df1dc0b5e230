import { Type } from '@sinclair/typebox'
import type { BlockTx } from '../../tables/lookups.js'
import { newestWhales } from '../../tables/transactions.js'
import { amount, limit } from '../arguments.js'
import { declareRead, type ReadContext } from '../read.js'
import { listed } from '../lists.js'
import { WhaleAlert } from '../shapes.js'
import { type Alerting, confirmedAlerts, type BriefAlert, unconfirmedAlert } from './whale-rows.js'

/** 1,000 coins in base units. */
export const WHALE_VALUE = 100_000_000_000n

const ARGS = {
  limit: limit(20, 100),
  minValue: amount(WHALE_VALUE.toString(), 'transactions must move more than this'),
}

/** An alert with the largest sender and recipient, and the numbers of all. */
const Brief = Type.Object({
  ...WhaleAlert.properties,
  from_count: Type.Optional(Type.Integer()),
  to_count: Type.Optional(Type.Integer()),
})

/** Declares a read of the alerts of the chain alone, newest first. @param most the number of senders, and of recipients. */
const confirmedWhales = (name: string, most?: number) =>
  declareRead({
    name,
    path: '/whale-alerts',
    fresh: 'head',
    args: ARGS,
    answer: listed(Brief),
    async resolve(context, { limit, minValue }) {
      const { chain, tables } = context
      const alerting = alertingOf(context, most)
      if (chain.view === undefined || alerting === undefined) return { items: [], limit }
      const located = await newestWhales(tables, BigInt(minValue), chain.view.tagFilter(), limit)
      const timeOf = ({ height }: BlockTx): number => chain.blocks.timeAt(height)
      return { items: await confirmedAlerts(located, tables, timeOf, alerting), limit }
    },
  })

/** Returns how the alerts of an answer are made; undefined before there is a chain. */
function alertingOf(
  { chain: { network }, definitions, size }: ReadContext,
  most?: number,
): Alerting | undefined {
  const { labels } = definitions
  return network && { network, labels, size, ...(most === undefined ? {} : { most }) }
}

const ALL = confirmedWhales('confirmedWhales')
const BRIEF = confirmedWhales('briefConfirmedWhales', 1)

/** Transactions that move more than `minValue`, newest first; the unconfirmed precede the confirmed. */
export const whaleAlerts = declareRead({
  name: 'whaleAlerts',
  about: 'Transactions that move large amounts, unconfirmed ones first, then the newest.',
  path: '/whale-alerts',
  fresh: 'mempool',
  args: ARGS,
  answer: listed(WhaleAlert),
  async resolve(context, args) {
    return { items: await alertsOf(context, args, ALL), limit: args.limit }
  },
})

/** The same with the largest sender and recipient of each, for pages. */
export const briefWhaleAlerts = declareRead({
  name: 'briefWhaleAlerts',
  path: '/whale-alerts',
  fresh: 'mempool',
  args: ARGS,
  answer: listed(Brief),
  async resolve(context, args) {
    return { items: await alertsOf(context, args, BRIEF, 1), limit: args.limit }
  },
})

async function alertsOf(
  context: ReadContext,
  { limit, minValue }: { readonly limit: number; readonly minValue: string },
  confirmed: typeof ALL,
  most?: number,
): Promise<BriefAlert[]> {
  const alerting = alertingOf(context, most)
  if (context.chain.view === undefined || alerting === undefined) return []
  const inMempool = context.mempool
    .moving(BigInt(minValue), limit)
    .map((tx) => unconfirmedAlert(tx, alerting))
  if (inMempool.length === limit) return inMempool
  const { items } = await context.ofHead(confirmed, { limit, minValue })
  return [...inMempool, ...items].slice(0, limit)
}
