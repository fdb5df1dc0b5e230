import { blockTag, type BlockId, isRepeatable } from '../../../../pipelines/chain/block.js'
import { parseBody, witnessTag } from '../../../../pipelines/chain/transaction.js'
import { blocksFilter, type ChainView } from '../../../../pipelines/tables/chain-view.js'
import type { ByteQuerier, Querier } from '../../../../pipelines/tables/keys.js'
import { BLOCK_TXS } from '../../../../pipelines/tables/schema.js'
import { Selection } from '../../../../pipelines/tables/selection.js'
import type { CanonicalBlocks } from './canonical-blocks.js'
import { blockTxKey, locationPrefix, outputPrefix } from './point-keys.js'
import type { Lookup } from './gather.js'
import {
  BLOCK_TX,
  type BlockTx,
  type PlacedTx,
  type Body,
  MAX_SHARED_SPENDS,
  type Spend,
  type StoredBody,
  type StoredTx,
  type ConfirmedTx,
} from './lookups.js'
import type { Tables } from './tables.js'

const TXID = new Selection({ txid: BLOCK_TXS.columns.txid })

/** The number of blocks whose txids one query reads. */
const BLOCKS_AT_ONCE = 200
/** The number of places whose transactions are in memory at once. */
const PLACES_AT_ONCE = 5_000
/** The number of blocks of which all columns are read at once. */
const FEW_BLOCKS = 10

/** A transaction as of a block. Its buffers are views of a response: copy what is kept. */
export interface TxRow extends ConfirmedTx, Body {
  /** The serialised witnesses, empty if there are none; undefined if they were not read. */
  readonly witness: Buffer | undefined
  /** Bytes, also of a witness that was not read. */
  readonly witnessSize: number
}

/**
 * Returns the height from which on an answer that names the block of a txid is final: infinite for a coinbase of which a later
 * block may contain a repetition, because its script does not begin with the height (BIP 34). Without a body, every coinbase is one.
 */
export function finalHeightOf({
  height,
  txIndex,
  body,
}: Pick<TxRow, 'height' | 'txIndex'> & Partial<Pick<TxRow, 'body'>>): number {
  const isFinal = txIndex > 0 || (body !== undefined && !isRepeatable(parseBody(body), height))
  return isFinal ? height : Number.POSITIVE_INFINITY
}

/** A transaction with its witness. */
export type CompleteTx = TxRow & { readonly witness: Buffer }

/** Returns whether an answer contains a witness of so many bytes: others are not read. */
export type TakesWitness = (bytes: number) => boolean

/** Takes no witness. */
export const NO_WITNESS: TakesWitness = () => false
const EVERY_WITNESS: TakesWitness = () => true

/**
 * Returns the blocks of transactions of a chain by their txids; those that it does not contain are missing. One lookup, unless the
 * chain does not contain a transaction, or a block of another branch that contains it was written later.
 */
export async function confirmationsByTxid(
  tables: Tables,
  blocks: CanonicalBlocks,
  txids: readonly string[],
): Promise<Map<string, ConfirmedTx>> {
  const confirmed = await tables.confirmations.getAll(txids)
  const hidden: string[] = []
  for (const txid of txids) {
    const row = confirmed.get(txid)
    if (row !== undefined && blocks.has(row.height, row.blockTag)) continue
    confirmed.delete(txid)
    hidden.push(txid)
  }
  if (hidden.length === 0) return confirmed
  for (const at of await locate(tables, blocks, hidden))
    if (at.height > (confirmed.get(at.txid)?.height ?? -1)) confirmed.set(at.txid, at)
  return confirmed
}

/**
 * Returns a transaction of a chain, as of its block on this chain, the highest one; undefined if the chain does not contain it. Lookups as for
 * `confirmationsByTxid`, and one for each part that is large.
 * @param takes decides whether the witness is read.
 * @param before called with the sizes of a transaction of which some parts are not read yet.
 * @throws Error if its row is missing although the chain contains it: a power cut can lose the newest rows of `txs`, until they are
 * repaired.
 */
