import { fromBinary } from '@bufbuild/protobuf'
import { ChainEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { spendKindsOf } from '../../chain/columns/protection.js'
import type { Network } from '../../chain/networks.js'
import { type ChangedBlock, changedBlock } from './block-row.js'
import { type ConnectedBlock, decodeBlock } from './decode.js'
import { type MadeRows, OwnRows, type OwnRowsOptions } from './own-rows.js'
import { prepareBlock, type PreparedTx, ScriptBook } from './script-book.js'

/**
 * The changes of scripts by blocks, which do not depend on the chain below them. Plain data, so that another thread can derive
 * them. A touch is the change of one script by one transaction; touches are ordered by transaction, in the order of the block.
 */
export interface ScriptChanges {
  readonly blocks: readonly ChangedBlock[]
  /** The ids of all transactions of the blocks. */
  readonly txids: readonly string[]
  /** The index after the last touch of each transaction. */
  readonly touchEnds: Uint32Array<ArrayBuffer>
  /** The index of the script of each touch. */
  readonly touched: Uint32Array<ArrayBuffer>
  /** The amounts that each touch receives and sends, in base units. */
  readonly received: BigUint64Array<ArrayBuffer>
  readonly sent: BigUint64Array<ArrayBuffer>
  /** The change of the number of unspent outputs by each touch. */
  readonly unspent: Int32Array<ArrayBuffer>
  /** The number of outputs that each touch creates. */
  readonly funded: Uint32Array<ArrayBuffer>
  /** The kinds of spends of each touch, as bits. */
  readonly spendKinds: Uint8Array<ArrayBuffer>
  /** SHA-256 of each script. */
  readonly hashes: readonly string[]
  /** The number of outputs of each script that are created or spent. */
  readonly outputCounts: Uint32Array<ArrayBuffer>
  /** The concatenated scripts, and the end of each of them. */
  readonly scripts: Uint8Array<ArrayBuffer>
  readonly scriptEnds: Uint32Array<ArrayBuffer>
}

/** The record of an event that connects a block. */
export interface BlockEvent {
  readonly position: number
  readonly value: Uint8Array
}

/** A job of the thread. */
export interface BlockEvents {
  readonly network: Network
  readonly events: readonly BlockEvent[]
  readonly hasBodies: boolean
}

/** The results of blocks that do not depend on the chain below them. */
export interface Made {
  readonly rows: MadeRows
  readonly scriptChanges: ScriptChanges
}

/** Derives the results of blocks. @throws PoisonEvent for an invalid block; TypeError for an event without a block. */
export function madeFrom({ network, events, hasBodies }: BlockEvents): Made {
  const { own, scriptChanges } = scriptChangesOf(blocksOf(events, network), network, { hasBodies })
  return { rows: own.encodedRows, scriptChanges }
}

/** Decodes the block of each event when it is needed: all at once would fill the memory of young objects. */
function* blocksOf(events: readonly BlockEvent[], network: Network): Generator<ConnectedBlock> {
  for (const { position, value } of events) {
    const { event } = fromBinary(ChainEventSchema, value)
    if (event.case !== 'blockConnected') throw new TypeError(`not a block: ${String(event.case)}`)
    yield decodeBlock(position, event.value, network)
  }
}

/**
 * Derives the rows of consecutive blocks that do not depend on the chain below them, and the changes of scripts.
 */
export function scriptChangesOf(
  blocks: Iterable<ConnectedBlock>,
  network: Network,
  how?: OwnRowsOptions,
): { readonly own: OwnRows; readonly scriptChanges: ScriptChanges } {
  const book = new ScriptBook()
  const own = new OwnRows(how)
  const touches = new Touches(network)
  const changed: ChangedBlock[] = []
  for (const block of blocks) {
    const prepared = prepareBlock(block, book, network)
    own.add(prepared)
    for (const tx of prepared.txs) touches.add(tx)
    changed.push(changedBlock(prepared, network))
  }
  return { own, scriptChanges: { blocks: changed, ...touches.finish(), ...scriptsOf(book) } }
}

function scriptsOf({ scripts }: ScriptBook): Pick<ScriptChanges, 'hashes' | 'scripts' | 'scriptEnds'> {
  const scriptEnds = new Uint32Array(scripts.length)
  let end = 0
  for (const { number, script } of scripts) scriptEnds[number] = end += script.length
  const bytes = new Uint8Array(end)
  for (const { number, script } of scripts) bytes.set(script, (scriptEnds[number] ?? 0) - script.length)
  return { hashes: scripts.map(({ hash }) => hash), scripts: bytes, scriptEnds }
}

/** Returns a function that returns a script by its index. */
export function scriptOf({ scripts, scriptEnds }: ScriptChanges): (scriptIndex: number) => Buffer {
  const bytes = Buffer.from(scripts.buffer)
  return (scriptIndex) => bytes.subarray(scriptEnds[scriptIndex - 1] ?? 0, scriptEnds[scriptIndex])
}

class Touches {
  readonly #txids: string[] = []
  readonly #ends: number[] = []
  readonly #touched: number[] = []
  readonly #received: bigint[] = []
  readonly #sent: bigint[] = []
  readonly #unspent: number[] = []
  readonly #funded: number[] = []
  readonly #spendKinds: number[] = []
  readonly #outputCounts: number[] = []
  /** The index of each script's last touch. */
  readonly #touchOf = new Map<number, number>()

  constructor(private readonly network: Network) {}

  add({ tx, prevouts, dilithiumInputs, spent, paid }: PreparedTx): void {
    const from = this.#touched.length
    for (const [vin, { number }] of spent.entries()) {
      const [input, prevout] = [tx.inputs[vin], prevouts[vin]]
      if (input === undefined || prevout === undefined) throw new RangeError('an input without its prevout')
      const at = this.#of(number, from)
      this.#sent[at] = (this.#sent[at] ?? 0n) + prevout.value
      this.#unspent[at] = (this.#unspent[at] ?? 0) - 1
      const kinds = spendKindsOf(dilithiumInputs[vin] === true, input, prevout.script, this.network)
      this.#spendKinds[at] = (this.#spendKinds[at] ?? 0) | kinds
    }
    for (const [vout, { value }] of tx.outputs.entries()) {
      const script = paid[vout]
      if (script === undefined) continue
      const at = this.#of(script.number, from)
      this.#received[at] = (this.#received[at] ?? 0n) + value
      this.#funded[at] = (this.#funded[at] ?? 0) + 1
      this.#unspent[at] = (this.#unspent[at] ?? 0) + 1
    }
    this.#txids.push(tx.txid)
    this.#ends.push(this.#touched.length)
  }

  finish(): Omit<ScriptChanges, 'blocks' | 'hashes' | 'scripts' | 'scriptEnds'> {
    return {
      txids: this.#txids,
      touchEnds: new Uint32Array(this.#ends),
      touched: new Uint32Array(this.#touched),
      received: new BigUint64Array(this.#received),
      sent: new BigUint64Array(this.#sent),
      unspent: new Int32Array(this.#unspent),
      funded: new Uint32Array(this.#funded),
      spendKinds: new Uint8Array(this.#spendKinds),
      outputCounts: new Uint32Array(this.#outputCounts),
    }
  }

  /** Counts an output of a script. @returns the index of its touch by the transaction whose touches begin at `from`. */
  #of(script: number, from: number): number {
    this.#outputCounts[script] = (this.#outputCounts[script] ?? 0) + 1
    const touch = this.#touchOf.get(script)
    if (touch !== undefined && touch >= from) return touch
    const at = this.#touched.push(script) - 1
    this.#received.push(0n)
    this.#sent.push(0n)
    this.#unspent.push(0)
    this.#funded.push(0)
    this.#spendKinds.push(0)
    this.#touchOf.set(script, at)
    return at
  }
}
