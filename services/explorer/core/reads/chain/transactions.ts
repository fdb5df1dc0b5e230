import { at, hash, limit, witness } from '../arguments.js'
import { declareRead, listFrom, NO_BLOCK } from '../read.js'
import { listed } from '../lists.js'
import { Transaction } from '../shapes.js'
import { newestBlockTxs } from '../../tables/transactions.js'
import { writtenList } from '../written-answer.js'
import { transactionNow, transactionsAt } from './transaction-rows.js'

export const transaction = declareRead({
  name: 'transaction',
  about: 'A confirmed or unconfirmed transaction.',
  path: '/tx/:txid',
  fresh: 'objects',
  args: { txid: hash, at },
  answer: Transaction,
  notFound: ['Transaction not found', NO_BLOCK],
  resolve: (context, { txid }) => transactionNow(txid, context),
})

export const recentTransactions = declareRead({
  name: 'recentTransactions',
  about: 'The newest transactions of the chain.',
  path: '/txs/recent',
  fresh: 'head',
  args: { limit: limit(10, 50), witness },
  answer: listed(Transaction),
  emptyFrom: listFrom,
  async resolve(context, { limit, witness }) {
    const { view, height } = context.chain
    if (view === undefined || height < 0) return { items: [], limit }
    const located = await newestBlockTxs(context.tables, view, limit)
    return writtenList(await transactionsAt(located, context, witness), { limit })
  },
})
