import { coinsToBaseUnits } from '../chain/amount.js'
import type { Block, BlockId } from '../chain/block.js'
import { SPENDABLE_TYPES, protectionOf } from '../chain/columns/protection.js'
import { feeRatePercentiles, truncatedMedian } from '../chain/feerate.js'
import { withoutAnnex } from '../chain/forms/inner-scripts.js'
import type { Network } from '../chain/networks.js'
import { isUnspendable, type ScriptType, scriptType } from '../chain/script.js'
import { weightOf } from '../chain/transaction.js'
import type { NodeBlock } from '../node/replies.js'
import type { Database } from '../tables/clickhouse.js'
import { BLOCK_STATISTICS, outputTxidPrefix, TYPE_SUMS } from '../tables/schema.js'
import { type SelectedRow, Selection } from '../tables/selection.js'
import type { Findings } from './audit.js'

const ROW = new Selection({ height: 'u32', ...BLOCK_STATISTICS, ...TYPE_SUMS })
type StatisticsRow = SelectedRow<{ height: 'u32' } & typeof BLOCK_STATISTICS & typeof TYPE_SUMS>

/** The bytes that the node counts for an unspent output beside its script: outpoint, height, value, and the size of the script. */
const outputOverhead = (length: number): number => 49 + (length < 0xfd ? 1 : length <= 0xffff ? 3 : 5)

interface Coin {
  readonly value: bigint
  readonly script: Buffer
}

export interface StatisticsParts {
  readonly db: Database
  readonly network: Network
  /** SQL condition for the rows of the chain in `blocks`, and in tables that name blocks by height and tag. */
  readonly blocks: string
  readonly rows: string
}

/**
 * Compares the statistics of a block, and the change of the totals by the type of scripts, with what the node's block amounts to.
 * It computes them from the block itself, in another way than the materializer.
 */
export async function compareStatistics(
  { db, network, blocks, rows }: StatisticsParts,
  { height }: BlockId,
  block: NodeBlock,
  parsed: Block,
  findings: Findings,
): Promise<void> {
  const found = await ROW.query(
    db,
    `FROM blocks WHERE height IN ({height:UInt32}, {below:UInt32}) AND ${blocks} LIMIT 1 BY height`,
    { height, below: Math.max(0, height - 1) },
  )
  const row = found.find((each) => each.height === height)
  if (row === undefined) return
  const at = `of block ${String(height)}`
  const spent = block.tx.map(({ vin }) =>
    vin.flatMap(({ prevout }): Coin[] =>
      prevout === undefined
        ? []
        : [{ value: coinsToBaseUnits(prevout.value), script: Buffer.from(prevout.scriptPubKey.hex, 'hex') }],
    ),
  )
  for (const [name, value] of Object.entries(statisticsOf(parsed, spent, network)))
    findings.expect(`${name} ${at}`, String(row[name as keyof StatisticsRow]), String(value))
  const created = parsed.txs.flatMap(({ outputs }) => outputs).filter(({ script }) => !isUnspendable(script))
  const made = height === 0 ? [] : created
  const gone = [...spent.flat(), ...(await overwritten(db, rows, height, parsed))]
  const sizes = (coins: readonly Coin[]): number =>
    coins.reduce((sum, { script: { length } }) => sum + outputOverhead(length) + length, 0)
  findings.expect(`utxoIncrease ${at}`, row.utxoIncrease, made.length - gone.length)
  findings.expect(`utxoSizeIncrease ${at}`, row.utxoSizeIncrease, sizes(made) - sizes(gone))
  compareTypes(
    row,
    found.find((each) => each.height === height - 1),
    { made, gone, network, at },
    findings,
  )
}

