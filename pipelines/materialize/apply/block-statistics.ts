import { feeRatePercentiles, truncatedMedian } from '../../chain/feerate.js'
import type { Network } from '../../chain/networks.js'
import { isUnspendable, scriptType } from '../../chain/script.js'
import { weightOf } from '../../chain/transaction.js'
import type { BLOCK_STATISTICS } from '../../tables/schema.js'
import type { Row } from '../../tables/rowbinary.js'
import type { PreparedBlock, PreparedTx } from './script-book.js'

/** The statistics that do not depend on the chain below the block. */
type OwnStatistics = Omit<Row<typeof BLOCK_STATISTICS>, 'utxo_increase'>

/** The first byte of an annex, which may be the last of several items of a witness of P2TR (BIP 341). */
const ANNEX = 0x50

/** The bytes that the node counts for an unspent output beside the output itself: its outpoint, height and coinbase flag. */
const OUTPUT_OVERHEAD = 41

/** Returns the statistics of the transactions of a block, computed as the node's getblockstats does. */
export function blockStatistics({ block, txs }: PreparedBlock, network: Network): OwnStatistics {
  const paying = txs.filter(({ tx }) => !tx.isCoinbase)
  const sizes = sorted(paying.map(({ tx }) => BigInt(tx.size)))
  const weights = paying.map(({ tx }) => weightOf(tx, network))
  const fees = paying.map(feeOf)
  const rates = fees.map((fee, index) => {
    const weight = BigInt(weights[index] ?? 1)
    return { feeRate: (fee * BigInt(network.witnessScale)) / weight, weight }
  })
  const sortedFees = sorted(fees)
  const sortedRates = rates.sort((one, other) => ascending(one.feeRate, other.feeRate))
  const segwit = paying.flatMap(({ tx }, index) =>
    tx.hasWitness ? [{ tx, weight: weights[index] ?? 0 }] : [],
  )
  const taproot = paying.flatMap(taprootWitnesses(network))
  const byScript = taproot.filter(isScriptSpend).length
  const created = block.height === 0 ? [] : txs.flatMap(({ tx }) => tx.outputs)
  return {
    tx_size: sum(paying.map(({ tx }) => tx.size)),
    tx_weight: sum(weights),
    min_tx_size: Number(sizes[0] ?? 0n),
    median_tx_size: Number(truncatedMedian(sizes)),
    max_tx_size: Number(sizes.at(-1) ?? 0n),
    min_fee: sortedFees[0] ?? 0n,
    median_fee: truncatedMedian(sortedFees),
    max_fee: sortedFees.at(-1) ?? 0n,
    min_fee_rate: sortedRates[0]?.feeRate ?? 0n,
    max_fee_rate: sortedRates.at(-1)?.feeRate ?? 0n,
    fee_rate_percentiles: feeRatePercentiles(sortedRates),
    segwit_tx_count: segwit.length,
    segwit_size: sum(segwit.map(({ tx }) => tx.size)),
    segwit_weight: sum(segwit.map(({ weight }) => weight)),
    witness_input_count: sum(
      segwit.map(({ tx }) => tx.inputs.filter(({ witness }) => witness.length > 0).length),
    ),
    taproot_key_spends: taproot.length - byScript,
    taproot_script_spends: byScript,
    coinbase_output: (block.txs[0]?.outputs ?? []).reduce((total, { value }) => total + value, 0n),
    utxo_size_increase:
      sum(created.filter(({ script }) => !isUnspendable(script)).map(unspentSize)) -
      sum(block.prevouts.map(unspentSize)),
  }
}

const ascending = (one: bigint, other: bigint): number => (one < other ? -1 : one > other ? 1 : 0)
const sorted = (values: readonly bigint[]): bigint[] => [...values].sort(ascending)
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

const feeOf = ({ tx, prevouts }: PreparedTx): bigint =>
  prevouts.reduce((fee, { value }) => fee + value, 0n) -
  tx.outputs.reduce((out, { value }) => out + value, 0n)

/** Returns a function that returns the witnesses with which a transaction spends P2TR outputs. */
const taprootWitnesses =
  (network: Network) =>
  ({ tx, prevouts }: PreparedTx): (readonly Buffer[])[] =>
    tx.inputs.flatMap(({ witness }, vin) => {
      const script = prevouts[vin]?.script
      return script !== undefined && scriptType(script, network) === 'witness_v1_taproot' ? [witness] : []
    })

/** Returns whether a witness of P2TR has a script and its control block, rather than a signature alone. */
function isScriptSpend(witness: readonly Buffer[]): boolean {
  const hasAnnex = witness.length > 1 && witness.at(-1)?.[0] === ANNEX
  return witness.length - Number(hasAnnex) > 1
}

/** Returns the bytes that the node counts for an unspent output. */
export function unspentSize({ script: { length } }: { readonly script: Pick<Uint8Array, 'length'> }): number {
  const lengthSize = length < 0xfd ? 1 : length <= 0xffff ? 3 : 5
  return OUTPUT_OVERHEAD + 8 + lengthSize + length
}
