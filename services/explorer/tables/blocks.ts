import type { Tables } from './tables.js'

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
  readonly coinbaseScript: string
  readonly chainwork: string
  readonly sumTxs: string
  readonly supply: string
  readonly utxoCount: string
  readonly fundedAddresses: string
  readonly sumDilithiumTxs: string
  readonly addresses: string
  readonly dilithiumAddresses: string
  readonly sumOpReturns: string
}

const COLUMNS = `height, lower(hex(hash)) AS blockHash, lower(hex(prev_hash)) AS prevHash,
  lower(hex(merkle_root)) AS merkleRoot, time, median_time AS medianTime, nonce, bits, version, size,
  stripped_size AS strippedSize, weight, tx_count AS txCount, total_fees AS totalFees, subsidy,
  lower(hex(miner_script)) AS minerScript, lower(hex(coinbase_script)) AS coinbaseScript, lower(hex(blocks.chainwork)) AS chainwork, sum_txs AS sumTxs, supply,
  utxo_count AS utxoCount, funded_addresses AS fundedAddresses, sum_dilithium_txs AS sumDilithiumTxs, addresses,
  dilithium_addresses AS dilithiumAddresses, sum_op_returns AS sumOpReturns`

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

/** Undefined for a block that left no row. */
export async function heightOf(tables: Queries, hash: string): Promise<number | undefined> {
  const sql = `SELECT height FROM block_heights WHERE hash = unhex({hash:String})`
  return (await tables.query<{ height: number }>(sql, { hash }))[0]?.height
}