export async function transactionByTxid(
  tables: Tables,
  blocks: CanonicalBlocks,
  txid: string,
  takes = EVERY_WITNESS,
  before: (row: StoredBody) => Promise<void> = () => Promise.resolve(),
): Promise<TxRow | undefined> {
  const lookup: Lookup<StoredBody | StoredTx> = takes === NO_WITNESS ? tables.bodies : tables.txs
  const row = await lookup.get(txid)
  if (row !== undefined) await before(row)
  if (row !== undefined && blocks.has(row.height, row.blockTag)) return complete(tables, row, takes)
  const located = await locate(tables, blocks, [txid])
  const at = located.reduce<BlockTx | undefined>(
    (highest, each) => (highest !== undefined && highest.height > each.height ? highest : each),
    undefined,
  )
  return at && transactionAt(tables, at, await storedOf(tables, [at], takes !== NO_WITNESS), takes)
}

/**
 * Returns the transactions of a chain that have one of the txids. A coinbase may be in several blocks (BIP 30). The row of `txs` names
 * the highest of them, or a block that is not on the chain.
 */
async function locate(tables: Tables, blocks: CanonicalBlocks, txids: readonly string[]): Promise<BlockTx[]> {
  const locations = [...(await tables.locations.getAll(txids.map(locationPrefix))).values()].flat()
  const visible = locations.filter(({ height, blockTag: tag }) => blocks.has(height, tag))
  const txidSet = new Set(txids)
  // Several transactions may have one prefix.
  return [...(await tables.blockTxs.getAll(visible.map(blockTxKey))).values()].filter(({ txid }) =>
    txidSet.has(txid),
  )
}

/**
 * Returns transactions of blocks, with their witnesses, in order, each as of its block, on the chain or not.
 * @throws Error if one is missing; its rows are written before the head of its block.
 */
export async function transactionsOf(tables: Tables, located: readonly BlockTx[]): Promise<CompleteTx[]> {
  const stored = await storedOf(tables, located, true)
  return Promise.all(located.map((at) => transactionAt(tables, at, stored))) as Promise<CompleteTx[]>
}

/** Transactions as of the blocks that were written last, without large parts, by txid. */
export type StoredTransactions = ReadonlyMap<string, StoredBody | StoredTx>

/** Looks up transactions of blocks, for `transactionAt`. @param withWitness false if no witnesses are needed. */
export function storedOf(
  tables: Tables,
  located: readonly Pick<BlockTx, 'txid'>[],
  withWitness: boolean,
): Promise<StoredTransactions> {
  const lookup: Lookup<StoredBody | StoredTx> = withWitness ? tables.txs : tables.bodies
  return lookup.getAll(located.map(({ txid }) => txid))
}

/**
 * Returns a transaction as of its block, with its large parts. A caller that is done with a transaction before it requests the next
 * needs memory for one.
 * @param at looked up in `block_txs` if only its place is known and a block of another branch that contains it was written later.
 * @param takes decides whether the witness is read.
 * @throws Error if it is missing; its rows are written before the head of its block.
 */
export async function transactionAt(
  tables: Tables,
  at: PlacedTx | BlockTx,
  stored: StoredTransactions,
  takes = EVERY_WITNESS,
): Promise<TxRow> {
  const row = stored.get(at.txid)
  if (row === undefined) throw lacking(at.txid)
  const isSame = row.height === at.height && row.blockTag === at.blockTag
  if (isSame) return complete(tables, row, takes)
  const placed = 'witnessTag' in at ? at : await tables.blockTxs.get(blockTxKey(at))
  if (placed === undefined)
    throw new Error(`table block_txs lacks transaction ${at.txid} of block ${String(at.height)}`)
  return asOf(tables, placed, row, takes)
}

/**
 * Returns the spends of the outputs of a transaction.
 * @param first what the lookup of many transactions has found: `MAX_SHARED_SPENDS`, and one more if there are others.
 */
export async function allSpends(
  tables: Pick<Tables, 'largeSpends'>,
  txid: string,
  first: readonly Spend[] = [],
): Promise<readonly Spend[]> {
  if (first.length <= MAX_SHARED_SPENDS) return first
  return (await tables.largeSpends.get(outputPrefix(txid))) ?? first
}

