import type { BlockId } from '../../chain/block.js'
import { protectionOf } from '../../chain/columns/protection.js'
import { dayOf } from '../../chain/time.js'
import { EncodedRows } from '../../tables/rowbinary.js'
import {
  ADDRESS_ORDER,
  BLOCKS,
  OP_RETURNS,
  SCRIPT_BALANCES,
  SCRIPT_OUTPUTS,
  SCRIPT_TXS,
  SCRIPTS,
} from '../../tables/schema.js'
import type { ChangedBlock } from './block-row.js'
import type { ScriptChanges } from './script-changes.js'
import type { Sums } from './sums.js'
import { addTouch, isOfDilithium, type Script } from './totals.js'
import { TypeTotals } from './type-totals.js'

/** Rows of consecutive blocks, by table, that depend on the chain below them. */
export class CumulativeRows {
  readonly blocks = new EncodedRows(BLOCKS)
  readonly scriptTxs = new EncodedRows(SCRIPT_TXS)
  readonly scripts = new EncodedRows(SCRIPTS)
  readonly addressOrder = new EncodedRows(ADDRESS_ORDER)
  readonly scriptBalances = new EncodedRows(SCRIPT_BALANCES)
  readonly opReturns = new EncodedRows(OP_RETURNS)
  /** The outputs that a repeated coinbase has overwritten. */
  readonly overwritten = new EncodedRows(SCRIPT_OUTPUTS)
  /** The blocks and the ids of their transactions. */
  readonly ids: BlockId[] = []
  readonly txids: string[] = []
  /** The ids of the coinbases. */
  readonly coinbases: string[] = []
  /** The numbers of outputs created and spent, by script hash. */
  readonly changes = new Map<string, number>()

  get tables(): readonly EncodedRows[] {
    const { scriptTxs, scripts, addressOrder, scriptBalances, opReturns, overwritten } = this
    return [scriptTxs, scripts, addressOrder, scriptBalances, opReturns, overwritten]
  }
}

/** The changes of the chain's sums by a block. */
interface Changes {
  activeAddresses: number
  newAddresses: number
  /** Base units: a number, which holds every amount, because a backfill adds one for each output. */
  supply: number
  unspent: number
  funded: number
  dilithiumAddresses: number
  dilithiumFunded: number
  /** Balances, before the block, of the scripts that it touches, by the indexes of the scripts. */
  readonly before: Map<number, bigint>
}

/**
 * Derives the rows of consecutive blocks. A pure function of the blocks, the totals of their scripts and the sums before them:
 * the same blocks on the same chain always result in the same rows.
 */
export class BlockApplier {
  #sums: Sums
  /** The indexes of the next transaction and the next touch of the script changes. */
  #tx = 0
  #touch = 0
  readonly #byType = new TypeTotals()
  readonly #receivedAt: (touch: number) => number
  readonly #sentAt: (touch: number) => number

  constructor(
    /** Receives the rows of the blocks. */
    private readonly rows: CumulativeRows,
    private readonly scriptChanges: ScriptChanges,
    /** The scripts of the script changes before the next block; updated by `apply`. */
    private readonly scripts: readonly Script[],
    sumsBefore: Sums,
    /** Returns the address of a script, by its index, for rows of balances; undefined to add none. */
    private readonly addressAt: ((scriptIndex: number) => string | undefined) | undefined,
  ) {
    this.#sums = sumsBefore
    this.#receivedAt = numbersOf(scriptChanges.received)
    this.#sentAt = numbersOf(scriptChanges.sent)
  }

  get sums(): Sums {
    return this.#sums
  }

