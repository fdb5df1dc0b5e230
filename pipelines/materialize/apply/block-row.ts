import { blockTag, isRepeatable } from '../../chain/block.js'
import { encodePayouts, payoutsOf } from '../../chain/columns/payouts.js'
import { difficultyOf, workOf } from '../../chain/difficulty.js'
import { type Network, subsidy } from '../../chain/networks.js'
import { isWitnessCommitment, opReturnPayload } from '../../chain/script.js'
import type { Row } from '../../tables/rowbinary.js'
import type { BLOCK_COLUMNS } from '../../tables/schema.js'
import { blockStatistics, type OwnStatistics } from './block-statistics.js'
import type { PreparedBlock, PreparedTx } from './script-book.js'
import type { Sums } from './sums.js'

/** The columns of a block's row that do not depend on the chain below it, without its statistics. */
export type OwnBlockRow = Omit<Row<typeof BLOCK_COLUMNS>, keyof Sums | 'active_addresses' | 'new_addresses'>

export interface ChangedBlock {
  readonly row: OwnBlockRow
  /** Its `utxo_size_increase` is without the outputs that the coinbase overwrites, until `overwrite` subtracts them. */
  readonly statistics: OwnStatistics & { utxo_size_increase: number }
  readonly medianTime: number
  /** The spendable outputs of the coinbase if a lower block may contain the same coinbase; none if it begins with its height. */
  readonly repeatable: readonly CoinbaseOutput[]
  readonly opReturns: readonly OpReturn[]
}

interface OpReturn {
  readonly txIndex: number
  readonly vout: number
  readonly data: Uint8Array
  readonly isScript: boolean
}

export interface CoinbaseOutput {
  readonly vout: number
  readonly value: bigint
  /** The index of its script. */
  readonly script: number
}

/** Returns the row of a block, its statistics and the payloads of its OP_RETURN outputs. */
export function changedBlock(prepared: PreparedBlock, network: Network): ChangedBlock {
  const { block, txs } = prepared
  const { header, height } = block
  const coinbase = block.txs[0]
  let [output, outputCount] = [0n, 0]
  for (const { isCoinbase, outputs } of block.txs) {
    outputCount += outputs.length
    if (!isCoinbase) for (const { value } of outputs) output += value
  }
  const row: OwnBlockRow = {
    height,
    hash: block.hash,
    block_tag: blockTag(block.hash),
    prev_hash: header.prevHash,
    merkle_root: header.merkleRoot,
    time: header.time,
    median_time: block.medianTime,
    nonce: header.nonce,
    bits: header.bits,
    version: header.version,
    size: block.size,
    stripped_size: block.strippedSize,
    weight: block.weight,
    tx_count: txs.length,
    input_count: block.prevouts.length,
    output_count: outputCount,
    total_fees: sumOf(block.prevouts) - output,
    total_output: output,
    subsidy: subsidy(height, network),
    payouts: Uint8Array.from(encodePayouts(payoutsOf(coinbase?.outputs ?? [], network))),
    coinbase_script: Uint8Array.from(coinbase?.inputs[0]?.scriptSig ?? []),
    chainwork: block.chainwork,
    dilithium_tx_count: txs.filter(({ dilithiumInputs }) => dilithiumInputs.includes(true)).length,
    work: workOf(header.bits),
    difficulty: Number(difficultyOf(header.bits)),
  }
  const statistics = blockStatistics(prepared, network)
  const repeatable = repeatableOf(height, txs[0])
  return { row, statistics, medianTime: block.medianTime, repeatable, opReturns: opReturnsOf(txs) }
}

function opReturnsOf(txs: readonly PreparedTx[]): OpReturn[] {
  const opReturns: OpReturn[] = []
  for (const [txIndex, { tx }] of txs.entries()) {
    for (const [vout, { script }] of tx.outputs.entries()) {
      const payload = opReturnPayload(script)
      if (payload === undefined || (tx.isCoinbase && isWitnessCommitment(script))) continue
      // Copied, so that sending it to another thread does not copy the whole block.
      opReturns.push({ txIndex, vout, data: Uint8Array.from(payload.data), isScript: payload.isScript })
    }
  }
  return opReturns
}

function repeatableOf(height: number, coinbase: PreparedTx | undefined): CoinbaseOutput[] {
  if (coinbase === undefined || !isRepeatable(coinbase.tx, height)) return []
  return coinbase.tx.outputs.flatMap(({ value }, vout) => {
    const script = coinbase.paid[vout]?.number
    return script === undefined ? [] : [{ vout, value, script }]
  })
}

function sumOf(coins: readonly { readonly value: bigint }[]): bigint {
  return coins.reduce((sum, { value }) => sum + value, 0n)
}