/**
 * Returns the spends, on a chain, of the outputs that a transaction created in a block. If several blocks of the chain contain it
 * (BIP 30), its outputs exist again from each of them on.
 * @param all spends of its outputs, of all branches. @param last the block of the transaction that was written last.
 */
export async function spendsIn(
  tables: Tables,
  blocks: CanonicalBlocks,
  at: Pick<ConfirmedTx, 'txid' | 'height' | 'blockTag'>,
  all: readonly Spend[],
  last: Pick<ConfirmedTx, 'height' | 'blockTag'> = at,
): Promise<readonly Spend[]> {
  const visible = all.filter((spend) => blocks.has(spend.height, spend.blockTag))
  if (!blocks.has(at.height, at.blockTag)) return visible
  const isLast = last.height === at.height && last.blockTag === at.blockTag
  const others = isLast ? [] : await locate(tables, blocks, [at.txid])
  const next = Math.min(...others.map(({ height }) => height).filter((height) => height > at.height))
  return visible.filter(({ height }) => height >= at.height && height < next)
}

/** A row that names a transaction by its place in a block, and whose txid may be known. */
interface Placed extends Pick<BlockTx, 'height' | 'blockTag' | 'txIndex'> {
  readonly txid?: string | undefined
}

/** A row with the txid of the transaction that it names. */
export type Named<Row extends Placed> = Row & { readonly txid: string }

/** Returns rows with txids. One lookup for some thousands that are not known. @throws Error if a block lacks a transaction. */
export async function withTxids<Row extends Placed>(
  tables: Pick<Tables, 'txids'>,
  rows: readonly Row[],
): Promise<Named<Row>[]> {
  const named: Named<Row>[] = []
  for (let from = 0; from < rows.length; from += PLACES_AT_ONCE) {
    const some = rows.slice(from, from + PLACES_AT_ONCE)
    const keys = some.flatMap((row) => (row.txid === undefined ? blockTxKey(row) : []))
    const found = keys.length === 0 ? undefined : await tables.txids.getAll(keys)
    for (const row of some) {
      const txid = row.txid ?? found?.get(blockTxKey(row))
      if (txid === undefined)
        throw new Error(
          `table block_txs lacks transaction ${String(row.txIndex)} of block ${String(row.height)}`,
        )
      named.push({ ...row, txid })
    }
  }
  return named
}

/** Calls a function with the bodies of transactions by their txids, large bodies one after another; missing bodies are left out. */
export async function eachBody(
  tables: Pick<Tables, 'bodies' | 'largeBodies'>,
  txids: readonly string[],
  use: (body: Body) => void,
): Promise<void> {
  for (const row of (await tables.bodies.getAll(txids)).values()) use(await bodyOf(tables, row))
}

const lacking = (txid: string): Error => new Error(`table txs lacks transaction ${txid}, which is in a block`)

/** Returns the body of a transaction, which is looked up if it is large. @throws Error if it is missing. */
export async function bodyOf(
  tables: Pick<Tables, 'largeBodies'>,
  { txid, smallBody: body, smallPrevouts: prevouts }: StoredBody,
): Promise<Body> {
  if (body.length > 0) return { txid, body, prevouts }
  const large = await tables.largeBodies.get(txid)
  if (large === undefined) throw lacking(txid)
  return large
}

/** Returns a transaction as of the block that was written last, with its large parts. */
async function complete(tables: Tables, row: StoredBody | StoredTx, takes: TakesWitness): Promise<TxRow> {
  const { txid, height, blockTag: tag, txIndex, isDilithium, witnessSize } = row
  const place = { height, blockTag: tag, txIndex, isDilithium, witnessSize }
  const isTaken = takes(witnessSize)
  const { body, prevouts } = await bodyOf(tables, row)
  const isSmall = isTaken && 'smallWitness' in row && row.smallWitness.length === witnessSize
  const witness = !isTaken ? undefined : isSmall ? row.smallWitness : await largeWitness(tables, row)
  return { txid, ...place, body, prevouts, witness }
}

