import { hasAddress } from '../chain/address.js'
import { redeemsDilithium } from '../chain/dilithium.js'
import { difficultyOf, workOf } from '../chain/difficulty.js'
import { subsidy } from '../chain/network.js'
import { isWitnessCommitment, opReturnPayload } from '../chain/script.js'
import { dayOf } from '../chain/day.js'
import type { SerializedTx } from '../chain/transaction.js'
import {
  type BlockRow,
  BLOCKS,
  OP_RETURNS,
  SCRIPT_BALANCES,
  SCRIPT_TXS,
  SCRIPTS,
} from '../tables/chain-tables.js'
import { EncodedRows } from '../tables/rowbinary.js'
import type { ConnectedBlock } from './decode.js'
import type { KnownScript, PreparedBlock, PreparedTx, ScriptBook } from './script-book.js'
import { noTotals, type Totals } from './totals.js'

/** The fold of the chain up to and with a block: the cumulative columns of its row. */
export type Sums = Pick<
  BlockRow,
  | 'sum_txs'
  | 'sum_dilithium_txs'
  | 'supply'
  | 'utxo_count'
  | 'addresses'
  | 'funded_addresses'
  | 'dilithium_addresses'
  | 'dilithium_funded_addresses'
  | 'sum_op_returns'
>

export const NO_SUMS: Sums = {
  sum_txs: 0n,
  sum_dilithium_txs: 0n,
  supply: 0n,
  utxo_count: 0n,
  addresses: 0n,
  funded_addresses: 0n,
  dilithium_addresses: 0n,
  dilithium_funded_addresses: 0n,
  sum_op_returns: 0n,
}

/** Rows of some consecutive blocks, by table: what they are depends on the chain below them. */
export class FoldedRows {
  readonly blocks = new EncodedRows(BLOCKS)
  readonly scriptTxs = new EncodedRows(SCRIPT_TXS)
  readonly scripts = new EncodedRows(SCRIPTS)
  readonly scriptBalances = new EncodedRows(SCRIPT_BALANCES)
  readonly opReturns = new EncodedRows(OP_RETURNS)
}

/** What a block's transactions add up to, and by how much they change the sums of the chain. */
interface BlockSums {
  totalFees: bigint
  totalOutput: bigint
  dilithium: number
  activeAddresses: number
  newAddresses: number
  supply: bigint
  unspent: number
  funded: number
  dilithiumAddresses: number
  dilithiumFunded: number
  /** Balances before the block of the scripts that it touches. */
  readonly before: Map<KnownScript, bigint>
}

/** What a transaction did to a script. */
interface Touch {
  received: bigint
  sent: bigint
  unspent: number
  showsDilithium: boolean
}

/**
 * Folds blocks into rows, one after the other. A pure function of the blocks, the totals of their scripts and the sums before
 * them: the same blocks on the same chain always give the same rows.
 */
export class BlockFolder {
  #sums: Sums

  constructor(
    /** Where the rows go. */
    private readonly rows: FoldedRows,
    private readonly book: ScriptBook,
    /** Totals of every script of the blocks before them; changed as the fold goes. */
    private readonly totals: Map<string, Totals>,
    sumsBefore: Sums,
  ) {
    this.#sums = { ...sumsBefore }
  }

  get sums(): Sums {
    return this.#sums
  }

