import { hash, limit, witness } from './arguments.js'
import { declareRead, NotFound } from './read.js'
import { listed, Transaction } from './shapes.js'
import { newestPlaces } from '../tables.js'
import { transactionById, transactionsAt, unconfirmed } from './transaction-rows.js'

export const transaction = declareRead({
  name: 'transaction',
  path: '/tx/:txid',
  fresh: 'pool',
  args: { txid: hash },
  answer: Transaction,
  async resolve(context, args) {
    const txid = args.txid.toLowerCase()
    const { chain } = context.chain
    const pooled = context.pool.get(txid)
    if (pooled !== undefined && chain !== undefined) return unconfirmed(pooled, chain)
    const found = await transactionById(txid, context)
    if (found === undefined) throw new NotFound('Transaction not found')
    return found
  },
})

export const recentTransactions = declareRead({
  name: 'recentTransactions',
  path: '/txs/recent',
  fresh: 'head',
  args: { limit: limit(10, 50), witness },
  answer: listed(Transaction),
  async resolve(context, { limit, witness }) {
    const { view, height } = context.chain
    if (view === undefined || height < 0) return { items: [], limit }
    const filter = view.sqlFilter('height', 'block_hash')
    const places = await newestPlaces(context.tables, height, filter, limit)
    return { items: await transactionsAt(places, context, witness), limit }
  },
})
