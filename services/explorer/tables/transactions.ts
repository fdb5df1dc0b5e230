import { blockTag, type BlockId } from '../../../pipelines/chain/block.js'
import { parseBody, witnessTag } from '../../../pipelines/chain/transaction.js'
import { blocksFilter, type ChainView } from '../../../pipelines/tables/chain-view.js'
import type { ByteQuerier, Querier } from '../../../pipelines/tables/keys.js'
import { BLOCK_TXS } from '../../../pipelines/tables/schema.js'
import { Selection } from '../../../pipelines/tables/selection.js'
import type { CanonicalBlocks } from '../state/canonical-blocks.js'
import { blockTxKey, locationPrefix } from './point-keys.js'
import type { BlockTx, Tables, TxRow } from './tables.js'

const BLOCK_TX = new Selection(BLOCK_TXS.columns)
const TXID = new Selection({ txid: BLOCK_TXS.columns.txid })

/** The number of blocks whose txids one query reads. */
const BLOCKS_AT_ONCE = 200
/** The number of blocks of which all columns are read at once. */
const FEW_BLOCKS = 10

/**
 * Returns transactions of a chain by their txids, each as of its block on this chain; those that it does not contain are missing.
 * One lookup, unless the chain does not contain a transaction, or a block of another branch that contains it was written later.
 * @throws Error if one is missing that the chain contains: a power cut can lose the newest rows of `txs`, until they are repaired.
 */
export async function transactionsByTxid(
  tables: Tables,
  blocks: CanonicalBlocks,
  txids: readonly string[],
): Promise<Map<string, TxRow>> {
  const rows = await tables.txs.getAll(txids)
  const hidden: string[] = []
  for (const txid of txids) {
    const row = rows.get(txid)
    if (row !== undefined && blocks.has(row.height, row.blockTag)) continue
    rows.delete(txid)
    hidden.push(txid)
  }
  if (hidden.length === 0) return rows
  const located = await locate(tables, blocks, hidden)
  for (const row of await transactionsOf(tables, located)) rows.set(row.txid, row)
  return rows
}

/** Returns the transactions of a chain that have one of the txids. */
async function locate(tables: Tables, blocks: CanonicalBlocks, txids: readonly string[]): Promise<BlockTx[]> {
  const locations = [...(await tables.locations.getAll(txids.map(locationPrefix))).values()].flat()
  const visible = locations.filter(({ height, blockTag: tag }) => blocks.has(height, tag))
  const wanted = new Set(txids)
  // Another transaction may have the same prefix.
  return [...(await tables.blockTxs.getAll(visible.map(blockTxKey))).values()].filter(({ txid }) =>
    wanted.has(txid),
  )
}

/**
 * Returns transactions of blocks, in order, each as of its block, on the chain or not.
 * @throws Error if one is missing; its rows are written before the head of its block.
 */
export async function transactionsOf(tables: Tables, located: readonly BlockTx[]): Promise<TxRow[]> {
  const rows = await tables.txs.getAll(located.map(({ txid }) => txid))
  const replaced: BlockTx[] = []
  const made = located.map((at) => {
    const row = rows.get(at.txid)
    if (row === undefined) throw new Error(`table txs lacks transaction ${at.txid}, which is in a block`)
    if (row.height === at.height && row.blockTag === at.blockTag) return row
    if (tagOf(row) !== at.witnessTag) replaced.push(at)
    return { ...row, ...locationOf(at) }
  })
  if (replaced.length === 0) return made
  const witnesses = await tables.replacedWitnesses.getAll(replaced.map(({ txid }) => txid))
  const missing = new Set(replaced)
  return made.map((row, index) => {
    const at = located[index] as BlockTx
    if (!missing.has(at)) return row
    const own = witnesses
      .get(at.txid)
      ?.find((each) => each.height === at.height && each.blockTag === at.blockTag)
    if (own !== undefined) return { ...row, witness: own.witness }
    // Under a newer writer the state is outdated, and the reader computes the answer again.
    tables.requireFence()
    throw new Error(`the tables lack the witness of transaction ${at.txid} at height ${String(at.height)}`)
  })
}

const locationOf = ({ height, blockTag: tag, txIndex, isDilithium }: BlockTx) => ({
  ...{ height, blockTag: tag, txIndex, isDilithium },
})

/** Returns `block_txs.witness_tag` of a transaction as of the block that was written last. */
function tagOf({ body, witness }: TxRow): number {
  return witness.length === 0 ? 0 : witnessTag(parseBody(body, witness))
}

/** Returns the transactions of a block with indexes in a range (inclusive), in order, each once. */
export async function blockTxsBetween(
  tables: ByteQuerier,
  { height, hash }: BlockId,
  from: number,
  to: number,
): Promise<BlockTx[]> {
  const rows = `FROM block_txs WHERE height = {height:UInt32} AND block_tag = {tag:UInt32}
    AND tx_index BETWEEN {from:UInt32} AND {to:UInt32} ORDER BY tx_index LIMIT 1 BY tx_index`
  return BLOCK_TX.bytes(tables, rows, { height, tag: blockTag(hash), from, to })
}

