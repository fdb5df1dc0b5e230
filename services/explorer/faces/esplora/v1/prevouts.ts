import { Type } from '@sinclair/typebox'
import { parseBody, parseTx } from '../../../../../pipelines/chain/transaction.js'
import { findTransaction } from '../../../core/reads/chain/transaction-details.js'
import { BadArgument, declareRead, networkIn, NotFound, type ReadContext } from '../../../core/reads/read.js'
import { WrittenAnswer } from '../../../core/reads/written-answer.js'
import { NO_WITNESS, transactionByTxid } from '../../../core/tables/transactions.js'
import { hashIn, numberIn, text } from '../arguments.js'
import { spendOf } from '../outspends.js'
import { outputJson, UNCONFIRMED } from '../transaction-json.js'

/** The maximum number of outputs of a request. */
const MOST = 100
/** The number of outputs that the rate limit counts as a request. */
const ITEMS_PER_REQUEST = 10

const INVALID = 'Invalid outpoints format'

/** Returns an element of the body as the text of an outpoint; undefined for anything else. */
export function outpointIn(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const { txid, vout } = item as { readonly txid?: unknown; readonly vout?: unknown }
  return typeof txid === 'string' && Number.isInteger(vout) ? `${txid}:${String(vout)}` : undefined
}

/** Returns an output that no block spends as JSON; null if there is none. */
async function prevoutOf(outpoint: string, context: ReadContext): Promise<string> {
  const [id = '', index = ''] = outpoint.split(':')
  const [txid, vout] = [hashIn(id), numberIn(index)]
  const { tables, chain } = context
  try {
    const match = await findTransaction(txid, context, (key) =>
      transactionByTxid(tables, chain.blocks, key, NO_WITNESS),
    )
    const isUnconfirmed = match.unconfirmed !== undefined
    const tx = isUnconfirmed ? parseTx(match.unconfirmed.raw) : parseBody(match.row.body)
    const output = tx.outputs[vout]
    const { spends } = await spendOf(txid, vout, context)
    if (output === undefined || (spends !== undefined && spends.status !== UNCONFIRMED)) return 'null'
    return `{"prevout":${outputJson(output, networkIn(context))},"unconfirmed":${String(isUnconfirmed)}}`
  } catch (error) {
    if (error instanceof NotFound) return 'null'
    throw error
  }
}

/** The outputs that inputs may spend. */
export const prevouts = declareRead({
  name: 'mempoolSpacePrevouts',
  path: '/v1/prevouts',
  method: 'POST',
  fresh: 'mempool',
  args: { items: Type.Array(text('outpoint, txid:vout')) },
  answer: Type.Array(Type.Unknown()),
  cost: ({ items }) => Math.ceil(items.length / ITEMS_PER_REQUEST),
  emptyFrom: (_, items) => (items.includes(null) ? 0 : undefined),
  async resolve(context, { items }) {
    if (items.length > MOST) throw new BadArgument('Too many outpoints requested')
    if (items.some((item) => !/^[0-9a-f]{64}:[0-9]{1,10}$/i.test(item))) throw new BadArgument(INVALID)
    const found: string[] = []
    for (const item of items) found.push(await prevoutOf(item, context))
    // As values where something is missing, for `emptyFrom`.
    return found.includes('null')
      ? found.map((each) => JSON.parse(each) as unknown)
      : new WrittenAnswer<unknown[]>(`[${found.join(',')}]`)
  },
})
