import { isWitnessCommitment, opReturnPayload } from '../../../../pipelines/chain/script.js'
import { hash, limit, offset } from '../arguments.js'
import { isoTime } from './block-rows.js'
import { declareRead, listFrom, NEVER, NotFound } from '../read.js'
import { OpReturn, TransactionOpReturns, windowed } from '../shapes.js'
import { transactionNow } from './transaction-rows.js'
import { Validity } from '../validity.js'

export const opReturns = declareRead({
  name: 'opReturns',
  about: 'OP_RETURN outputs of the chain, newest first.',
  path: '/op-returns',
  fresh: 'head',
  args: { limit: limit(50, 100), offset },
  answer: windowed(OpReturn),
  emptyFrom: listFrom,
  async resolve({ chain: { tip, view }, tables }, { limit, offset }) {
    const total = Number(tip?.sumOpReturns ?? 0)
    const to = total - offset
    if (view === undefined || to < 1) return { items: [], total, limit, offset }
    const sql = `SELECT lower(hex(txid)) AS id, vout, height, time, lower(hex(data)) AS payload FROM op_returns
      WHERE ordinal BETWEEN {from:UInt64} AND {to:UInt64} AND ${view.sqlFilter('height', 'block_hash')}
      ORDER BY ordinal DESC LIMIT 1 BY ordinal`
    type Row = { id: string; vout: number; height: number; time: number; payload: string }
    const rows = await tables.query<Row>(sql, { from: Math.max(1, to - limit + 1), to })
    const items = rows.map(({ id, vout, height, time, payload }) => {
      return {
        txid: id,
        vout,
        block_height: height,
        timestamp: isoTime(time),
        ...payloadFields(Buffer.from(payload, 'hex')),
      }
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
  async resolve(context, args) {
    // The spends of its outputs do not matter here.
    const tx = await transactionNow(args.txid, { ...context, validity: new Validity() })
    const { txid } = tx
    context.validity.dependsOn(txid)
    context.validity.finalFrom(tx.block_height ?? Number.POSITIVE_INFINITY)
    const items = tx.outputs.flatMap(({ vout, script_pub_key }): OpReturn[] => {
      const script = Buffer.from(script_pub_key, 'hex')
      const data = opReturnPayload(script)
      if (data === undefined || (tx.is_coinbase && isWitnessCommitment(script))) return []
      return [{ txid, vout, block_height: tx.block_height, timestamp: tx.timestamp, ...payloadFields(data) }]
    })
    if (items.length === 0) throw new NotFound('OP_RETURN not found', NEVER)
    return { txid, items }
  },
})

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function payloadFields(data: Buffer): Pick<OpReturn, 'data_hex' | 'data_text' | 'size'> {
  return { data_hex: data.toString('hex'), data_text: textOf(data), size: data.length }
}

/** Returns the text of valid UTF-8 without control characters; otherwise null. */
function textOf(data: Buffer): string | null {
  try {
    const text = decoder.decode(data)
    return /\p{Cc}/u.test(text) ? null : text
  } catch {
    return null
  }
}
