import type { AddedReason, MissingReason } from '../../../../../pipelines/mempool/expected-block.js'
import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import { feeRate } from '../../../../../pipelines/chain/feerate.js'
import {
  BLOCK_DIFFERENCES,
  DIFFERENCE_KINDS,
  type DifferenceKind,
  EXPECTED_BLOCKS,
  MAX_DIFFERENCES,
} from '../../../../../pipelines/tables/mempool/history.js'
import { type SelectedRow, Selection } from '../../../../../pipelines/tables/selection.js'
import { heightOrHash, limit } from '../arguments.js'
import { findBlock } from '../chain/block-rows.js'
import { noBlock } from '../chain/blocks.js'
import { listed } from '../lists.js'
import { declareRead, NEVER, NotFound, type ReadContext } from '../read.js'
import { type BlockSums, ExpectedBlock, ExpectedBlockDetails } from '../shapes.js'

const BLOCKS = new Selection(EXPECTED_BLOCKS.columns)
type Row = SelectedRow<typeof EXPECTED_BLOCKS.columns>

const DIFFERENCES = new Selection(BLOCK_DIFFERENCES.columns)
type DifferenceRow = SelectedRow<typeof BLOCK_DIFFERENCES.columns>

/** The time after which an answer is made again that lacks what the materializer has not written yet. */
const SOON_MS = 2_000
/** The number of newest blocks of which it may not have been written yet what was expected. */
const NEW_BLOCKS = 3
/** About the characters of a transaction of a list. */
const DIFFERENCE_CHARACTERS = 220
const NOT_KNOWN = 'Expected block not found'

export const expectedBlock = declareRead({
  name: 'expectedBlock',
  about:
    'The block that was expected from the mempool just before a block, and how the block differs from it.',
  path: '/block/:heightOrHash/expected',
  fresh: 'objects',
  args: { heightOrHash, limit: limit(100, MAX_DIFFERENCES, 'maximum number of transactions of each list') },
  answer: ExpectedBlockDetails,
  notFound: ['Block not found', NOT_KNOWN],
  async resolve(context, { heightOrHash, limit }) {
    const { chain, tables, history, validity, size } = context
    const match = await findBlock(tables, chain, heightOrHash)
    if (match === undefined) throw noBlock(heightOrHash)
    const { height, hash } = match.row
    validity.dependsOn(hash)
    const [row] = await BLOCKS.bytes(
      history,
      'FROM expected_blocks WHERE height = {height:UInt32} AND hash = unhex({hash:String}) ORDER BY seen_at LIMIT 1',
      { height, hash },
    )
    if (row === undefined) {
      // A page that shows the rest of the block is then made again.
      if (height > chain.height - NEW_BLOCKS) validity.until(Date.now() + SOON_MS)
      throw new NotFound(NOT_KNOWN, NEVER)
    }
    validity.finalFrom(height)
    const listOf = (kind: DifferenceKind): Promise<DifferenceRow[]> =>
      DIFFERENCES.bytes(
        history,
        `FROM block_differences WHERE height = {height:UInt32} AND hash = unhex({hash:String})
           AND seen_at = fromUnixTimestamp64Milli({seenAt:Int64}, 'UTC') AND kind = {kind:UInt8}
         ORDER BY item LIMIT 1 BY item LIMIT {limit:UInt32}`,
        { height, hash, seenAt: row.seenAt, kind: DIFFERENCE_KINDS.indexOf(kind), limit },
      )
    const [missing, added] = await Promise.all([listOf('missing'), listOf('added')])
    size.add(DIFFERENCE_CHARACTERS * (missing.length + added.length))
    return {
      ...toExpected(row, match.canonical),
      missing_txs: missing.map((each) => ({ ...toDifference(each), reason: each.reason as MissingReason })),
      added_txs: added.map((each) => ({ ...toDifference(each), reason: each.reason as AddedReason })),
      limit,
    }
  },
})

