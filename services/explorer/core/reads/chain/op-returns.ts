import { Type } from '@sinclair/typebox'
import { isoTime } from '../../../../../pipelines/chain/time.js'
import {
  isWitnessCommitment,
  opReturnPayload,
  type OpReturnPayload,
  pushedData,
} from '../../../../../pipelines/chain/script.js'
import { ByteReader } from '../../../../../pipelines/chain/bytes.js'
import { parseBody, readTx } from '../../../../../pipelines/chain/transaction.js'
import { OP_RETURNS } from '../../../../../pipelines/tables/schema.js'
import { type SelectedRow, Selection } from '../../../../../pipelines/tables/selection.js'
import { NO_WITNESS, transactionByTxid } from '../../tables/transactions.js'
import { hash, limit, offset } from '../arguments.js'
import { declareRead, listFrom, NEVER, NotFound, type ReadContext } from '../read.js'
import { windowed } from '../lists.js'
import { OpReturn, TransactionOpReturns } from '../shapes.js'
import { findTransaction } from './transaction-details.js'

/** The size of a payload, in bytes, up to which a query for a list contains it. */
const MAX_SHORT = 4 * 1024
/** The size of the beginning of a payload, in bytes, that a page shows. */
const MAX_BEGINNING = 512

/** The bytes of payloads that a list may have. */
const MAX_PAYLOADS = 1_000_000

const { data, ...PLACE } = OP_RETURNS.columns
const COLUMNS = { ...PLACE, size: 'u32', beginning: 'bytes' } as const
const SIZE = 'toUInt32(length(data))'
const SHORT = new Selection(COLUMNS, {
  size: SIZE,
  beginning: `if(length(data) <= ${String(MAX_SHORT)}, data, '')`,
})
const BEGINNING = new Selection(COLUMNS, {
  size: SIZE,
  beginning: `substring(data, 1, ${String(MAX_BEGINNING)})`,
})
const { ordinal, height, block_tag } = OP_RETURNS.columns
const LONG = new Selection({ ordinal, height, block_tag, data })

type Row = SelectedRow<typeof COLUMNS>

/** Returns the rows of a window of the list, newest first, and the length of the list. */
async function windowOf(
  { chain: { tip, blocks }, tables }: Pick<ReadContext, 'chain' | 'tables'>,
  columns: typeof SHORT,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly rows: readonly Row[]; readonly total: number }> {
  const total = Number(tip?.sumOpReturns ?? 0)
  const to = total - offset
  if (to < 1) return { rows: [], total }
  const page = `FROM op_returns WHERE ordinal BETWEEN {from:UInt64} AND {to:UInt64} ORDER BY ordinal DESC`
  const rows = await columns.bytes(tables.unchecked, page, { from: Math.max(1, to - limit + 1), to })
  // A Map, because a row may be there twice.
  const visible = new Map(
    rows.filter((row) => blocks.has(row.height, row.blockTag)).map((row) => [row.ordinal, row]),
  )
  return { rows: [...visible.values()], total }
}

/** Returns the payloads of rows by ordinal, without those that do not fit into the answer. */
async function payloadsOf(
  rows: readonly Row[],
  { chain: { blocks }, tables, size }: Pick<ReadContext, 'chain' | 'tables' | 'size'>,
): Promise<ReadonlyMap<bigint, Buffer>> {
  // As hexadecimal and as text. The newest ones first.
  const withPayload = rows.filter((row) => size.takes(1.5 * row.size))
  const payloads = new Map(withPayload.map((row) => [row.ordinal, row.beginning]))
  const long = withPayload.filter((row) => row.size > MAX_SHORT).map((row) => String(row.ordinal))
  if (long.length === 0) return payloads
  const longRows = await LONG.bytes(tables.unchecked, `FROM op_returns WHERE ordinal IN (${long.join(', ')})`)
  for (const row of longRows) if (blocks.has(row.height, row.blockTag)) payloads.set(row.ordinal, row.data)
  return payloads
}

export const opReturns = declareRead({
  name: 'opReturns',
  about: 'OP_RETURN outputs of the chain, newest first.',
  path: '/op-returns',
  fresh: 'head',
  args: { limit: limit(50, 100), offset },
  answer: windowed(OpReturn),
  emptyFrom: listFrom,
  async resolve(context, { limit, offset }) {
    const { rows, total } = await windowOf(context, SHORT, { limit, offset })
    await context.size.reserve(
      3 *
        Math.min(
          MAX_PAYLOADS,
          rows.reduce((sum, { size }) => sum + size, 0),
        ),
    )
    const payloads = await payloadsOf(rows, context)
    const items = rows.map((row) => {
      const data = payloads.get(row.ordinal)
      const fields = data === undefined ? LEFT_OUT : payloadFields({ data, isScript: row.isScript })
      return { ...placeOf(row, context), ...fields, size: row.size }
    })
    return { items, total, limit, offset }
  },
})

const LEFT_OUT = { data_hex: null, data_text: null, omitted: ['data_hex', 'data_text'] }

