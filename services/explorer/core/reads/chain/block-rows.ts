import { addressOf } from '../../../../../pipelines/chain/address.js'
import { difficultyOf } from '../../../../../pipelines/chain/difficulty.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { isoTime } from '../../../../../pipelines/chain/time.js'
import { decodePayouts } from '../../../../../pipelines/chain/columns/payouts.js'
import { blockAt, type BlockRow, heightsOf } from '../../tables/blocks.js'
import { blockKey } from '../../tables/point-keys.js'
import type { ChainState } from '../../state/state.js'
import { MissingBlock } from '../../../../../pipelines/tables/chain-view.js'
import { HEADS_OF_STATE } from '../../../../../pipelines/tables/writers.js'
import { scriptHash } from '../../../../../pipelines/chain/script.js'
import type { ReadContext } from '../read.js'
import type { Tables } from '../../tables/tables.js'
import type { Block } from '../shapes.js'

type Queries = Pick<Tables, 'query' | 'unchecked' | 'isOperation' | 'heights' | 'blocks'>

/** A block, and whether it is part of the chain. */
export interface FoundBlock {
  readonly row: BlockRow
  readonly canonical: boolean
}

/**
 * Finds the block of the chain at a height, or a block by hash: of the chain, or a block that a reorganisation replaced. Blocks that are
 * being written, or were never part of the chain, are not found.
 * @param which a height in decimal or a hash in hex.
 */
export async function findBlock(
  tables: Queries,
  chain: ChainState,
  which: string,
): Promise<FoundBlock | undefined> {
  if (which.length === 64) return findByHash(tables, chain, which.toLowerCase())
  const height = Number(which)
  if (height > chain.height) return undefined
  if (height === chain.height && chain.tip !== undefined) return { row: chain.tip, canonical: true }
  const hash = chain.blocks.hashAt(height)
  const row = await rowOf(tables, height, hash)
  if (row === undefined) throw new MissingBlock(`block ${hash} of the chain is missing from the tables`)
  return { row, canonical: true }
}

async function findByHash(tables: Queries, chain: ChainState, hash: string): Promise<FoundBlock | undefined> {
  if (hash === chain.tipHash && chain.tip !== undefined) return { row: chain.tip, canonical: true }
  const height = tables.isOperation
    ? await tables.heights.get(hash)
    : (await heightsOf(tables, [hash])).get(hash)
  if (height === undefined) return undefined
  const row = await rowOf(tables, height, hash)
  if (row === undefined) return undefined
  if (height <= chain.height && chain.blocks.hashAt(height) === hash) return { row, canonical: true }
  // A past state has the blocks of the chain alone: what was replaced later, and what before, is not known.
  if (chain.present !== undefined) return undefined
  return (await wasReplaced(tables, chain, hash)) ? { row, canonical: false } : undefined
}

function rowOf(tables: Queries, height: number, hash: string): Promise<BlockRow | undefined> {
  return tables.isOperation
    ? tables.blocks.get(blockKey(height, hash))
    : blockAt(tables.unchecked, height, hash)
}

async function wasReplaced(tables: Queries, chain: ChainState, hash: string): Promise<boolean> {
  const sql = `SELECT count() AS heads FROM heads WHERE position <= {position:Int64}
    AND notEmpty(disconnected) AND ${HEADS_OF_STATE} AND has(disconnected, toFixedString(unhex({hash:String}), 32))`
  const rows = await tables.query<{ heads: string }>(sql, { position: chain.position, hash })
  return Number(rows[0]?.heads) > 0
}

/** Returns the miner of a block by the operator's definitions: its mining pool, or the label of the address that it pays most. */
function minerLabel(
  row: BlockRow,
  paid: Buffer | undefined,
  { labels, pools }: ReadContext['definitions'],
): string | null {
  const { pool } = pools.minerOf({
    blockHash: row.hash,
    payouts: row.payouts.toString('hex'),
    coinbaseScript: row.coinbaseScript.toString('hex'),
  })
  return pool?.name ?? (paid && labels.ofScript(scriptHash(paid))?.label) ?? null
}

export function toBlock(
  { row, canonical }: FoundBlock,
  network: Network,
  definitions: ReadContext['definitions'],
): Block {
  const [paid] = decodePayouts(row.payouts)
  return {
    hash: row.hash,
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
    total_fees: String(row.totalFees),
    subsidy: String(row.subsidy),
    miner_address: (paid && addressOf(paid, network)) ?? null,
    miner_label: minerLabel(row, paid, definitions),
    chainwork: row.chainwork,
  }
}
