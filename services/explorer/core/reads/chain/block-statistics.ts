import { isoTime } from '../../../../../pipelines/chain/time.js'
import { MissingBlock } from '../../../../../pipelines/tables/chain-view.js'
import { BLOCK_STATISTICS } from '../../../../../pipelines/tables/schema.js'
import { Selection } from '../../../../../pipelines/tables/selection.js'
import { heightOrHash } from '../arguments.js'
import { declareRead } from '../read.js'
import { BlockStatistics } from '../shapes.js'
import { findBlock } from './block-rows.js'
import { noBlock } from './blocks.js'

const STATISTICS = new Selection(BLOCK_STATISTICS)

export const blockStatistics = declareRead({
  name: 'blockStats',
  about:
    'Statistics of a block: fees, fee rates, sizes, witnesses, and what it changes in the set of unspent outputs.',
  path: '/block/:heightOrHash/stats',
  fresh: 'objects',
  args: { heightOrHash },
  answer: BlockStatistics,
  notFound: ['Block not found'],
  async resolve({ chain, tables, validity }, { heightOrHash }) {
    const match = await findBlock(tables, chain, heightOrHash)
    if (match === undefined || chain.network === undefined) throw noBlock(heightOrHash)
    const { row, canonical } = match
    const { height, hash } = row
    validity.dependsOn(hash)
    validity.finalFrom(height)
    const ofBlock = 'FROM blocks WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1'
    const [figures] = await STATISTICS.bytes(tables.unchecked, ofBlock, { height, hash })
    if (figures === undefined) throw new MissingBlock(`block ${hash} is missing from the tables`)
    const paying = row.txCount - 1
    const perTx = (sum: bigint): bigint => (paying === 0 ? 0n : sum / BigInt(paying))
    const [p10 = 0n, p25 = 0n, p50 = 0n, p75 = 0n, p90 = 0n] = figures.feeRatePercentiles
    return {
      hash,
      height,
      canonical,
      timestamp: isoTime(row.time),
      tx_count: row.txCount,
      input_count: row.inputCount,
      output_count: row.outputCount,
      total_output: String(row.totalOutput),
      total_fees: String(row.totalFees),
      min_fee: String(figures.minFee),
      median_fee: String(figures.medianFee),
      average_fee: String(perTx(row.totalFees)),
      max_fee: String(figures.maxFee),
      min_fee_rate: String(figures.minFeeRate),
      average_fee_rate: String(averageFeeRate(row.totalFees, figures.txWeight, chain.network.witnessScale)),
      max_fee_rate: String(figures.maxFeeRate),
      fee_rate_percentiles: {
        p10: String(p10),
        p25: String(p25),
        p50: String(p50),
        p75: String(p75),
        p90: String(p90),
      },
      tx_size: figures.txSize,
      tx_weight: figures.txWeight,
      min_tx_size: figures.minTxSize,
      median_tx_size: figures.medianTxSize,
      average_tx_size: Number(perTx(BigInt(figures.txSize))),
      max_tx_size: figures.maxTxSize,
      segwit_tx_count: figures.segwitTxCount,
      segwit_size: figures.segwitSize,
      segwit_weight: figures.segwitWeight,
      witness_input_count: figures.witnessInputCount,
      taproot_key_spends: figures.taprootKeySpends,
      taproot_script_spends: figures.taprootScriptSpends,
      subsidy: String(row.subsidy),
      subsidy_claimed: String(figures.coinbaseOutput - row.totalFees),
      utxo_increase: figures.utxoIncrease,
      utxo_size_increase: figures.utxoSizeIncrease,
    }
  },
})

const averageFeeRate = (fees: bigint, weight: number, witnessScale: number): bigint =>
  weight === 0 ? 0n : (fees * BigInt(witnessScale)) / BigInt(weight)
