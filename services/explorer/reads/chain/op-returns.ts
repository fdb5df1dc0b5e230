import {
  isWitnessCommitment,
  opReturnPayload,
  type OpReturnPayload,
  pushedData,
} from '../../../../pipelines/chain/script.js'
import { OP_RETURNS } from '../../../../pipelines/tables/schema.js'
import { Selection } from '../../../../pipelines/tables/selection.js'
import { hash, limit, offset } from '../arguments.js'
import { isoTime } from './block-rows.js'
import { declareRead, listFrom, NEVER, NotFound } from '../read.js'
import { OpReturn, TransactionOpReturns, windowed } from '../shapes.js'
import { transactionNow } from './transaction-rows.js'
import { Validity } from '../validity.js'

const OP_RETURN = new Selection(OP_RETURNS.columns)

export const opReturns = declareRead({
  name: 'opReturns',
  about: 'OP_RETURN outputs of the chain, newest first.',
  path: '/op-returns',
  fresh: 'head',
  args: { limit: limit(50, 100), offset },
  answer: windowed(OpReturn),
  emptyFrom: listFrom,
  async resolve({ chain: { tip, blocks }, tables }, { limit, offset }) {
    const total = Number(tip?.sumOpReturns ?? 0)
    const to = total - offset
    if (to < 1) return { items: [], total, limit, offset }
    const page = `FROM op_returns WHERE ordinal BETWEEN {from:UInt64} AND {to:UInt64} ORDER BY ordinal DESC`
    const rows = await OP_RETURN.bytes(tables.unchecked, page, { from: Math.max(1, to - limit + 1), to })
    // A Map, because a row may be there twice.
    const visible = new Map(
      rows.filter((row) => blocks.has(row.height, row.blockTag)).map((row) => [row.ordinal, row]),
    )
    const items = [...visible.values()].map(({ txid, vout, height, ...payload }) => {
      const timestamp = isoTime(blocks.timeAt(height))
      return { txid, vout, block_height: height, timestamp, ...payloadFields(payload) }
    })
    return { items, total, limit, offset }
  },
})

export const transactionOpReturns = declareRead({
  name: 'transactionOpReturns',
  about: 'The OP_RETURN outputs of a confirmed or unconfirmed transaction.',
  path: '/op-return/:txid',
  fresh: 'objects',
  args: { txid: hash },
  answer: TransactionOpReturns,
  notFound: ['Transaction not found', 'OP_RETURN not found'],
  async resolve(context, args) {
    // The spends of its outputs do not matter here.
    const tx = (await transactionNow(args.txid, { ...context, validity: new Validity() })).parse()
    const { txid } = tx
    context.validity.dependsOn(txid)
    context.validity.finalFrom(tx.block_height ?? Number.POSITIVE_INFINITY)
    const items = tx.outputs.flatMap(({ vout, script_pub_key }): OpReturn[] => {
      const script = Buffer.from(script_pub_key ?? '', 'hex')
      const payload = opReturnPayload(script)
      if (payload === undefined || (tx.is_coinbase && isWitnessCommitment(script))) return []
      return [
        { txid, vout, block_height: tx.block_height, timestamp: tx.timestamp, ...payloadFields(payload) },
      ]
    })
    if (items.length === 0) throw new NotFound('OP_RETURN not found', NEVER)
    return { txid, items }
  },
})

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function payloadFields(payload: OpReturnPayload): Pick<OpReturn, 'data_hex' | 'data_text' | 'size'> {
  const { data } = payload
  return { data_hex: data.toString('hex'), data_text: textOf(payload), size: data.length }
}

/** Returns what an OP_RETURN output pushes as text; null if it pushes nothing, or no valid UTF-8, or control characters. */
export function textOf(payload: OpReturnPayload): string | null {
  const pushed = pushedData(payload)
  if (pushed.length === 0) return null
  try {
    const text = decoder.decode(pushed)
    return /\p{Cc}/u.test(text) ? null : text
  } catch {
    return null
  }
}