/** Returns the large witness of a transaction as of the block that was written last when its row was read. */
async function largeWitness(tables: Tables, { txid, height, blockTag: tag }: ConfirmedTx): Promise<Buffer> {
  const last = await tables.largeWitnesses.get(txid)
  if (last === undefined) throw lacking(txid)
  // Otherwise the row was replaced meanwhile.
  if (last.height === height && last.blockTag === tag) return last.witness
  return replacedWitness(tables, { txid, height, blockTag: tag })
}

/** Returns a transaction as of a block other than its last written block. @param row the transaction as of its last written block. */
async function asOf(
  tables: Tables,
  at: BlockTx,
  row: StoredBody | StoredTx,
  takes: TakesWitness,
): Promise<TxRow> {
  const { txid, height, blockTag: tag, txIndex, isDilithium } = at
  const body = await bodyOf(tables, row)
  const last = row.witnessSize === 0 ? NOTHING : await largeWitness(tables, row)
  const witness = tagOf(body, last) === at.witnessTag ? last : await replacedWitness(tables, at)
  const { length: witnessSize } = witness
  return {
    txid,
    height,
    blockTag: tag,
    txIndex,
    isDilithium,
    body: body.body,
    prevouts: body.prevouts,
    witnessSize,
    witness: takes(witnessSize) ? witness : undefined,
  }
}

const NOTHING = Buffer.alloc(0)

async function replacedWitness(
  tables: Tables,
  { txid, height, blockTag: tag }: Pick<ConfirmedTx, 'txid' | 'height' | 'blockTag'>,
): Promise<Buffer> {
  const witnesses = await tables.replacedWitnesses.get(txid)
  const own = witnesses?.find((each) => each.height === height && each.blockTag === tag)
  if (own !== undefined) return own.witness
  // Under a newer writer the state is outdated, and the reader computes the answer again.
  tables.requireFence()
  // An index without bodies has no witnesses, either.
  return (await tables.fromNode({ txid, height, blockTag: tag })).witness
}

/** Returns `block_txs.witness_tag` of a transaction with a witness. */
function tagOf({ body }: Pick<Body, 'body'>, witness: Buffer): number {
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
 * operation by their keys, which share queries with the keys of other blocks.
 */
export async function blockTxsIn(
  tables: Tables,
  { height, hash, txCount }: BlockId & { readonly txCount: number },
  from: number,
  to: number,
): Promise<BlockTx[]> {
  if (!tables.isOperation) return blockTxsBetween(tables.unchecked, { height, hash }, from, to)
  const place = { height, blockTag: blockTag(hash) }
  const count = Math.max(0, Math.min(to, txCount - 1) - from + 1)
  const keys = Array.from({ length: count }, (_, index) => blockTxKey({ ...place, txIndex: from + index }))
  const rows = await tables.blockTxs.getAll(keys)
  return keys.flatMap((key) => rows.get(key) ?? [])
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

/** The transactions of blocks, for several concurrent callers: each block is read once. */
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

  #read(blocks: readonly BlockId[], filter: string): Promise<readonly BlockTx[]> {
    return blockTxsOf(this.#tables.unchecked, blocks, filter)
  }
}

/** Returns the transactions of blocks, on the chain or not, in the order of their heights. @param filter SQL that selects some of them. */
export async function blockTxsOf(
  tables: ByteQuerier,
  blocks: readonly BlockId[],
  filter = '1',
): Promise<readonly BlockTx[]> {
  if (blocks.length === 0) return []
  const rows = `FROM block_txs WHERE ${filter} AND ${within(blocks)}
    ORDER BY height, tx_index LIMIT 1 BY height, block_tag, tx_index`
  return BLOCK_TX.bytes(tables, rows)
}

function once<T>(
  cache: Map<string, Promise<T>>,
  blocks: readonly BlockId[],
  read: () => Promise<T>,
): Promise<T> {
  const key = blocks.map(({ hash }) => hash).join()
  let result = cache.get(key)
  if (result === undefined) cache.set(key, (result = read()))
  return result
}

/** Returns an SQL condition for the rows of blocks, at least one, by the key of the table and by their tags. */
function within(blocks: readonly BlockId[]): string {
  const heights = blocks.map(({ height }) => height)
  const range = `${String(Math.min(...heights))} AND ${String(Math.max(...heights))}`
  return `height BETWEEN ${range} AND ${blocksFilter(blocks)}`
}
