import { addressOf, hasAddress, isDilithiumScript } from '../chain/address.js'
import { inputShowsDilithium, redeemsDilithium } from '../chain/dilithium.js'
import { difficultyOf, workOf } from '../chain/difficulty.js'
import { type Chain, subsidy } from '../chain/network.js'
import { movedBy } from '../chain/moved.js'
import { encodePrevouts, type Prevout } from '../chain/prevout.js'
import { isUnspendable, isWitnessCommitment, opReturnPayload, scriptHash } from '../chain/script.js'
import { dayOf } from '../chain/day.js'
import type { SerializedTx } from '../chain/transaction.js'
import {
  type BlockRow,
  type BlockTxRow,
  depthOf,
  type OpReturnRow,
  type ScriptBalanceRow,
  type ScriptOutputRow,
  type ScriptRow,
  type ScriptTxRow,
  type SpendRow,
  type TxBodyRow,
  type TxWitnessRow,
} from '../tables/chain-tables.js'
import type { ConnectedBlock } from './decode.js'
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

/** Rows by table, of some consecutive blocks. */
export class ChainRows {
  readonly blocks: BlockRow[] = []
  readonly blockTxs: BlockTxRow[] = []
  readonly bodies: TxBodyRow[] = []
  readonly witnesses: TxWitnessRow[] = []
  readonly spends: SpendRow[] = []
  readonly scriptTxs: ScriptTxRow[] = []
  readonly scriptOutputs: ScriptOutputRow[] = []
  readonly scripts: ScriptRow[] = []
  readonly scriptBalances: ScriptBalanceRow[] = []
  readonly opReturns: OpReturnRow[] = []
}

/** A script in the blocks at hand: its hash, and what does not change about it. */
export interface KnownScript {
  readonly hash: string
  readonly address: string | undefined
  readonly isDilithium: boolean
}

/** What a block's transactions add up to beside the sums of the chain. */
interface BlockSums {
  totalFees: bigint
  totalOutput: bigint
  dilithium: number
  activeAddresses: number
  newAddresses: number
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

/** A block whose scripts are hashed: what the totals are loaded for. */
export interface PreparedBlock {
  readonly block: ConnectedBlock
  /** Per transaction: what its inputs spend (none for the coinbase). */
  readonly prevouts: readonly (readonly Prevout[])[]
}

/** Knows each script of a batch once, however often it occurs. */
export class ScriptBook {
  readonly #scripts = new Map<string, KnownScript>()
  readonly #bytes = new Map<string, Buffer>()

  constructor(readonly chain: Chain) {}

  of(script: Buffer): KnownScript {
    const key = script.toString('latin1')
    let known = this.#scripts.get(key)
    if (known === undefined) {
      known = {
        hash: scriptHash(script),
        address: addressOf(script, this.chain),
        isDilithium: isDilithiumScript(script),
      }
      this.#scripts.set(key, known)
      this.#bytes.set(known.hash, script)
    }
    return known
  }

  /** The scripts of all hashes that were asked for. */
  entries(): IterableIterator<[string, Buffer]> {
    return this.#bytes.entries()
  }

  bytes(hash: string): Buffer | undefined {
    return this.#bytes.get(hash)
  }
}

/** Splits a block's prevouts by transaction and notes every script that its totals are needed of. */
export function prepareBlock(block: ConnectedBlock, book: ScriptBook): PreparedBlock {
  let at = 0
  const prevouts = block.txs.map((tx) => {
    if (tx.isCoinbase) return []
    const own = block.prevouts.slice(at, at + tx.inputs.length)
    at += tx.inputs.length
    for (const { script } of own) book.of(script)
    return own
  })
  if (block.height > 0) {
    for (const tx of block.txs)
      for (const { script } of tx.outputs) if (!isUnspendable(script)) book.of(script)
  }
  return { block, prevouts }
}

/**
 * Folds blocks into rows, one after the other. A pure function of the blocks, the totals of their scripts and the sums before
 * them: the same blocks on the same chain always give the same rows.
 */
export class BlockFolder {
  readonly rows = new ChainRows()
  #sums: Sums

