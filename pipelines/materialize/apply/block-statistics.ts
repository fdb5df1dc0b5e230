import { withoutAnnex } from '../../chain/forms/inner-scripts.js'
import { feeRatePercentiles, truncatedMedian } from '../../chain/feerate.js'
import type { Network } from '../../chain/networks.js'
import { scriptType } from '../../chain/script.js'
import { weightOf } from '../../chain/transaction.js'
import type { BLOCK_STATISTICS } from '../../tables/schema.js'
import type { Row } from '../../tables/rowbinary.js'
import type { PreparedBlock, PreparedTx } from './script-book.js'

/** The statistics that do not depend on the chain below the block. */
export type OwnStatistics = Omit<Row<typeof BLOCK_STATISTICS>, 'utxo_increase'>

const P2TR_SIZE = 34

/** The bytes that the node counts for an unspent output beside the output itself: its outpoint, height and coinbase flag. */
const OUTPUT_OVERHEAD = 41

/**
 * Returns the statistics of the transactions of a block, computed as the node's getblockstats does. It calculates with numbers,
 * which hold every amount, because a backfill spends time here.
 */
export function blockStatistics({ block, txs }: PreparedBlock, network: Network): OwnStatistics {
  let [count, utxoSize] = [0, 0]
  // Typed lists are sorted without a function that compares.
  const sizes = new Float64Array(txs.length)
  const fees = new Float64Array(txs.length)
  const rates: { readonly feeRate: number; readonly weight: number }[] = []
  const all = { size: 0, weight: 0 }
  const segwit = { txs: 0, size: 0, weight: 0 }
  const inputs = { witness: 0, byKey: 0, byScript: 0 }
  for (const prepared of txs) {
    const { tx, prevouts, paid } = prepared
    for (let vout = 0; vout < tx.outputs.length; vout++) {
      const output = tx.outputs[vout]
      if (output !== undefined && paid[vout] !== undefined) utxoSize += unspentSize(output)
    }
    if (tx.isCoinbase) continue
    for (const prevout of prevouts) utxoSize -= unspentSize(prevout)
    const weight = weightOf(tx, network)
    const fee = feeOf(prepared)
    sizes[count] = tx.size
    fees[count++] = fee
    rates.push({ feeRate: feeRateOf(fee, weight, network), weight })
    all.size += tx.size
    all.weight += weight
    if (!tx.hasWitness) continue
    segwit.txs++
    segwit.size += tx.size
    segwit.weight += weight
    for (const [vin, { witness }] of tx.inputs.entries()) {
      if (witness.length === 0) continue
      inputs.witness++
      const script = prevouts[vin]?.script
      if (script?.length !== P2TR_SIZE || scriptType(script, network) !== 'witness_v1_taproot') continue
      // A script and its control block, rather than a signature alone.
      if (withoutAnnex(witness).length > 1) inputs.byScript++
      else inputs.byKey++
    }
  }
  const sortedSizes = sizes.subarray(0, count).sort()
  const sortedFees = fees.subarray(0, count).sort()
  rates.sort((one, other) => one.feeRate - other.feeRate)
  return {
    tx_size: all.size,
    tx_weight: all.weight,
    min_tx_size: sortedSizes[0] ?? 0,
    median_tx_size: truncatedMedian(sortedSizes),
    max_tx_size: sortedSizes.at(-1) ?? 0,
    min_fee: BigInt(sortedFees[0] ?? 0),
    median_fee: BigInt(truncatedMedian(sortedFees)),
    max_fee: BigInt(sortedFees.at(-1) ?? 0),
    min_fee_rate: BigInt(rates[0]?.feeRate ?? 0),
    max_fee_rate: BigInt(rates.at(-1)?.feeRate ?? 0),
    fee_rate_percentiles: feeRatePercentiles(rates).map(BigInt),
    segwit_tx_count: segwit.txs,
    segwit_size: segwit.size,
    segwit_weight: segwit.weight,
    witness_input_count: inputs.witness,
    taproot_key_spends: inputs.byKey,
    taproot_script_spends: inputs.byScript,
    coinbase_output: (block.txs[0]?.outputs ?? []).reduce((total, { value }) => total + value, 0n),
    utxo_size_increase: utxoSize,
  }
}

function feeOf({ tx, prevouts }: PreparedTx): number {
  let fee = 0
  for (const { value } of prevouts) fee += Number(value)
  for (const { value } of tx.outputs) fee -= Number(value)
  return fee
}

/** Returns base units per virtual byte, rounded down: fee × witnessScale ÷ weight, of which no part exceeds 2⁵³. */
function feeRateOf(fee: number, weight: number, { witnessScale }: Network): number {
  const rest = fee % weight
  return ((fee - rest) / weight) * witnessScale + Math.floor((rest * witnessScale) / weight)
}

/** Returns the bytes that the node counts for an unspent output. */
export function unspentSize({ script: { length } }: { readonly script: Pick<Uint8Array, 'length'> }): number {
  const lengthSize = length < 0xfd ? 1 : length <= 0xffff ? 3 : 5
  return OUTPUT_OVERHEAD + 8 + lengthSize + length
}
