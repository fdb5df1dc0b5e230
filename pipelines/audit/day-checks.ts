import { dateOf, DAY_SECONDS } from '../chain/time.js'
import { decodePrevouts } from '../chain/prevout.js'
import { parseBody } from '../chain/transaction.js'
import { readBodies } from '../tables/bodies.js'
import { balanceFloor } from '../tables/lists/balance-floor.js'
import type { AuditContext, Findings } from './audit.js'
import { type BlockSums, nodeBlock, sumsOf } from './block-check.js'
import { sampleHeights } from './chain-checks.js'

type Parts = Pick<AuditContext, 'db' | 'view' | 'head'>

/** The maximum number of blocks of a day that are read from the node: more than the minutes of a day. */
const MAX_FETCHED = 2_000
const IN_FLIGHT = 4
/** The maximum number of blocks whose sums are computed again from their transactions: the newest ones of a longer chain. */
const MAX_SUMMED = 20_000
const SUMMED_AT_ONCE = 100

/**
 * Computes the counts of every day again from transactions and histories, the sums of every block from its transactions, and
 * the sums of one day from the node's blocks.
 */
export async function dayCheck(context: AuditContext, findings: Findings): Promise<void> {
  const days = await countDays(context, findings)
  await sumBlocks(context, findings)
  for (const at of sampleHeights(days.length - 1, 1, context.seed))
    await sumDayByNode(context, days[at] ?? 0, findings)
  findings.checked = days.length
}

/** Computes the counts of all days again. @returns the days. */
async function countDays({ db, view, head }: Parts, findings: Findings): Promise<number[]> {
  const filter = view.tagFilter()
  type Row = Record<'txs' | 'active' | 'fresh', string> & { day: number }
  const indexed = await db.query<Row>(
    `SELECT intDiv(time, ${String(DAY_SECONDS)}) AS day, toString(sum(tx_count)) AS txs, toString(sum(active_addresses)) AS active,
       toString(sum(new_addresses)) AS fresh
     FROM (SELECT height, hash, time, tx_count, active_addresses, new_addresses FROM blocks
       WHERE height <= {tip:Int64} AND ${view.sqlFilter('height', 'hash')} LIMIT 1 BY height)
     GROUP BY day ORDER BY day`,
    { tip: head.tipHeight },
  )
  const ofDays = `INNER JOIN (SELECT height, intDiv(time, ${String(DAY_SECONDS)}) AS day FROM blocks WHERE ${filter}
    LIMIT 1 BY height) AS days USING (height) GROUP BY day`
  const touched = await db.query<{ day: number; active: string; fresh: string }>(
    `SELECT day, toString(uniqExact(script_hash)) AS active, toString(uniqExactIf(script_hash, number = 1)) AS fresh
     FROM (SELECT script_hash, script_txs.ordinal AS number, height FROM script_txs WHERE ${filter} AND has_address = 1) AS touches
     ${ofDays}`,
  )
  const counted = await db.query<{ day: number; txs: string }>(
    `SELECT day, toString(uniqExact(height, tx_index)) AS txs
     FROM (SELECT height, tx_index FROM block_txs WHERE ${filter}) AS counted ${ofDays}`,
  )
  const [byTouch, byCount] = [
    new Map(touched.map((row) => [row.day, row])),
    new Map(counted.map((row) => [row.day, row])),
  ]
  for (const { day, txs, active, fresh } of indexed) {
    findings.expect(`transactions of ${dateOf(day)}`, txs, byCount.get(day)?.txs ?? 0)
    findings.expect(`active addresses of ${dateOf(day)}`, active, byTouch.get(day)?.active ?? 0)
    findings.expect(`new addresses of ${dateOf(day)}`, fresh, byTouch.get(day)?.fresh ?? 0)
    byCount.delete(day)
  }
  for (const day of byCount.keys())
    findings.expect(`blocks of ${dateOf(day)}`, 'missing', 'transactions exist')
  return indexed.map(({ day }) => day)
}

/** Computes the counts of one day again from the rows of its blocks only, which is fast even on a long chain. */
export async function countDay({ db, view, head }: Parts, day: number, findings: Findings): Promise<void> {
  const span = { from: day * DAY_SECONDS, to: (day + 1) * DAY_SECONDS - 1, tip: head.tipHeight }
  type Row = { lowest: number; highest: number; blocks: string; txs: string; active: string }
  const ofTheDay = `FROM blocks WHERE time BETWEEN {from:UInt32} AND {to:UInt32} AND height <= {tip:Int64}
    AND ${view.sqlFilter('height', 'hash')}`
  const [row] = await db.query<Row>(
    `SELECT min(height) AS lowest, max(height) AS highest, count() AS blocks, toString(sum(tx_count)) AS txs,
       toString(sum(active_addresses)) AS active
     FROM (SELECT height, hash, tx_count, active_addresses ${ofTheDay} LIMIT 1 BY height)`,
    span,
  )
  if (row === undefined || row.blocks === '0') return
  const ofItsBlocks = `height BETWEEN {lowest:UInt32} AND {highest:UInt32} AND (height, block_tag) IN (SELECT height, block_tag ${ofTheDay})`
  const [again] = await db.query<{ txs: string; active: string }>(
    `SELECT (SELECT toString(uniqExact(height, tx_index)) FROM block_txs WHERE ${ofItsBlocks}) AS txs,
       (SELECT toString(uniqExact(script_hash)) FROM script_balances WHERE ${ofItsBlocks}) AS active`,
    { ...span, lowest: row.lowest, highest: row.highest },
  )
  findings.expect(`transactions of ${dateOf(day)}`, row.txs, again?.txs ?? 0)
  // Balances below the rankings in use are dropped.
  if ((await balanceFloor(db)) < row.lowest)
    findings.expect(`active addresses of ${dateOf(day)}`, row.active, again?.active ?? 0)
}

