import { Type } from '@sinclair/typebox'
import { packageOf } from '../../../core/reads/mempool/transaction-package.js'
import { BadArgument, declareRead, networkIn, NotFound } from '../../../core/reads/read.js'
import type { TransactionPackage } from '../../../core/reads/shapes.js'
import { hashIn, text } from '../arguments.js'

/** The maximum number of transactions of a request for times. */
const MAX_TIMES = 100

/** The answer for a transaction that is unknown. */
const UNKNOWN = { ancestors: [] }

const memberOf = ({ txid, fee, weight }: TransactionPackage['ancestors'][number]) => ({
  txid,
  fee: Number(fee),
  weight,
})

export const cpfp = declareRead({
  name: 'mempoolSpaceCpfp',
  path: '/v1/cpfp/:txid',
  fresh: 'mempool',
  args: { txid: text('txid') },
  answer: Type.Unknown(),
  emptyFrom: (_, answer) => (answer === UNKNOWN ? 0 : undefined),
  async resolve(context, { txid }) {
    let found: TransactionPackage
    try {
      found = await packageOf(context, hashIn(txid))
    } catch (error) {
      if (error instanceof NotFound) return UNKNOWN
      throw error
    }
    const { ancestors, descendants, effective_fee_rate, block_height, fee, vsize } = found
    return {
      ancestors: ancestors.map(memberOf),
      bestDescendant: null,
      descendants: descendants.map(memberOf),
      effectiveFeePerVsize: Number(effective_fee_rate),
      ...(block_height === null ? { fee: Number(fee), adjustedVsize: vsize } : {}),
    }
  },
})

/** Unix seconds at which the node first saw each transaction; 0 for one that is not unconfirmed. */
export const transactionTimes = declareRead({
  name: 'mempoolSpaceTransactionTimes',
  path: '/v1/transaction-times',
  fresh: 'mempool',
  args: { items: Type.Array(text('txid'), { maxItems: MAX_TIMES }) },
  answer: Type.Unknown(),
  resolve(context, { items }) {
    if (items.length === 0) throw new BadArgument('No txId specified')
    const txids = items.map(hashIn)
    networkIn(context)
    return txids.map((txid) => context.mempool.get(txid)?.firstSeen ?? 0)
  },
})