  /** Applies the next block of the script changes. */
  apply(block: ChangedBlock): void {
    const changes: Changes = {
      activeAddresses: 0,
      newAddresses: 0,
      supply: 0,
      unspent: 0,
      funded: 0,
      dilithiumAddresses: 0,
      dilithiumFunded: 0,
      before: new Map(),
    }
    const first = this.#tx
    this.rows.coinbases.push(this.scriptChanges.txids[first] ?? '')
    for (let index = 0; index < block.row.tx_count; index++) this.#applyTx(block, index, changes)
    const ordinal = this.#sums.sum_op_returns
    this.#sums = sumsAfter(this.#sums, block, changes, this.#byType.after(this.#sums))
    this.#opReturnRows(block, first, ordinal)
    if (this.addressAt !== undefined) this.#balanceRows(block, changes.before, this.addressAt)
    this.rows.ids.push({ height: block.row.height, hash: block.row.hash })
    const { activeAddresses: active_addresses, newAddresses: new_addresses, unspent: utxo_increase } = changes
    const counts = { active_addresses, new_addresses, utxo_increase }
    this.rows.blocks.addFrom([block.row, block.statistics, this.#sums, counts])
  }

  /** Adds the rows of the scripts that a transaction touches, and their part of the sums. */
  #applyTx(block: ChangedBlock, index: number, changes: Changes): void {
    const { scriptChanges, scripts } = this
    const { height, block_tag, time } = block.row
    this.rows.txids.push(scriptChanges.txids[this.#tx] ?? '')
    const end = scriptChanges.touchEnds[this.#tx++] ?? 0
    const days: Days = { day: dayOf(time), earliest: dayOf(block.medianTime) }
    for (let at = this.#touch; at < end; at++) {
      const scriptIndex = scriptChanges.touched[at] ?? -1
      const [hash, script] = [scriptChanges.hashes[scriptIndex], scripts[scriptIndex]]
      if (hash === undefined || script === undefined) throw new RangeError('a touch refers to no script')
      const received = scriptChanges.received[at] ?? 0n
      const sent = scriptChanges.sent[at] ?? 0n
      const unspent = scriptChanges.unspent[at] ?? 0
      const wasFunded = script.received > script.sent
      const wasDilithium = isOfDilithium(script)
      const kindsBefore = script.spendKinds
      if (this.addressAt !== undefined && !changes.before.has(scriptIndex))
        changes.before.set(scriptIndex, script.received - script.sent)
      const isActive = !script.openDays.includes(days.day)
      const openDays = openDaysAfter(script.openDays, days)
      const funded = scriptChanges.funded[at] ?? 0
      const spendKinds = scriptChanges.spendKinds[at] ?? 0
      addTouch(script, { height, received, sent, funded, unspent, spendKinds, openDays })
      const isFunded = script.received > script.sent
      const balance = this.#receivedAt(at) - this.#sentAt(at)
      this.#byType.add(script.typeIndex, balance, unspent, Number(isFunded) - Number(wasFunded))
      this.#addExposure(script, kindsBefore, balance)
      changes.supply += balance
      changes.unspent += unspent
      if (script.hasAddress) {
        if (isActive) changes.activeAddresses++
        addAddress(changes, script, wasFunded, isFunded, wasDilithium)
      }
      // Without a spread, which takes several times as long.
      this.rows.scriptTxs.add({
        script_hash: hash,
        height,
        block_tag,
        tx_index: index,
        has_address: script.hasAddress,
        ordinal: script.ordinal,
        total_received: script.received,
        total_sent: script.sent,
        funded_count: script.funded,
        unspent_count: script.unspent,
        spend_kinds: script.spendKinds,
        open_days: script.openDays,
      })
    }
    this.#touch = end
  }

  /** Adds the change of a script's balance to the totals of its protection, which the spends of the transaction may have changed. */
  #addExposure({ type, typeIndex, received, sent, spendKinds }: Script, before: number, added: number): void {
    const protection = protectionOf(type, spendKinds)
    if (spendKinds === before) {
      this.#byType.addTo(protection, typeIndex, added)
      return
    }
    const balance = Number(received - sent)
    this.#byType.addTo(protectionOf(type, before), typeIndex, added - balance)
    this.#byType.addTo(protection, typeIndex, balance)
  }

  #balanceRows(
    { row }: ChangedBlock,
    before: ReadonlyMap<number, bigint>,
    addressAt: (scriptIndex: number) => string | undefined,
  ): void {
    for (const [scriptIndex, balance] of before) {
      const [hash, script] = [this.scriptChanges.hashes[scriptIndex], this.scripts[scriptIndex]]
      const address = addressAt(scriptIndex)
      if (address === undefined || hash === undefined || script === undefined) continue
      this.rows.scriptBalances.add({
        height: row.height,
        block_tag: row.block_tag,
        script_hash: hash,
        address,
        before: balance,
        balance: script.received - script.sent,
        tx_count: script.ordinal,
        is_dilithium: isOfDilithium(script),
      })
    }
  }

  /**
   * Adds the rows of OP_RETURN outputs.
   * @param first the block's first transaction.
   * @param before the number of outputs below it.
   */
  #opReturnRows({ row, opReturns }: ChangedBlock, first: number, before: bigint): void {
    let ordinal = before
    for (const { txIndex, vout, data, isScript } of opReturns) {
      this.rows.opReturns.add({
        ordinal: ++ordinal,
        height: row.height,
        block_tag: row.block_tag,
        tx_index: txIndex,
        txid: this.scriptChanges.txids[first + txIndex] ?? '',
        vout,
        data,
        is_script: isScript,
      })
    }
  }
}

/** Shared lists of one day, for scripts that were touched on one day only, which nearly all scripts are. */
const SINGLE_DAYS = new Map<number, readonly number[]>()

/** The day of a block, and the first day that a later block can have. */
interface Days {
  readonly day: number
  readonly earliest: number
}

/** Returns a script's days after a block has touched it, without the days that no later block can have. */
function openDaysAfter(before: readonly number[], { day, earliest }: Days): readonly number[] {
  if (before.length === 1 && before[0] === day && day >= earliest) return before
  if (before.includes(day) && before.every((each) => each >= earliest)) return before
  const open = before.filter((each) => each >= earliest && each !== day)
  if (open.length > 0) return [...open, day]
  let single = SINGLE_DAYS.get(day)
  if (single === undefined) SINGLE_DAYS.set(day, (single = [day]))
  return single
}

function sumsAfter(
  before: Sums,
  { row, opReturns }: ChangedBlock,
  changes: Changes,
  byType: ReturnType<TypeTotals['after']>,
): Sums {
  return {
    sum_txs: before.sum_txs + BigInt(row.tx_count),
    sum_dilithium_txs: before.sum_dilithium_txs + BigInt(row.dilithium_tx_count),
    supply: before.supply + BigInt(changes.supply),
    utxo_count: before.utxo_count + BigInt(changes.unspent),
    addresses: before.addresses + BigInt(changes.newAddresses),
    funded_addresses: before.funded_addresses + BigInt(changes.funded),
    dilithium_addresses: before.dilithium_addresses + BigInt(changes.dilithiumAddresses),
    dilithium_funded_addresses: before.dilithium_funded_addresses + BigInt(changes.dilithiumFunded),
    sum_op_returns: before.sum_op_returns + BigInt(opReturns.length),
    type_values: byType.type_values,
    type_exposed: byType.type_exposed,
    type_protected: byType.type_protected,
    type_outputs: byType.type_outputs,
    type_funded: byType.type_funded,
  }
}

/** Returns a function that returns an amount as a number, by its index: reading a BigInt and converting it takes much longer. */
function numbersOf(amounts: BigUint64Array): (index: number) => number {
  const halves = new Uint32Array(amounts.buffer, amounts.byteOffset, amounts.length * 2)
  return (index) => (halves[2 * index] ?? 0) + (halves[2 * index + 1] ?? 0) * 2 ** 32
}

function addAddress(
  changes: Changes,
  script: Script,
  wasFunded: boolean,
  isFunded: boolean,
  wasDilithium: boolean,
): void {
  const isDilithium = isOfDilithium(script)
  const wasSeen = script.ordinal > 1
  if (!wasSeen) changes.newAddresses++
  changes.funded += Number(isFunded) - Number(wasFunded)
  changes.dilithiumAddresses += Number(isDilithium) - Number(wasSeen && wasDilithium)
  changes.dilithiumFunded += Number(isFunded && isDilithium) - Number(wasFunded && wasDilithium)
}