  fold({ block, txs }: PreparedBlock): void {
    const own: BlockSums = {
      ...{ totalFees: 0n, totalOutput: 0n, dilithium: 0, activeAddresses: 0, newAddresses: 0 },
      ...{ supply: 0n, unspent: 0, funded: 0, dilithiumAddresses: 0, dilithiumFunded: 0 },
      before: new Map(),
    }
    let opReturns = this.#sums.sum_op_returns
    for (const [index, prepared] of txs.entries()) {
      const { tx, prevouts, shown } = prepared
      if (shown.includes(true)) own.dilithium++
      this.#foldScripts(block, index, prepared, own)
      opReturns = this.#foldOpReturns(block, index, tx, opReturns)
      if (tx.isCoinbase) continue
      const output = tx.outputs.reduce((sum, { value }) => sum + value, 0n)
      own.totalOutput += output
      own.totalFees += prevouts.reduce((sum, { value }) => sum + value, 0n) - output
    }
    this.#sums = { ...sumsAfter(this.#sums, block, own), sum_op_returns: opReturns }
    this.#balanceRows(block, own.before)
    this.rows.blocks.add({
      ...this.#blockRow(block),
      total_fees: own.totalFees,
      total_output: own.totalOutput,
      dilithium_tx_count: own.dilithium,
      active_addresses: own.activeAddresses,
      new_addresses: own.newAddresses,
      ...this.#sums,
    })
  }

  #blockRow(
    block: ConnectedBlock,
  ): Omit<
    BlockRow,
    keyof Sums | 'total_fees' | 'total_output' | 'dilithium_tx_count' | 'active_addresses' | 'new_addresses'
  > {
    const { header, height, txs } = block
    const coinbase = txs[0]
    return {
      height,
      hash: block.hash,
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
      output_count: txs.reduce((count, tx) => count + tx.outputs.length, 0),
      subsidy: subsidy(height, this.book.chain),
      miner_script: coinbase?.outputs.find(({ script }) => hasAddress(script))?.script ?? Buffer.alloc(0),
      coinbase_script: coinbase?.inputs[0]?.scriptSig ?? Buffer.alloc(0),
      chainwork: block.chainwork,
      work: workOf(header.bits),
      difficulty: Number(difficultyOf(header.bits)),
    }
  }

  /** The rows of the scripts that a transaction touches, and their part in the sums. */
  #foldScripts(block: ConnectedBlock, index: number, prepared: PreparedTx, own: BlockSums): void {
    const day = dayOf(block.header.time)
    for (const [known, touch] of touchesOf(prepared)) {
      const totals = this.#totalsOf(known)
      const before = {
        isFunded: totals.received > totals.sent,
        isDilithium: known.isDilithium || totals.showsDilithium,
      }
      if (totals.ordinal === 0) {
        totals.firstHeight = block.height
        totals.firstTime = block.header.time
      }
      if (!own.before.has(known)) own.before.set(known, totals.received - totals.sent)
      const isActive = !totals.openDays.includes(day)
      const openDays = openDaysAfter(totals.openDays, block)
      totals.openDays = openDays
      totals.ordinal++
      totals.received += touch.received
      totals.sent += touch.sent
      totals.unspent += touch.unspent
      totals.showsDilithium ||= touch.showsDilithium
      addToSums(own, known, totals, touch, before)
      if (known.address !== undefined && isActive) own.activeAddresses++
      this.rows.scriptTxs.add({
        script_hash: known.hash,
        ordinal: totals.ordinal,
        height: block.height,
        block_hash: block.hash,
        tx_index: index,
        txid: prepared.tx.txid,
        time: block.header.time,
        received: touch.received,
        sent: touch.sent,
        total_received: totals.received,
        total_sent: totals.sent,
        unspent_count: totals.unspent,
        first_height: totals.firstHeight,
        first_time: totals.firstTime,
        shows_dilithium: totals.showsDilithium ? 1 : 0,
        open_days: openDays,
      })
    }
  }

  #totalsOf({ hash }: KnownScript): Totals {
    let totals = this.totals.get(hash)
    if (totals === undefined) this.totals.set(hash, (totals = noTotals()))
    return totals
  }

  #balanceRows(block: ConnectedBlock, before: ReadonlyMap<KnownScript, bigint>): void {
    for (const [known, balance] of before) {
      const totals = this.totals.get(known.hash)
      if (known.address === undefined || totals === undefined) continue
      this.rows.scriptBalances.add({
        height: block.height,
        block_hash: block.hash,
        script_hash: known.hash,
        address: known.address,
        before: balance,
        balance: totals.received - totals.sent,
        tx_count: totals.ordinal,
        is_dilithium: known.isDilithium || totals.showsDilithium ? 1 : 0,
      })
    }
  }

  /** @returns how many there are up to and with this transaction. */
  #foldOpReturns(block: ConnectedBlock, index: number, tx: SerializedTx, before: bigint): bigint {
    let ordinal = before
    for (const [vout, { script }] of tx.outputs.entries()) {
      const data = opReturnPayload(script)
      if (data === undefined || (tx.isCoinbase && isWitnessCommitment(script))) continue
      this.rows.opReturns.add({
        ordinal: ++ordinal,
        height: block.height,
        block_hash: block.hash,
        tx_index: index,
        txid: tx.txid,
        vout,
        time: block.header.time,
        data,
      })
    }
    return ordinal
  }
}

