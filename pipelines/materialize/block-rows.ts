import { hasAddress, isDilithiumScript } from '../chain/address.js'
import { inputShowsDilithium, redeemsDilithium } from '../chain/dilithium.js'
import { type Chain, subsidy } from '../chain/network.js'
import { encodePrevouts, type Prevout } from '../chain/prevout.js'
import { isUnspendable, scriptHash } from '../chain/script.js'
import type { SerializedTx } from '../chain/transaction.js'
import {
  type BlockRow,
  type BlockTxRow,
  depthOf,
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
}

/** A script in the blocks at hand: its hash, and what does not change about it. */
export interface KnownScript {
  readonly hash: string
  readonly hasAddress: boolean
  readonly isDilithium: boolean
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

  of(script: Buffer): KnownScript {
    const key = script.toString('latin1')
    let known = this.#scripts.get(key)
    if (known === undefined) {
      known = {
        hash: scriptHash(script),
        hasAddress: hasAddress(script),
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
    private readonly chain: Chain,
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
    let totalFees = 0n
    let totalOutput = 0n
    let dilithium = 0
    const sums = { ...this.#sums }
    for (const [index, tx] of block.txs.entries()) {
      const own = prevouts[index] ?? []
      const shown = tx.inputs.map((input, vin) => inputShowsDilithium(input, own[vin]?.script))
      const isDilithium = shown.includes(true)
      if (isDilithium) dilithium++
      this.#txRows(block, index, tx, own, isDilithium)
      this.#foldScripts(block, index, tx, own, shown, sums)
      const output = tx.outputs.reduce((sum, { value }) => sum + value, 0n)
      if (tx.isCoinbase) continue
      totalOutput += output
      totalFees += own.reduce((sum, { value }) => sum + value, 0n) - output
    }
    sums.sum_txs += BigInt(block.txs.length)
    sums.sum_dilithium_txs += BigInt(dilithium)
    this.#sums = sums
    this.rows.blocks.push({
      ...this.#blockRow(block),
      total_fees: totalFees,
      total_output: totalOutput,
      dilithium_tx_count: dilithium,
      ...sums,
    })
  }

  #blockRow(
    block: ConnectedBlock,
  ): Omit<BlockRow, keyof Sums | 'total_fees' | 'total_output' | 'dilithium_tx_count'> {
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
      subsidy: subsidy(height, this.chain),
      miner_script: coinbase?.outputs.find(({ script }) => hasAddress(script))?.script ?? Buffer.alloc(0),
      coinbase_script: coinbase?.inputs[0]?.scriptSig ?? Buffer.alloc(0),
      chainwork: block.chainwork,
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
      totals.ordinal++
      totals.received += touch.received
      totals.sent += touch.sent
      totals.unspent += BigInt(touch.unspent)
      totals.showsDilithium ||= touch.showsDilithium
      this.totals.set(known.hash, totals)
      addToSums(sums, known, totals, touch, before)
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
  if (!known.hasAddress) return
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