/** Computes fees, output and number of transactions of each block again from the bodies of its transactions. */
async function sumBlocks(context: AuditContext, findings: Findings): Promise<void> {
  const { head, progress } = context
  const first = Math.max(0, head.tipHeight - MAX_SUMMED + 1)
  for (let from = first; from <= head.tipHeight; from += SUMMED_AT_ONCE) {
    const to = Math.min(head.tipHeight, from + SUMMED_AT_ONCE - 1)
    await sumSomeBlocks(context, from, to, findings)
    progress(to - first + 1, head.tipHeight - first + 1)
  }
}

/** Computes the sums of the blocks between two heights again, both inclusive. */
async function sumSomeBlocks(
  context: Pick<AuditContext, 'db' | 'node' | 'signal' | 'view'>,
  from: number,
  to: number,
  findings: Findings,
): Promise<void> {
  const { db, view } = context
  const span = { from, to }
  const blocks = await db.query<{
    height: number
    id: string
    txs: number
    fees: string
    output: string
  }>(
    `SELECT height, lower(hex(hash)) AS id, tx_count AS txs, total_fees AS fees, total_output AS output FROM blocks
     WHERE height BETWEEN {from:UInt32} AND {to:UInt32} AND ${view.sqlFilter('height', 'hash')} LIMIT 1 BY height`,
    span,
  )
  const locations = await db.query<{ height: number; id: string }>(
    `SELECT height, lower(hex(txid)) AS id FROM block_txs WHERE height BETWEEN {from:UInt32} AND {to:UInt32}
     AND ${view.tagFilter()} LIMIT 1 BY height, tx_index`,
    span,
  )
  const bodies = await readBodies(
    db,
    locations.map(({ id }) => id),
  )
  const sums = new Map<number, BlockSums>()
  /** The blocks of which bodies are left to the node. */
  const ofNode = new Set<number>()
  for (const { height, id } of locations) {
    const sum = sums.get(height) ?? { txs: 0, fees: 0n, output: 0n }
    sums.set(height, sum)
    sum.txs++
    const stored = bodies.get(id)
    if (stored === undefined) {
      findings.expect(`body of transaction ${id}`, 'missing', 'present')
      continue
    }
    if (stored.body.length === 0) {
      ofNode.add(height)
      continue
    }
    const tx = parseBody(stored.body)
    if (tx.isCoinbase) continue
    const output = tx.outputs.reduce((total, { value }) => total + value, 0n)
    const coins = decodePrevouts(stored.prevouts)
    sum.output += output
    sum.fees += coins.reduce((total, { value }) => total + value, 0n) - output
  }
  for (const { height, id, txs, fees, output } of blocks) {
    const sum = ofNode.has(height) ? await sumsByNode(context, id) : sums.get(height)
    findings.expect(`transactions of block ${String(height)}`, txs, sum?.txs ?? 0)
    findings.expect(`fees of block ${String(height)}`, fees, sum?.fees ?? 0n)
    findings.expect(`output of block ${String(height)}`, output, sum?.output ?? 0n)
  }
}

async function sumsByNode(context: Parameters<typeof nodeBlock>[0], hash: string): Promise<BlockSums> {
  const { block, parsed } = await nodeBlock(context, hash)
  return sumsOf(block, parsed)
}

/** Computes the sums of a day again from the blocks of the node. */
async function sumDayByNode(context: AuditContext, day: number, findings: Findings): Promise<void> {
  const { db, view, head } = context
  const blocks = await db.query<{ id: string; txs: number; fees: string; output: string }>(
    `SELECT lower(hex(hash)) AS id, tx_count AS txs, total_fees AS fees, total_output AS output FROM blocks
     WHERE time BETWEEN {from:UInt32} AND {to:UInt32} AND height <= {tip:Int64} AND ${view.sqlFilter('height', 'hash')}
     ORDER BY height LIMIT 1 BY height LIMIT ${String(MAX_FETCHED)}`,
    { from: day * DAY_SECONDS, to: (day + 1) * DAY_SECONDS - 1, tip: head.tipHeight },
  )
  const reported: BlockSums = { txs: 0, fees: 0n, output: 0n }
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < blocks.length; at = next++) {
      const sums = await sumsByNode(context, blocks[at]?.id ?? '')
      reported.txs += sums.txs
      reported.fees += sums.fees
      reported.output += sums.output
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  const sum = (column: 'fees' | 'output'): bigint =>
    blocks.reduce((total, row) => total + BigInt(row[column]), 0n)
  const date = dateOf(day)
  findings.expect(
    `transactions of ${date} by the node`,
    blocks.reduce((total, { txs }) => total + txs, 0),
    reported.txs,
  )
  findings.expect(`fees of ${date} by the node`, sum('fees'), reported.fees)
  findings.expect(`output of ${date} by the node`, sum('output'), reported.output)
}
