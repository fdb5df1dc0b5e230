import { isoTime } from '../../../../../pipelines/chain/time.js'
import { feeRate } from '../../../../../pipelines/chain/feerate.js'
import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import { vsizeOf } from '../../../../../pipelines/chain/transaction.js'
import { BLOCKS } from '../../../../../pipelines/tables/schema.js'
import { type SelectedRow, Selection } from '../../../../../pipelines/tables/selection.js'
import { limit } from '../arguments.js'
import { declareRead, listFrom, type ReadContext } from '../read.js'
import { listed } from '../lists.js'
import { BlockFees as BlockFeesShape } from '../shapes.js'

const { height, block_tag, time, tx_count, weight, total_fees } = BLOCKS.columns
const COLUMNS = { height, block_tag, time, tx_count, weight, total_fees }
const FEES = new Selection(COLUMNS)

/** The fees of a block, in base units, and its weight. */
export type BlockFees = SelectedRow<typeof COLUMNS>

/** Returns the blocks of the chain between two heights (inclusive), newest first. */
export async function blockFees(
  { chain: { blocks }, tables }: Pick<ReadContext, 'chain' | 'tables'>,
  from: number,
  to: number,
): Promise<BlockFees[]> {
  if (to < 0) return []
  const rows = `FROM blocks WHERE height BETWEEN {from:UInt32} AND {to:UInt32} ORDER BY height DESC`
  const read = await FEES.bytes(tables.unchecked, rows, { from: Math.max(0, from), to })
  // A Map, because a row may be there twice.
  const visible = read.filter((row) => blocks.has(row.height, row.blockTag))
  return [...new Map(visible.map((row) => [row.height, row])).values()]
}

export const feeHistory = declareRead({
  name: 'feeHistory',
  about: 'The fees of the newest blocks, newest first.',
  path: '/fees/history',
  fresh: 'head',
  args: { limit: limit(144, 2_016) },
  answer: listed(BlockFeesShape),
  emptyFrom: listFrom,
  async resolve({ chain, tables }, { limit }) {
    const { network, height } = chain
    if (network === undefined) return { items: [], limit }
    const rows = await blockFees({ chain, tables }, height - limit + 1, height)
    const items = rows.map((row) => {
      const paying = BigInt(row.txCount - 1)
      return {
        height: row.height,
        timestamp: isoTime(row.time),
        tx_count: row.txCount,
        total_fees: row.totalFees.toString(),
        average_fee: String(paying === 0n ? 0n : row.totalFees / paying),
        average_fee_rate: feeRate(row.totalFees, vsizeOf(row.weight, network)),
        fullness: percentOf(BigInt(row.weight), BigInt(network.maxBlockWeight), 2),
      }
    })
    return { items, limit }
  },
})