/** Returns the statistics that have the names of the row, as the node's getblockstats defines them. */
function statisticsOf(
  { txs }: Block,
  spent: readonly (readonly Coin[])[],
  network: Network,
): Partial<Record<keyof StatisticsRow, unknown>> {
  const paying = txs
    .map((tx, index) => {
      const coins = spent[index] ?? []
      const total = (all: readonly { readonly value: bigint }[]): bigint =>
        all.reduce((sum, { value }) => sum + value, 0n)
      const weight = weightOf(tx, network)
      const fee = total(coins) - total(tx.outputs)
      return { tx, coins, weight, fee, rate: (fee * BigInt(network.witnessScale)) / BigInt(weight) }
    })
    .slice(1)
  const sorted = (values: readonly (number | bigint)[]): number[] =>
    values.map(Number).sort((one, other) => one - other)
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  const sizes = sorted(paying.map(({ tx }) => tx.size))
  const fees = sorted(paying.map(({ fee }) => fee))
  const rates = paying
    .map(({ rate, weight }) => ({ feeRate: Number(rate), weight }))
    .sort((one, other) => one.feeRate - other.feeRate)
  const segwit = paying.filter(({ tx }) => tx.hasWitness)
  const witnesses = segwit.flatMap(({ tx, coins }) =>
    tx.inputs.flatMap(({ witness }, vin) =>
      witness.length === 0 ? [] : [{ witness, script: coins[vin]?.script ?? Buffer.alloc(0) }],
    ),
  )
  const taproot = witnesses.filter(({ script }) => scriptType(script, network) === 'witness_v1_taproot')
  const byScript = taproot.filter(({ witness }) => withoutAnnex(witness).length > 1)
  return {
    txSize: sum(sizes),
    txWeight: sum(paying.map(({ weight }) => weight)),
    minTxSize: sizes[0] ?? 0,
    medianTxSize: truncatedMedian(sizes),
    maxTxSize: sizes.at(-1) ?? 0,
    minFee: fees[0] ?? 0,
    medianFee: truncatedMedian(fees),
    maxFee: fees.at(-1) ?? 0,
    minFeeRate: rates[0]?.feeRate ?? 0,
    maxFeeRate: rates.at(-1)?.feeRate ?? 0,
    feeRatePercentiles: feeRatePercentiles(rates),
    segwitTxCount: segwit.length,
    segwitSize: sum(segwit.map(({ tx }) => tx.size)),
    segwitWeight: sum(segwit.map(({ weight }) => weight)),
    witnessInputCount: witnesses.length,
    taprootKeySpends: taproot.length - byScript.length,
    taprootScriptSpends: byScript.length,
    coinbaseOutput: txs[0]?.outputs.reduce((total, { value }) => total + value, 0n) ?? 0n,
  }
}

/** Returns the unspent outputs that the coinbase of a block overwrites (BIP 30), by the rows of their spends, which no input explains. */
async function overwritten(
  db: Database,
  rows: string,
  height: number,
  { txs: [coinbase] }: Block,
): Promise<Coin[]> {
  if (coinbase === undefined) return []
  const sql = `SELECT DISTINCT vout FROM script_outputs WHERE spent = 1 AND height = {height:UInt32} AND txid_prefix = unhex({prefix:String}) AND ${rows}`
  const lost = await db.query<{ vout: number }>(sql, { height, prefix: outputTxidPrefix(coinbase.txid) })
  return lost.flatMap(({ vout }) => coinbase.outputs[vout] ?? [])
}

interface TypeChanges {
  readonly made: readonly Coin[]
  readonly gone: readonly Coin[]
  readonly network: Network
  /** The block, in words. */
  readonly at: string
}

/**
 * Compares the change of values and numbers of outputs by type. Of values that spends expose or protect, it checks what follows from
 * the type alone, and that both together are no more than the value.
 */
function compareTypes(
  row: StatisticsRow,
  below: StatisticsRow | undefined,
  { made, gone, network, at }: TypeChanges,
  findings: Findings,
): void {
  const values = new Map<ScriptType, bigint>()
  const outputs = new Map<ScriptType, bigint>()
  for (const [coins, sign] of [
    [made, 1n],
    [gone, -1n],
  ] as const)
    for (const { value, script } of coins) {
      const type = scriptType(script, network)
      values.set(type, (values.get(type) ?? 0n) + sign * value)
      outputs.set(type, (outputs.get(type) ?? 0n) + sign)
    }
  for (const [index, type] of SPENDABLE_TYPES.entries()) {
    const of = (sums: readonly bigint[] | undefined): bigint => sums?.[index] ?? 0n
    const what = `${type} ${at}`
    findings.expect(`value of ${what}`, of(row.typeValues) - of(below?.typeValues), values.get(type) ?? 0n)
    findings.expect(
      `outputs of ${what}`,
      of(row.typeOutputs) - of(below?.typeOutputs),
      outputs.get(type) ?? 0n,
    )
    const [value, exposed, safe] = [of(row.typeValues), of(row.typeExposed), of(row.typeProtected)]
    const protection = protectionOf(type, 0)
    if (protection === 'exposed') findings.expect(`exposed value of ${what}`, exposed, value)
    if (protection === 'unknown') findings.expect(`exposed value of ${what}`, exposed, 0n)
    if (type.startsWith('dilithium_')) findings.expect(`protected value of ${what}`, safe, value)
    if (exposed + safe > value)
      findings.expect(`exposed and protected value of ${what}`, exposed + safe, value)
  }
}
