import { describe, expect, it } from 'vitest'
import { SPENDABLE_TYPES } from '../../../../pipelines/chain/columns/protection.js'
import { BITCOIN_MAIN, BITCOIN_REGTEST, REGTEST } from '../../../../pipelines/chain/networks.js'
import { BlockApplier, CumulativeRows } from '../../../../pipelines/materialize/apply/block-applier.js'
import {
  type ScriptChanges,
  scriptChangesOf,
} from '../../../../pipelines/materialize/apply/script-changes.js'
import { NO_SUMS } from '../../../../pipelines/materialize/apply/sums.js'
import { NO_TOTALS, scriptWith } from '../../../../pipelines/materialize/apply/totals.js'
import { BLOCKS } from '../../../../pipelines/tables/schema.js'
import { type SelectedRow, Selection } from '../../../../pipelines/tables/selection.js'
import { NaiveExposure } from '../../../harness/naive-exposure.js'
import { hasSpentDilithium } from '../../../harness/naive-statistics.js'
import { connectedBlock, finalChain } from '../../../harness/recorded-chain.js'
import { readFrames, readOracles } from '../../../harness/recording.js'

type Row = SelectedRow<typeof BLOCKS.columns>

const perTx = (sum: bigint, { txCount }: Row): bigint => (txCount === 1 ? 0n : sum / BigInt(txCount - 1))
const feeRate = ({ totalFees, txWeight }: Row, scale: number): bigint =>
  txWeight === 0 ? 0n : (totalFees * BigInt(scale)) / BigInt(txWeight)

/** The fields of getblockstats by the columns of `blocks`. The tables have no sizes of unspendable outputs (`utxo_size_inc`). */
const FIELDS: Readonly<Record<string, (row: Row, witnessScale: number) => unknown>> = {
  avgfee: (row) => perTx(row.totalFees, row),
  avgfeerate: feeRate,
  avgtxsize: (row) => perTx(BigInt(row.txSize), row),
  blockhash: ({ hash }) => hash,
  feerate_percentiles: ({ feeRatePercentiles: rates }) => (rates.length === 0 ? [0, 0, 0, 0, 0] : rates),
  height: ({ height }) => height,
  ins: ({ inputCount }) => inputCount,
  maxfee: ({ maxFee }) => maxFee,
  maxfeerate: ({ maxFeeRate }) => maxFeeRate,
  maxtxsize: ({ maxTxSize }) => maxTxSize,
  medianfee: ({ medianFee }) => medianFee,
  mediantime: ({ medianTime }) => medianTime,
  mediantxsize: ({ medianTxSize }) => medianTxSize,
  minfee: ({ minFee }) => minFee,
  minfeerate: ({ minFeeRate }) => minFeeRate,
  mintxsize: ({ minTxSize }) => minTxSize,
  outs: ({ outputCount }) => outputCount,
  subsidy: ({ subsidy }) => subsidy,
  swtotal_size: ({ segwitSize }) => segwitSize,
  swtotal_weight: ({ segwitWeight }) => segwitWeight,
  swtxs: ({ segwitTxCount }) => segwitTxCount,
  time: ({ time }) => time,
  total_out: ({ totalOutput }) => totalOutput,
  total_size: ({ txSize }) => txSize,
  total_weight: ({ txWeight }) => txWeight,
  totalfee: ({ totalFees }) => totalFees,
  txs: ({ txCount }) => txCount,
  utxo_increase: ({ outputCount, inputCount }) => outputCount - inputCount,
  utxo_increase_actual: ({ utxoIncrease }) => utxoIncrease,
  utxo_size_inc_actual: ({ utxoSizeIncrease }) => utxoSizeIncrease,
}

const plain = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(Number) : typeof value === 'bigint' ? Number(value) : value

