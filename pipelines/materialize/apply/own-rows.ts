import { blockTag } from '../../chain/block.js'
import { encodePrevouts } from '../../chain/prevout.js'
import { witnessTag } from '../../chain/transaction.js'
import { EncodedRows } from '../../tables/rowbinary.js'
import {
  BLOCK_HEIGHTS,
  BLOCK_TXS,
  heightDesc,
  outputTxidPrefix,
  SCRIPT_OUTPUTS,
  SPENDS,
  TX_LOCATIONS,
  TXS,
} from '../../tables/schema.js'
import type { PreparedBlock, PreparedTx } from './script-book.js'

/** Rows as they are sent between threads: for each table the number of rows, and their bytes. */
export type MadeRows = readonly {
  readonly name: string
  readonly length: number
  readonly bytes: Uint8Array
}[]

export interface OwnRowsOptions {
  /** Transactions to whose row of `txs` nothing is added, because it names a higher block of the chain. */
  readonly named?: ReadonlySet<string>
  /** False for rows of `txs` without bodies, prevouts and witnesses, which readers then fetch from the node. */
  readonly hasBodies?: boolean
}

const NOTHING = Buffer.alloc(0)

/** Rows of blocks, by table, that do not depend on the chain below them. */
export class OwnRows {
  readonly blockHeights = new EncodedRows(BLOCK_HEIGHTS)
  readonly blockTxs = new EncodedRows(BLOCK_TXS)
  readonly txLocations = new EncodedRows(TX_LOCATIONS)
  readonly txs = new EncodedRows(TXS)
  readonly spends = new EncodedRows(SPENDS)
  readonly scriptOutputs = new EncodedRows(SCRIPT_OUTPUTS)
  readonly #how: OwnRowsOptions

  constructor(how: OwnRowsOptions = {}) {
    this.#how = how
  }

  get tables(): Readonly<Record<string, EncodedRows>> {
    return Object.fromEntries(Object.entries(this))
  }

  /** The rows that may be inserted in any order. */
  get others(): readonly EncodedRows[] {
    return [this.blockHeights, this.txLocations, this.spends, this.scriptOutputs]
  }

  get encodedRows(): MadeRows {
    return Object.entries(this.tables).map(([name, { length, bytes }]) => ({ name, length, bytes }))
  }

  /** Adds rows made on another thread. */
  take(rows: MadeRows): void {
    const { tables } = this
    for (const { name, length, bytes } of rows) tables[name]?.take(length, bytes)
  }

  add({ block, txs }: PreparedBlock): void {
    const { height, hash } = block
    this.blockHeights.add({ hash, height })
    const at: BlockColumns = { height, block_tag: blockTag(hash) }
    for (const [index, prepared] of txs.entries()) {
      this.#addTx(at, index, prepared)
      if (!prepared.tx.isCoinbase) this.#addSpends(at, index, prepared)
      this.#addOutputs(at, index, prepared)
    }
  }

  #addTx(at: BlockColumns, index: number, prepared: PreparedTx): void {
    const { tx, prevouts, dilithiumInputs } = prepared
    const { txid, body, witness } = tx
    const { height, block_tag } = at
    const is_dilithium = dilithiumInputs.includes(true)
    const moved = movedIn(prepared)
    const [tx_index, witness_tag] = [index, witnessTag(tx)]
    this.blockTxs.add({ height, block_tag, tx_index, txid, witness_tag, moved, is_dilithium })
    this.txLocations.add({ txid_prefix: txid.slice(0, 16), height, block_tag, tx_index })
    const { named, hasBodies = true } = this.#how
    if (named?.has(txid) === true) return
    const parts = hasBodies
      ? { body, prevouts: encodePrevouts(prevouts), witness }
      : { body: NOTHING, prevouts: NOTHING, witness: NOTHING }
    this.txs.add({ txid, height, block_tag, tx_index, is_dilithium, ...parts })
  }

  #addSpends({ height, block_tag }: BlockColumns, index: number, { tx, prevouts, spent }: PreparedTx): void {
    for (const [vin, { prevTxid, prevVout }] of tx.inputs.entries()) {
      const [script, prevout] = [spent[vin], prevouts[vin]]
      if (script === undefined || prevout === undefined) throw new RangeError('an input without its prevout')
      this.spends.add({
        prev_txid: prevTxid.slice(0, 40),
        prev_vout: prevVout,
        height,
        block_tag,
        tx_index: index,
        vin,
      })
      this.scriptOutputs.add({
        script_hash: script.hash,
        spent: true,
        height_desc: heightDesc(height),
        txid_prefix: outputTxidPrefix(prevTxid),
        vout: prevVout,
        age: height - prevout.height,
        block_tag,
        tx_index: 0,
        value: prevout.value,
      })
    }
  }

  #addOutputs({ height, block_tag }: BlockColumns, index: number, { tx, paid }: PreparedTx): void {
    const txid_prefix = outputTxidPrefix(tx.txid)
    for (const [vout, { value }] of tx.outputs.entries()) {
      const script = paid[vout]
      if (script === undefined) continue
      this.scriptOutputs.add({
        script_hash: script.hash,
        spent: false,
        height_desc: heightDesc(height),
        txid_prefix,
        vout,
        age: 0,
        block_tag,
        tx_index: index,
        value,
      })
    }
  }
}

/** Returns the value that leaves the owners of the inputs, as `chain/moved.ts` defines it, by the numbers of the scripts. */
function movedIn({ tx, spent, paid }: PreparedTx): bigint {
  if (tx.isCoinbase) return 0n
  const owners = new Set<number>()
  for (const { number } of spent) owners.add(number)
  let moved = 0n
  for (const [vout, { value }] of tx.outputs.entries()) {
    const number = paid[vout]?.number
    // No input spends an unspendable output.
    if (number === undefined || !owners.has(number)) moved += value
  }
  return moved
}

/** The columns by which a row names its block. */
interface BlockColumns {
  readonly height: number
  readonly block_tag: number
}