  constructor(
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

  fold({ block, prevouts }: PreparedBlock): void {
    const own: BlockSums = {
      ...{ totalFees: 0n, totalOutput: 0n, dilithium: 0, activeAddresses: 0, newAddresses: 0 },
      before: new Map(),
    }
    const sums = { ...this.#sums }
    for (const [index, tx] of block.txs.entries()) {
      const spent = prevouts[index] ?? []
      const shown = tx.inputs.map((input, vin) => inputShowsDilithium(input, spent[vin]?.script))
      const isDilithium = shown.includes(true)
      if (isDilithium) own.dilithium++
      this.#txRows(block, index, tx, spent, isDilithium)
      this.#foldScripts(block, index, tx, spent, shown, sums, own)
      this.#foldOpReturns(block, index, tx, sums)
      const output = tx.outputs.reduce((sum, { value }) => sum + value, 0n)
      if (tx.isCoinbase) continue
      own.totalOutput += output
      own.totalFees += spent.reduce((sum, { value }) => sum + value, 0n) - output
    }
    sums.sum_txs += BigInt(block.txs.length)
    sums.sum_dilithium_txs += BigInt(own.dilithium)
    this.#sums = sums
    this.#balanceRows(block, own.before)
    this.rows.blocks.push({
      ...this.#blockRow(block),
      total_fees: own.totalFees,
      total_output: own.totalOutput,
      dilithium_tx_count: own.dilithium,
      active_addresses: own.activeAddresses,
      new_addresses: own.newAddresses,
      ...sums,
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

  #txRows(
    block: ConnectedBlock,
    index: number,
    tx: SerializedTx,
    prevouts: readonly Prevout[],
    isDilithium: boolean,
  ): void {
    const { rows } = this
    const { txid, wtxid, size, weight } = tx
    rows.blockTxs.push({
      height: block.height,
      block_hash: block.hash,
      tx_index: index,
      txid,
      wtxid,
      time: block.header.time,
      size,
      weight,
      is_dilithium: isDilithium ? 1 : 0,
      moved: movedBy(tx, prevouts),
    })
    rows.bodies.push({ txid, body: tx.body, prevouts: encodePrevouts(prevouts) })
    if (tx.hasWitness) rows.witnesses.push({ wtxid, witness: tx.witness })
    if (tx.isCoinbase) return
    for (const [vin, { prevTxid, prevVout }] of tx.inputs.entries()) {
      rows.spends.push({
        prev_txid: prevTxid,
        prev_vout: prevVout,
        height: block.height,
        block_hash: block.hash,
        txid,
        vin,
      })
    }
  }

  /** The rows of the scripts that a transaction touches, and their part in the sums. */
  #foldScripts(
    block: ConnectedBlock,
    index: number,
    tx: SerializedTx,
    prevouts: readonly Prevout[],
    shown: readonly boolean[],
    sums: Sums,
    own: BlockSums,
  ): void {
    const touches = this.#touches(block, tx, prevouts, shown)
    for (const [known, touch] of touches) {
      const totals = this.totals.get(known.hash) ?? noTotals()
      const before = {
        balance: totals.received - totals.sent,
        isDilithium: known.isDilithium || totals.showsDilithium,
      }
      if (totals.ordinal === 0n) {
        totals.firstHeight = block.height
        totals.firstTime = block.header.time
      }
      if (!own.before.has(known)) own.before.set(known, before.balance)
      const openDays = openDaysAfter(totals.openDays, block)
      const isActive = !totals.openDays.includes(dayOf(block.header.time))
      totals.openDays = openDays
      totals.ordinal++
      totals.received += touch.received
      totals.sent += touch.sent
      totals.unspent += BigInt(touch.unspent)
      totals.showsDilithium ||= touch.showsDilithium
      this.totals.set(known.hash, totals)
      addToSums(sums, known, totals, touch, before)
      if (known.address !== undefined) {
        if (isActive) own.activeAddresses++
        if (totals.ordinal === 1n) own.newAddresses++
      }
      this.rows.scriptTxs.push({
        script_hash: known.hash,
        ordinal: totals.ordinal,
        height: block.height,
        block_hash: block.hash,
        tx_index: index,
        txid: tx.txid,
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

  #balanceRows(block: ConnectedBlock, before: ReadonlyMap<KnownScript, bigint>): void {
    for (const [known, balance] of before) {
      const totals = this.totals.get(known.hash)
      if (known.address === undefined || totals === undefined) continue
      this.rows.scriptBalances.push({
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

  #foldOpReturns(block: ConnectedBlock, index: number, tx: SerializedTx, sums: Mutable<Sums>): void {
    for (const [vout, { script }] of tx.outputs.entries()) {
      const data = opReturnPayload(script)
      if (data === undefined || (tx.isCoinbase && isWitnessCommitment(script))) continue
      this.rows.opReturns.push({
        ordinal: ++sums.sum_op_returns,
        height: block.height,
        block_hash: block.hash,
        tx_index: index,
        txid: tx.txid,
        vout,
        time: block.header.time,
        data,
      })
    }
  }

  #touches(
    block: ConnectedBlock,
    tx: SerializedTx,
    prevouts: readonly Prevout[],
    shown: readonly boolean[],
  ): Map<KnownScript, Touch> {
    const touches = new Map<KnownScript, Touch>()
    const at = (known: KnownScript): Touch => {
      let touch = touches.get(known)
      if (touch === undefined)
        touches.set(known, (touch = { received: 0n, sent: 0n, unspent: 0, showsDilithium: false }))
      return touch
    }
    for (const [vin, { value, script, height }] of prevouts.entries()) {
      const known = this.book.of(script)
      const touch = at(known)
      touch.sent += value
      touch.unspent--
      const input = tx.inputs[vin]
      if (input === undefined) continue
      touch.showsDilithium ||= shown[vin] === true || redeemsDilithium(input, script)
      this.rows.scriptOutputs.push({
        script_hash: known.hash,
        depth: depthOf(height),
        txid: input.prevTxid,
        vout: input.prevVout,
        spent: 1,
        height: block.height,
        block_hash: block.hash,
        value,
      })
    }
    if (block.height === 0) return touches
    for (const [vout, { value, script }] of tx.outputs.entries()) {
      if (isUnspendable(script)) continue
      const known = this.book.of(script)
      const touch = at(known)
      touch.received += value
      touch.unspent++
      this.rows.scriptOutputs.push({
        script_hash: known.hash,
        depth: depthOf(block.height),
        txid: tx.txid,
        vout,
        spent: 0,
        height: block.height,
        block_hash: block.hash,
        value,
      })
    }
    return touches
  }
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

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

function addToSums(
  sums: Mutable<Sums>,
  known: KnownScript,
  totals: Totals,
  touch: Touch,
  before: { readonly balance: bigint; readonly isDilithium: boolean },
): void {
  sums.supply += touch.received - touch.sent
  sums.utxo_count += BigInt(touch.unspent)
  if (known.address === undefined) return
  const isDilithium = known.isDilithium || totals.showsDilithium
  const wasSeen = totals.ordinal > 1n
  const wasFunded = before.balance > 0n
  const isFunded = totals.received > totals.sent
  sums.addresses += wasSeen ? 0n : 1n
  sums.funded_addresses += BigInt(Number(isFunded) - Number(wasFunded))
  sums.dilithium_addresses += BigInt(Number(isDilithium) - Number(wasSeen && before.isDilithium))
  sums.dilithium_funded_addresses += BigInt(
    Number(isFunded && isDilithium) - Number(wasFunded && before.isDilithium),
  )
}