describe.each([
  { name: 'the Dilithium chain', recording: '', network: REGTEST },
  { name: 'Bitcoin on regtest', recording: 'bitcoin-regtest', network: BITCOIN_REGTEST },
  { name: "the beginning of Bitcoin's main chain", recording: 'bitcoin-main', network: BITCOIN_MAIN },
])('the rows of the recorded blocks of $name', ({ recording, network }) => {
  const chain = finalChain(readFrames(recording))
  const { scriptChanges } = scriptChangesOf(
    (function* () {
      for (const each of chain) yield connectedBlock(each, network)
    })(),
    network,
  )
  const rows = rowsOf(scriptChanges)

  function rowsOf(changes: ScriptChanges): Row[] {
    const { scripts, scriptEnds, hashes } = changes
    const bytes = Buffer.from(scripts.buffer)
    const totals = hashes.map((_, index) =>
      scriptWith(NO_TOTALS, bytes.subarray(scriptEnds[index - 1] ?? 0, scriptEnds[index]), network),
    )
    const cumulative = new CumulativeRows()
    const applier = new BlockApplier(cumulative, changes, totals, NO_SUMS, undefined)
    for (const block of changes.blocks) applier.apply(block)
    return new Selection(BLOCKS.columns).decoded(cumulative.blocks)
  }

  it("have the figures of the node's getblockstats", () => {
    const { blockstats } = readOracles(recording)
    expect(Object.keys(blockstats).length).toBeGreaterThanOrEqual(40)
    for (const [height, stats] of Object.entries(blockstats)) {
      const { utxo_size_inc: _, ...expected } = stats as unknown as Record<string, unknown>
      const row = rows[Number(height)]
      if (row === undefined) throw new Error(`block ${height} has no row`)
      const ours = Object.entries(FIELDS).map(([field, of]) => [field, plain(of(row, network.witnessScale))])
      expect(Object.fromEntries(ours), height).toEqual(expected)
    }
  })

  it('have the values and the exposed values by type that a count over all blocks has, after each block', () => {
    const naive = new NaiveExposure(hasSpentDilithium)
    // The count reads all scripts each time.
    const step = chain.length > 2_000 ? 1_000 : 1
    for (const [height, { block }] of chain.entries()) {
      naive.push(block)
      if (height % step !== 0 && height !== chain.length - 1) continue
      const row = rows[height]
      const at = (totals: readonly bigint[] | undefined, type: number): bigint => totals?.[type] ?? 0n
      const ours = SPENDABLE_TYPES.map((type, index) => [
        type,
        {
          value: at(row?.typeValues, index),
          exposed: at(row?.typeExposed, index),
          protected: at(row?.typeProtected, index),
          outputs: Number(at(row?.typeOutputs, index)),
          funded: Number(at(row?.typeFunded, index)),
        },
      ])
      const theirs = SPENDABLE_TYPES.map((type) => [type, naive.figuresOf(type)])
      expect(ours, String(height)).toEqual(theirs)
    }
    const { total_amount, txouts } = readOracles(recording).txoutset
    expect(Number(rows.at(-1)?.typeValues.reduce((sum, value) => sum + value, 0n)) / 1e8).toBeCloseTo(
      total_amount,
      8,
    )
    expect(Number(rows.at(-1)?.typeOutputs.reduce((sum, count) => sum + count, 0n))).toBe(txouts)
  })

  it('count the witnesses of inputs and the spends of P2TR', () => {
    for (const [height, { block }] of chain.entries()) {
      const inputs = block.tx.slice(1).flatMap(({ vin }) => vin)
      const witnesses = inputs.map(({ txinwitness = [] }) => txinwitness)
      const taproot = inputs
        .filter(({ prevout }) => /^5120.{64}$/.test(prevout?.scriptPubKey.hex ?? ''))
        .map(({ txinwitness = [] }) => txinwitness)
      // None of the recordings has an annex: a witness of a script ends with its control block.
      const byScript = taproot.filter((witness) => /^c[01]/.test(witness.at(-1) ?? '') && witness.length > 1)
      expect(rows[height], String(height)).toMatchObject({
        witnessInputCount: witnesses.filter(({ length }) => length > 0).length,
        taprootScriptSpends: byScript.length,
        taprootKeySpends: taproot.length - byScript.length,
      })
    }
  })
})
