import { isRepeatable } from '../../chain/block.js'
import type { Database } from '../../tables/clickhouse.js'
import { integerSet, KEYS8, queryByKeys } from '../../tables/keys.js'
import { heightDesc, outputTxidPrefix } from '../../tables/schema.js'
import type { CumulativeRows } from './block-applier.js'
import type { CoinbaseOutput } from './block-row.js'
import { unspentSize } from './block-statistics.js'
import type { ConnectedBlock } from './decode.js'
import { type ScriptChanges, scriptOf } from './script-changes.js'

/** The coinbase of a block. */
export interface Coinbase {
  readonly txid: string
  readonly height: number
  /** True if a lower block of the chain may contain it, too. */
  readonly isRepeatable: boolean
}

/** Returns the coinbases of blocks, in their order. */
export function coinbasesOf({ blocks, txids }: ScriptChanges): Coinbase[] {
  let first = 0
  return blocks.map(({ row: { height, tx_count: count }, repeatable }) => {
    const txid = txids[first] ?? ''
    first += count
    return { txid, height, isRepeatable: repeatable.length > 0 }
  })
}

/** Returns the coinbase of a block. */
export function coinbaseOf({ height, txs: [tx] }: ConnectedBlock): Coinbase {
  return { txid: tx?.txid ?? '', height, isRepeatable: tx !== undefined && isRepeatable(tx, height) }
}

/**
 * Divides consecutive blocks, so that each block whose coinbase is repeated is a part of its own: it can be applied when the blocks
 * below it are in the tables.
 * @param repeated indexes of these blocks, ascending.
 */
export function partsOf<Block>(
  blocks: readonly Block[],
  repeated: readonly number[],
): { readonly part: readonly Block[]; readonly isRepeated: boolean }[] {
  const ends = [...repeated.flatMap((index) => [index, index + 1]), blocks.length]
  return ends
    .map((end, at) => ({ part: blocks.slice(ends[at - 1] ?? 0, end), isRepeated: at % 2 === 1 }))
    .filter(({ part }) => part.length > 0)
}

/**
 * Returns the indexes of the coinbases of consecutive blocks that lower blocks, of any branch, contain, too, ascending.
 * @param lower ids of coinbases of lower blocks whose rows may not be inserted yet.
 */
export async function repeatedAmong(
  db: Database,
  coinbases: readonly Coinbase[],
  lower: Iterable<string>,
): Promise<number[]> {
  // No query for blocks since BIP 34.
  if (!coinbases.some(({ isRepeatable }) => isRepeatable)) return []
  const before = new Set(lower)
  const repeated = new Set<number>()
  const unknown = new Map<string, number>()
  for (const [index, { txid, isRepeatable }] of coinbases.entries()) {
    if (isRepeatable && before.has(txid)) repeated.add(index)
    else if (isRepeatable) unknown.set(prefixOf(txid), index)
    before.add(txid)
  }
  const sql = `SELECT lower(hex(txid_prefix)) AS prefix, min(height) AS lowest FROM tx_locations
    WHERE txid_prefix IN ${KEYS8} AND tx_index = 0 GROUP BY txid_prefix`
  const rows = await queryByKeys<{ prefix: string; lowest: number }>(db, sql, unknown.keys())
  for (const { prefix, lowest } of rows) {
    const index = unknown.get(prefix)
    if (index !== undefined && lowest < (coinbases[index]?.height ?? 0)) repeated.add(index)
  }
  return [...repeated].sort((one, other) => one - other)
}

/**
 * Adds the outputs that the coinbase of a block overwrites (BIP 30): the unspent outputs of the highest lower block of the chain that
 * contains it, too. They are spent by the block, without an input, and what the coinbase's scripts send is their value.
 * @param rows receives the rows of these spends. @param scriptChanges of this block alone; they are changed.
 * @param filter SQL condition for the rows of the chain below the block, all of which must be in the tables.
 * @returns whether a lower block of the chain contains the coinbase.
 */
export async function overwrite(
  db: Database,
  rows: CumulativeRows,
  scriptChanges: ScriptChanges,
  filter: string,
): Promise<boolean> {
  const [txid, block] = [scriptChanges.txids[0], scriptChanges.blocks[0]]
  if (txid === undefined || block === undefined || block.repeatable.length === 0) return false
  const { row, statistics } = block
  const { height, block_tag } = row
  const from = await highestWith(db, txid, `height < ${String(height)} AND ${filter}`)
  if (from === undefined) return false
  const spent = await spentFrom(db, txid, `height >= ${String(from)} AND ${filter}`)
  const bytesOf = scriptOf(scriptChanges)
  for (const output of block.repeatable) {
    if (spent.has(output.vout)) continue
    send(scriptChanges, output)
    statistics.utxo_size_increase -= unspentSize({ script: bytesOf(output.script) })
    rows.overwritten.add({
      script_hash: scriptChanges.hashes[output.script] ?? '',
      spent: true,
      height_desc: heightDesc(height),
      txid_prefix: outputTxidPrefix(txid),
      vout: output.vout,
      age: height - from,
      block_tag,
      tx_index: 0,
      value: output.value,
    })
  }
  return true
}

/** Changes the touch of an output's script by the coinbase. */
function send(
  { touchEnds, touched, sent, unspent, outputCounts }: ScriptChanges,
  output: CoinbaseOutput,
): void {
  const at = touched.subarray(0, touchEnds[0]).indexOf(output.script)
  if (at < 0) throw new RangeError('the coinbase does not touch the script of its output')
  sent[at] = (sent[at] ?? 0n) + output.value
  unspent[at] = (unspent[at] ?? 0) - 1
  outputCounts[output.script] = (outputCounts[output.script] ?? 0) + 1
}

/** Returns the height of the highest block with a coinbase; undefined if there is none. */
async function highestWith(db: Database, txid: string, filter: string): Promise<number | undefined> {
  const locations = `SELECT DISTINCT height AS at FROM tx_locations
    WHERE txid_prefix = unhex({prefix:String}) AND tx_index = 0 AND ${filter}`
  const heights = (await db.query<{ at: number }>(locations, { prefix: prefixOf(txid) })).map(({ at }) => at)
  if (heights.length === 0) return undefined
  const sql = `SELECT height AS at FROM block_txs WHERE height IN ${integerSet(heights)} AND tx_index = 0
    AND txid = unhex({txid:String}) AND ${filter} ORDER BY height DESC LIMIT 1`
  return (await db.query<{ at: number }>(sql, { txid }))[0]?.at
}

async function spentFrom(db: Database, txid: string, filter: string): Promise<ReadonlySet<number>> {
  const sql = `SELECT DISTINCT prev_vout AS vout FROM spends WHERE prev_txid = unhex({prefix:String}) AND ${filter}`
  const rows = await db.query<{ vout: number }>(sql, { prefix: txid.slice(0, 40) })
  return new Set(rows.map(({ vout }) => vout))
}

const prefixOf = (txid: string): string => txid.slice(0, 16)