export const expectedBlocks = declareRead({
  name: 'expectedBlocks',
  about: 'How the newest blocks of the chain differ from those that were expected, newest first.',
  path: '/mempool/blocks/expected',
  fresh: 'head',
  args: { limit: limit(20, 100) },
  answer: listed(ExpectedBlock),
  async resolve(context, { limit }) {
    const { chain, validity } = context
    const rows = await newestOf(context, limit)
    if (rows[0]?.height !== chain.height) validity.until(Date.now() + SOON_MS)
    return { items: rows.map((row) => toExpected(row, true)), limit }
  },
})

/** Returns what was expected of the blocks between two heights (inclusive) of all branches, by hash, as far as it is known. */
export async function expectedBetween(
  { chain, history, validity }: Pick<ReadContext, 'chain' | 'history' | 'validity'>,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<ReadonlyMap<string, ExpectedBlock>> {
  const rows = await BLOCKS.bytes(
    history,
    `FROM expected_blocks WHERE height BETWEEN {from:Int64} AND {to:Int64} ORDER BY height, hash, seen_at
     LIMIT 1 BY height, hash`,
    { from, to },
  )
  const found = new Map(rows.map((row) => [row.hash, row]))
  for (
    let height = Math.max(from, chain.height - NEW_BLOCKS + 1);
    height <= Math.min(to, chain.height);
    height++
  )
    if (!found.has(chain.blocks.hashAt(height))) validity.until(Date.now() + SOON_MS)
  return new Map(rows.map((row) => [row.hash, toExpected(row, chain.blocks.hashAt(row.height) === row.hash)]))
}

/** Returns the rows of the newest blocks of the chain that have one, newest first. */
async function newestOf(
  { chain: { blocks, height }, history }: Pick<ReadContext, 'chain' | 'history'>,
  limit: number,
): Promise<Row[]> {
  const rows = await BLOCKS.bytes(
    history,
    `FROM expected_blocks WHERE height <= {height:Int64} ORDER BY height DESC, hash, seen_at
     LIMIT 1 BY height, hash LIMIT {most:UInt32}`,
    // Twice as many, because those of replaced blocks are among them.
    { height, most: 2 * limit },
  )
  return rows.filter((row) => blocks.hashAt(row.height) === row.hash).slice(0, limit)
}

function toExpected(row: Row, canonical: boolean): ExpectedBlock {
  const expected = sumsOf(row, 'expected')
  const mined = sumsOf(row, 'mined')
  const matched = sumsOf(row, 'matched')
  const { hash, height, seenAt, observedAt, expectedWeight, matchedWeight } = row
  return {
    hash,
    height,
    canonical,
    seen_at: new Date(seenAt).toISOString(),
    observed_seconds_before: (Math.max(0, seenAt - observedAt) / 1000).toFixed(3),
    expected,
    mined,
    matched,
    missing: without(expected, matched),
    added: without(mined, matched),
    match_percent: expectedWeight === 0 ? null : percentOf(BigInt(matchedWeight), BigInt(expectedWeight), 2),
  }
}

const sumsOf = (row: Row, kind: 'expected' | 'mined' | 'matched'): BlockSums => ({
  tx_count: row[`${kind}Count`],
  vsize: row[`${kind}Vsize`],
  weight: row[`${kind}Weight`],
  total_fees: row[`${kind}Fees`].toString(),
})

const without = (all: BlockSums, some: BlockSums): BlockSums => ({
  tx_count: all.tx_count - some.tx_count,
  vsize: all.vsize - some.vsize,
  weight: all.weight - some.weight,
  total_fees: String(BigInt(all.total_fees) - BigInt(some.total_fees)),
})

const toDifference = ({ txid, fee, vsize, ratedFee, ratedVsize }: DifferenceRow) => ({
  txid,
  fee: fee.toString(),
  vsize,
  fee_rate: feeRate(fee, vsize),
  effective_fee_rate: feeRate(ratedFee, ratedVsize),
})