function touchesOf({ tx, prevouts, shown, spent, paid }: PreparedTx): Map<KnownScript, Touch> {
  const touches = new Map<KnownScript, Touch>()
  const at = (known: KnownScript): Touch => {
    let touch = touches.get(known)
    if (touch === undefined)
      touches.set(known, (touch = { received: 0n, sent: 0n, unspent: 0, showsDilithium: false }))
    return touch
  }
  for (const [vin, known] of spent.entries()) {
    const [input, prevout] = [tx.inputs[vin], prevouts[vin]]
    if (input === undefined || prevout === undefined) continue
    const touch = at(known)
    touch.sent += prevout.value
    touch.unspent--
    touch.showsDilithium ||= shown[vin] === true || redeemsDilithium(input, prevout.script)
  }
  for (const [vout, { value }] of tx.outputs.entries()) {
    const known = paid[vout]
    if (known === undefined) continue
    const touch = at(known)
    touch.received += value
    touch.unspent++
  }
  return touches
}

/** One list for all scripts that were touched on one day only: they are nearly all there are. */
const SINGLE_DAYS = new Map<number, readonly number[]>()

/** The days that still count after a block has touched a script: those that a later block can have. */
function openDaysAfter(before: readonly number[], { header, medianTime }: ConnectedBlock): readonly number[] {
  const day = dayOf(header.time)
  const earliest = dayOf(medianTime)
  if (before.includes(day) && before.every((each) => each >= earliest)) return before
  const open = before.filter((each) => each >= earliest && each !== day)
  if (open.length > 0) return [...open, day]
  let single = SINGLE_DAYS.get(day)
  if (single === undefined) SINGLE_DAYS.set(day, (single = [day]))
  return single
}

function sumsAfter(before: Sums, block: ConnectedBlock, own: BlockSums): Sums {
  return {
    sum_txs: before.sum_txs + BigInt(block.txs.length),
    sum_dilithium_txs: before.sum_dilithium_txs + BigInt(own.dilithium),
    supply: before.supply + own.supply,
    utxo_count: before.utxo_count + BigInt(own.unspent),
    addresses: before.addresses + BigInt(own.newAddresses),
    funded_addresses: before.funded_addresses + BigInt(own.funded),
    dilithium_addresses: before.dilithium_addresses + BigInt(own.dilithiumAddresses),
    dilithium_funded_addresses: before.dilithium_funded_addresses + BigInt(own.dilithiumFunded),
    sum_op_returns: before.sum_op_returns,
  }
}

function addToSums(
  own: BlockSums,
  known: KnownScript,
  totals: Totals,
  touch: Touch,
  before: { readonly isFunded: boolean; readonly isDilithium: boolean },
): void {
  own.supply += touch.received - touch.sent
  own.unspent += touch.unspent
  if (known.address === undefined) return
  const isDilithium = known.isDilithium || totals.showsDilithium
  const wasSeen = totals.ordinal > 1
  const isFunded = totals.received > totals.sent
  if (!wasSeen) own.newAddresses++
  own.funded += Number(isFunded) - Number(before.isFunded)
  own.dilithiumAddresses += Number(isDilithium) - Number(wasSeen && before.isDilithium)
  own.dilithiumFunded += Number(isFunded && isDilithium) - Number(before.isFunded && before.isDilithium)
}