/** The list with the beginnings of the payloads, for its page. */
export const opReturnBeginnings = declareRead({
  name: 'opReturnBeginnings',
  path: '/op-returns',
  fresh: 'head',
  args: { limit: limit(50, 100), offset },
  answer: windowed(OpReturn),
  async resolve(context, { limit, offset }) {
    const { rows, total } = await windowOf(context, BEGINNING, { limit, offset })
    return { items: rows.map((row) => beginningOf(row, context)), total, limit, offset }
  },
})

/** The number of newest outputs in which a text is searched: about 50 ms of the database's time. */
const SEARCHED = 200_000

/**
 * The newest OP_RETURN outputs whose data contains a text, for the page of the list. ASCII letters match in both cases. Rows of other
 * branches are recognised by their blocks, as in the list.
 */
export const opReturnsWith = declareRead({
  name: 'opReturnsWith',
  path: '/op-returns',
  fresh: 'head',
  args: { text: Type.String({ minLength: 1, maxLength: 100 }), limit: limit(50, 100) },
  answer: Type.Object({ items: Type.Array(OpReturn), searched: Type.Integer(), total: Type.Integer() }),
  async resolve(context, { text, limit }) {
    const { tip, blocks } = context.chain
    const total = Number(tip?.sumOpReturns ?? 0)
    const least = Math.max(1, total - SEARCHED + 1)
    // Rows of one ordinal, which are of several branches, are not divided.
    const matching = `FROM op_returns WHERE ordinal BETWEEN {from:UInt64} AND {to:UInt64}
      AND positionCaseInsensitive(data, {text:String}) > 0 ORDER BY ordinal DESC LIMIT ${String(limit)} WITH TIES`
    const visible = new Map<bigint, Row>()
    for (let to = total; to >= least && visible.size < limit;) {
      const rows = await BEGINNING.bytes(context.tables.unchecked, matching, { from: least, to, text })
      for (const row of rows) if (blocks.has(row.height, row.blockTag)) visible.set(row.ordinal, row)
      const last = rows.at(-1)
      if (rows.length < limit || last === undefined) break
      to = Number(last.ordinal) - 1
    }
    const items = [...visible.values()].slice(0, limit).map((row) => beginningOf(row, context))
    return { items, searched: total - least + 1, total }
  },
})

function beginningOf(row: Row, context: Pick<ReadContext, 'chain'>): OpReturn {
  const { beginning: data, isScript, size } = row
  const fields = payloadFields({ data, isScript }, size > data.length)
  return { ...placeOf(row, context), ...fields, size }
}

function placeOf(
  { txid, vout, height }: Row,
  { chain: { blocks } }: Pick<ReadContext, 'chain'>,
): Pick<OpReturn, 'txid' | 'vout' | 'block_height' | 'timestamp'> {
  return { txid, vout, block_height: height, timestamp: isoTime(blocks.timeAt(height)) }
}

export const transactionOpReturns = declareRead({
  name: 'transactionOpReturns',
  about: 'The OP_RETURN outputs of a confirmed or unconfirmed transaction.',
  path: '/op-return/:txid',
  fresh: 'objects',
  args: { txid: hash },
  answer: TransactionOpReturns,
  notFound: ['Transaction not found', 'OP_RETURN not found'],
  async resolve(context, args) {
    const { tables, chain, validity, size } = context
    const match = await findTransaction(args.txid, context, (key) =>
      transactionByTxid(tables, chain.blocks, key, NO_WITNESS, ({ bodySize }) => size.reserve(3 * bodySize)),
    )
    const [tx, block_height, time] =
      match.unconfirmed === undefined
        ? [parseBody(match.row.body), match.row.height, chain.blocks.timeAt(match.row.height)]
        : [readTx(new ByteReader(match.unconfirmed.raw)), null, match.unconfirmed.firstSeen]
    const { txid, outputs, isCoinbase } = tx
    const timestamp = isoTime(time)
    validity.finalFrom(block_height ?? Number.POSITIVE_INFINITY)
    size.add(3 * tx.strippedSize)
    const items = outputs.flatMap(({ script }, vout): OpReturn[] => {
      const payload = opReturnPayload(script)
      if (payload === undefined || (isCoinbase && isWitnessCommitment(script))) return []
      return [{ txid, vout, block_height, timestamp, ...payloadFields(payload) }]
    })
    if (items.length === 0) throw new NotFound('OP_RETURN not found', NEVER)
    return { txid, items }
  },
})

/** @param isBeginning true if the data has only the beginning of the payload. */
function payloadFields(
  payload: OpReturnPayload,
  isBeginning = false,
): Pick<OpReturn, 'data_hex' | 'data_text' | 'size'> {
  const { data } = payload
  return { data_hex: data.toString('hex'), data_text: textOf(payload, isBeginning), size: data.length }
}

/**
 * Returns what an OP_RETURN output pushes as text; null if it pushes nothing, or no valid UTF-8, or control characters.
 * @param isBeginning true for the beginning of a payload, which may end within a character.
 */
export function textOf(payload: OpReturnPayload, isBeginning = false): string | null {
  const pushed = pushedData(payload)
  if (pushed.length === 0) return null
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    const text = decoder.decode(pushed, { stream: isBeginning })
    return /\p{Cc}/u.test(text) ? null : text
  } catch {
    return null
  }
}