/**
 * Returns the transactions of a block with indexes in a range (inclusive), in order, for a read that knows their number: in an
 * operation by their keys, which share queries with those of other blocks.
 */
export async function blockTxsIn(
  tables: Tables,
  { height, hash, txCount }: BlockId & { readonly txCount: number },
  from: number,
  to: number,
): Promise<BlockTx[]> {
  if (tables.batches === undefined) return blockTxsBetween(tables.unchecked, { height, hash }, from, to)
  const place = { height, blockTag: blockTag(hash) }
  const count = Math.max(0, Math.min(to, txCount - 1) - from + 1)
  const keys = Array.from({ length: count }, (_, index) => blockTxKey({ ...place, txIndex: from + index }))
  const found = await tables.blockTxs.getAll(keys)
  return keys.flatMap((key) => found.get(key) ?? [])
}

/** Returns the newest visible transactions, newest first. */
export async function newestBlockTxs(tables: Querier, view: ChainView, count: number): Promise<BlockTx[]> {
  const { tipHeight: tip } = view.head
  // Each block has a transaction, so the newest `count` blocks contain at least as many.
  const rows = `FROM block_txs WHERE height BETWEEN {from:UInt32} AND {tip:UInt32} AND ${view.tagFilter()}
    ORDER BY height DESC, block_tag DESC, tx_index DESC LIMIT 1 BY height, block_tag, tx_index LIMIT ${String(count)}`
  return BLOCK_TX.query(tables, rows, { from: Math.max(0, tip - count + 1), tip })
}

/** Returns the newest visible transactions that move more than a value (base units), newest first. @param filter visible rows. */
export async function newestWhales(
  tables: Querier,
  least: bigint,
  filter: string,
  count: number,
): Promise<BlockTx[]> {
  // Reads the granules that the index selects one after another, newest first, and stops when there are enough rows.
  const rows = `FROM block_txs WHERE moved > {least:UInt64} AND ${filter}
    ORDER BY height DESC, block_tag DESC, tx_index DESC LIMIT 1 BY height, block_tag, tx_index LIMIT ${String(count)}
    SETTINGS max_threads = 1, max_block_size = 1024`
  return BLOCK_TX.query(tables, rows, { least: least.toString() })
}

/** The transactions of blocks, for several callers at once: those of the same few blocks are read once. */
export class BlockContents {
  readonly #tables: Pick<Tables, 'unchecked'>
  readonly #rows = new Map<string, Promise<readonly BlockTx[]>>()
  readonly #txids = new Map<string, Promise<ReadonlySet<string>>>()

  constructor(tables: Pick<Tables, 'unchecked'>) {
    this.#tables = tables
  }

  /** Returns the txids of blocks, which must be in order of height. @throws DatabaseUnavailable. */
  readonly txids = (blocks: readonly BlockId[]): Promise<ReadonlySet<string>> =>
    once(this.#txids, blocks, () => this.#readTxids(blocks))

  /**
   * Returns the transactions of blocks that move more than a value (base units), in the order of the chain.
   * @throws DatabaseUnavailable.
   */
  async whales(least: bigint, blocks: readonly BlockId[]): Promise<readonly BlockTx[]> {
    if (blocks.length > FEW_BLOCKS) return this.#read(blocks, `moved > ${String(least)}`)
    return (await this.#rowsOf(blocks)).filter(({ moved }) => moved > least)
  }

  async #readTxids(blocks: readonly BlockId[]): Promise<ReadonlySet<string>> {
    if (blocks.length <= FEW_BLOCKS) return new Set((await this.#rowsOf(blocks)).map(({ txid }) => txid))
    const txids = new Set<string>()
    for (let at = 0; at < blocks.length; at += BLOCKS_AT_ONCE) {
      const some = blocks.slice(at, at + BLOCKS_AT_ONCE)
      for (const { txid } of await TXID.bytes(this.#tables.unchecked, `FROM block_txs WHERE ${within(some)}`))
        txids.add(txid)
    }
    return txids
  }

  #rowsOf(blocks: readonly BlockId[]): Promise<readonly BlockTx[]> {
    return once(this.#rows, blocks, () => this.#read(blocks, '1'))
  }

  async #read(blocks: readonly BlockId[], filter: string): Promise<readonly BlockTx[]> {
    if (blocks.length === 0) return []
    const rows = `FROM block_txs WHERE ${filter} AND ${within(blocks)}
      ORDER BY height, tx_index LIMIT 1 BY height, block_tag, tx_index`
    return BLOCK_TX.bytes(this.#tables.unchecked, rows)
  }
}

function once<T>(
  known: Map<string, Promise<T>>,
  blocks: readonly BlockId[],
  read: () => Promise<T>,
): Promise<T> {
  const key = blocks.map(({ hash }) => hash).join()
  let result = known.get(key)
  if (result === undefined) known.set(key, (result = read()))
  return result
}

/** Returns an SQL condition for the rows of blocks, at least one, by the key of the table and by their tags. */
function within(blocks: readonly BlockId[]): string {
  const heights = blocks.map(({ height }) => height)
  const range = `${String(Math.min(...heights))} AND ${String(Math.max(...heights))}`
  return `height BETWEEN ${range} AND ${blocksFilter(blocks)}`
}
