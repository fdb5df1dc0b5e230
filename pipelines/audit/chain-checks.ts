import { coinsToBaseUnits } from '../chain/amount.js'
import type { BlockId } from '../chain/block.js'
import { sha256 } from '../chain/hash.js'
import { networkNamed } from '../chain/networks.js'
import { txOutSetReply } from '../node/replies.js'
import { latestHead } from '../tables/head.js'
import { HEIGHTS } from '../tables/keys.js'
import { type AuditContext, type Findings, isOfNode, persisting, shownWith } from './audit.js'

/** The maximum length of a chain of which all hashes are compared with the node. On a longer one the newest and a sample are. */
const ALL_HEIGHTS = 20_000
const NEWEST = 2_000
const AT_ONCE = 1_000

/** Checks that the index follows the same chain as the node and has the same tip. Only a persistent difference counts. */
export async function tipCheck(context: AuditContext, findings: Findings): Promise<void> {
  const { db, node, signal } = context
  const info = await node.chainInfo(signal)
  const view = await shownWith(context, { height: info.blocks, hash: info.bestblockhash })
  const head = view?.head ?? (await latestHead(db)) ?? context.head
  const tip = { height: head.tipHeight, hash: head.tipHash }
  findings.checked = 1
  findings.expect('chain', networkNamed(head.chain).nodeName, info.chain)
  if (view !== undefined && (await isOfNode(context, tip))) return
  findings.expect('height of the tip', tip.height, info.blocks)
  findings.expect('hash of the tip', tip.hash, info.bestblockhash)
}

/** Checks that every height has one block, whose parent is the block below, and that the node has the same blocks. */
export async function chainCheck(context: AuditContext, findings: Findings): Promise<void> {
  const { db, view, head, node, signal, sample, seed, progress } = context
  const filter = view.sqlFilter('height', 'hash')
  const [counted] = await db.query<{ heights: string; blocks: string }>(
    `SELECT uniqExact(height) AS heights, uniqExact(height, hash) AS blocks FROM blocks WHERE height <= {tip:Int64} AND ${filter}`,
    { tip: head.tipHeight },
  )
  findings.expect('heights that have a block', counted?.heights, head.tipHeight + 1)
  findings.expect('blocks of the chain', counted?.blocks, head.tipHeight + 1)
  const broken = await db.query<{ at: number; on: string; below: string; gap: number }>(
    `SELECT height AS at, lower(hex(prev_hash)) AS on, lower(hex(before)) AS below, height - last AS gap FROM (
       SELECT height, prev_hash, lagInFrame(hash) OVER w AS before, lagInFrame(toInt64(height), 1, -1) OVER w AS last
       FROM (SELECT height, hash, prev_hash FROM blocks WHERE height <= {tip:Int64} AND ${filter} ORDER BY height LIMIT 1 BY height, hash)
       WINDOW w AS (ORDER BY height ROWS BETWEEN 1 PRECEDING AND CURRENT ROW))
     WHERE height > 0 AND (height - last != 1 OR prev_hash != before) ORDER BY height LIMIT 100`,
    { tip: head.tipHeight },
  )
  for (const { at, on, below, gap } of broken) {
    if (gap === 1) findings.expect(`parent of block ${String(at)}`, on, below)
    else findings.expect(`blocks missing below ${String(at)}`, gap - 1, 0)
  }
  const { blocks } = await node.chainInfo(signal)
  findings.expect('blocks above the tip of the node', Math.max(0, head.tipHeight - blocks), 0)
  const heights = comparedHeights(Math.min(head.tipHeight, blocks), sample, seed)
  for (let done = 0; done < heights.length; done += AT_ONCE) {
    const some = heights.slice(done, done + AT_ONCE)
    const reported = await node.hashesAt(some, signal)
    const rows = await db.query<{ height: number; id: string }>(
      `SELECT DISTINCT height, lower(hex(hash)) AS id FROM blocks WHERE height IN ${HEIGHTS} AND ${filter}`,
      { heights: some.join(',') },
    )
    const indexed = new Map(rows.map(({ height, id }) => [height, id]))
    for (const [at, height] of some.entries())
      findings.expect(`hash of block ${String(height)}`, indexed.get(height) ?? 'missing', reported[at])
    findings.checked += some.length
    progress(findings.checked, heights.length)
  }
}

function comparedHeights(tip: number, sample: number, seed: string): number[] {
  if (tip < ALL_HEIGHTS) return Array.from({ length: tip + 1 }, (_, height) => height)
  const newest = Array.from({ length: NEWEST }, (_, at) => tip - NEWEST + 1 + at)
  return [...sampleHeights(tip - NEWEST, sample, seed), ...newest]
}

/** Returns some distinct heights from 0 to a last one, lowest first, the same for the same seed. */
export function sampleHeights(last: number, count: number, seed: string): number[] {
  if (last + 1 <= count) return Array.from({ length: last + 1 }, (_, height) => height)
  const heights = new Set<number>()
  // Mulberry32: a sample only needs to be reproducible.
  let state = sha256(Buffer.from(seed)).readInt32LE(0)
  while (heights.size < count) {
    state = (state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    heights.add(((mixed ^ (mixed >>> 14)) >>> 0) % (last + 1))
  }
  return [...heights].sort((one, other) => one - other)
}

/** Compares supply and number of unspent outputs with gettxoutsetinfo, at the block that it names. */
export function supplyCheck(context: AuditContext, all: Findings): Promise<void> {
  const { db, node, signal } = context
  return persisting(context, all, async (findings) => {
    const set = await node.call('gettxoutsetinfo', [], txOutSetReply, signal)
    const block = { height: set.height, hash: set.bestblock }
    await shownWith(context, block)
    const row = await supplyAfter(db, block)
    findings.checked = 1
    const at = `at block ${String(set.height)}`
    findings.expect(`supply ${at}`, row?.total ?? 'not indexed', coinsToBaseUnits(set.total_amount))
    findings.expect(`unspent outputs ${at}`, row?.outputs ?? 'not indexed', set.txouts)
  })
}

/** Reads the supply (base units) and the number of unspent outputs after a block; returns undefined if it is not indexed. */
export async function supplyAfter(
  db: AuditContext['db'],
  block: BlockId,
): Promise<{ readonly total: string; readonly outputs: string } | undefined> {
  const sql =
    'SELECT supply AS total, utxo_count AS outputs FROM blocks WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1'
  return (await db.query<{ total: string; outputs: string }>(sql, { ...block }))[0]
}
