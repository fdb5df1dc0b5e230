import { addressOf } from '../../../pipelines/chain/address.js'
import { difficultyOf } from '../../../pipelines/chain/difficulty.js'
import type { Chain } from '../../../pipelines/chain/network.js'
import type { ChainState } from '../state.js'
import type { Tables } from '../tables.js'
import type { Block } from './shapes.js'

/** A row of `blocks` as the server tells it: hashes as hex, 64-bit numbers as decimal text. */
export interface BlockRow {
  readonly height: number
  readonly blockHash: string
  readonly prevHash: string
  readonly merkleRoot: string
  readonly time: number
  readonly medianTime: number
  readonly nonce: number
  readonly bits: number
  readonly version: number
  readonly size: number
  readonly strippedSize: number
  readonly weight: number
  readonly txCount: number
  readonly totalFees: string
  readonly subsidy: string
  readonly minerScript: string
  readonly chainwork: string
  readonly sumTxs: string
  readonly supply: string
  readonly utxoCount: string
  readonly fundedAddresses: string
}

const COLUMNS = `height, lower(hex(hash)) AS blockHash, lower(hex(prev_hash)) AS prevHash,
  lower(hex(merkle_root)) AS merkleRoot, time, median_time AS medianTime, nonce, bits, version, size,
  stripped_size AS strippedSize, weight, tx_count AS txCount, total_fees AS totalFees, subsidy,
  lower(hex(miner_script)) AS minerScript, lower(hex(blocks.chainwork)) AS chainwork, sum_txs AS sumTxs, supply,
  utxo_count AS utxoCount, funded_addresses AS fundedAddresses`

type Queries = Pick<Tables, 'query'>

/** Rows of all branches between two heights, highest first. */
export async function blocksBetween(tables: Queries, from: number, to: number): Promise<BlockRow[]> {
  const sql = `SELECT ${COLUMNS} FROM blocks WHERE height BETWEEN {from:UInt32} AND {to:UInt32}
    ORDER BY height DESC, hash LIMIT 1 BY height, hash`
  return tables.query<BlockRow>(sql, { from, to })
}

export async function blockAt(tables: Queries, height: number, hash: string): Promise<BlockRow | undefined> {
  const sql = `SELECT ${COLUMNS} FROM blocks WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1`
  return (await tables.query<BlockRow>(sql, { height, hash }))[0]
}

/** A block and whether the chain holds it. */
export interface FoundBlock {
  readonly row: BlockRow
  readonly canonical: boolean
}

/**
 * The chain's block at a height, or the block with a hash: of the chain, or one that a reorganisation replaced. A block that
 * is being written, or was never of the chain, is not there.
 * @param which a height in decimal or a hash in hex.
 */
export async function findBlock(
  tables: Queries,
  chain: ChainState,
  which: string,
): Promise<FoundBlock | undefined> {
  const { view } = chain
  if (view === undefined) return undefined
  if (which.length === 64) return findByHash(tables, chain, which.toLowerCase())
  const height = Number(which)
  if (height > chain.height) return undefined
  if (height === chain.height && chain.tip !== undefined) return { row: chain.tip, canonical: true }
  const rows = await blocksBetween(tables, height, height)
  const row = rows.find((each) => view.isCanonical(each.height, each.blockHash))
  return row === undefined ? undefined : { row, canonical: true }
}

async function findByHash(tables: Queries, chain: ChainState, hash: string): Promise<FoundBlock | undefined> {
  if (hash === chain.tipHash && chain.tip !== undefined) return { row: chain.tip, canonical: true }
  const key = `SELECT height FROM block_heights WHERE hash = unhex({hash:String})`
  const height = (await tables.query<{ height: number }>(key, { hash }))[0]?.height
  if (height === undefined) return undefined
  const row = await blockAt(tables, height, hash)
  if (row === undefined) return undefined
  if (chain.view?.isCanonical(height, hash) === true) return { row, canonical: true }
  return (await wasReplaced(tables, chain, hash)) ? { row, canonical: false } : undefined
}

async function wasReplaced(tables: Queries, chain: ChainState, hash: string): Promise<boolean> {
  const sql = `SELECT count() AS heads FROM heads WHERE position <= {position:Int64}
    AND notEmpty(disconnected) AND has(disconnected, toFixedString(unhex({hash:String}), 32))`
  const rows = await tables.query<{ heads: string }>(sql, { position: chain.position, hash })
  return Number(rows[0]?.heads) > 0
}

export function toBlock({ row, canonical }: FoundBlock, chain: Chain): Block {
  return {
    hash: row.blockHash,
    height: row.height,
    canonical,
    prev_hash: row.prevHash,
    merkle_root: row.merkleRoot,
    timestamp: isoTime(row.time),
    median_time: isoTime(row.medianTime),
    nonce: String(row.nonce),
    bits: row.bits.toString(16).padStart(8, '0'),
    difficulty: difficultyOf(row.bits),
    version: row.version,
    size: row.size,
    weight: row.weight,
    stripped_size: row.strippedSize,
    tx_count: row.txCount,
    total_fees: row.totalFees,
    subsidy: row.subsidy,
    miner_address:
      row.minerScript === '' ? null : (addressOf(Buffer.from(row.minerScript, 'hex'), chain) ?? null),
    miner_label: null,
    chainwork: row.chainwork,
  }
}

/** @param seconds unix time. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}
