import { movedBy } from '../../chain/moved.js'
import { encodePrevouts } from '../../chain/prevout.js'
import {
  BLOCK_HEIGHTS,
  BLOCK_TXS,
  heightDesc,
  SCRIPT_OUTPUTS,
  SCRIPT_SPENDS,
  SPENDS,
  TX_BODIES,
  TX_LOCATIONS,
  TX_WITNESSES,
} from '../../tables/chain-tables.js'
import { EncodedRows } from '../../tables/rowbinary.js'
import type { ConnectedBlock } from './decode.js'
import type { PreparedBlock, PreparedTx } from './script-book.js'

/** Rows as they are sent between threads: the number and the bytes of those of each table. */
export type MadeRows = readonly {
  readonly name: string
  readonly length: number
  readonly bytes: Uint8Array
}[]

/** Rows of blocks, by table, that do not depend on the chain below them. */
export class OwnRows {
  readonly blockHeights = new EncodedRows(BLOCK_HEIGHTS)
  readonly blockTxs = new EncodedRows(BLOCK_TXS)
  readonly txLocations = new EncodedRows(TX_LOCATIONS)
  readonly bodies = new EncodedRows(TX_BODIES)
  readonly witnesses = new EncodedRows(TX_WITNESSES)
  readonly spends = new EncodedRows(SPENDS)
  readonly scriptOutputs = new EncodedRows(SCRIPT_OUTPUTS)
  readonly scriptSpends = new EncodedRows(SCRIPT_SPENDS)
  readonly #changes = new Map<string, number>()

  /** The numbers of outputs created and spent, by script hash, without those of rows made on another thread. */
  get changes(): ReadonlyMap<string, number> {
    return this.#changes
  }

  get tables(): Readonly<Record<string, EncodedRows>> {
    return Object.fromEntries(Object.entries(this))
  }

  /** The rows that a power failure may lose. They do not contain their block, so they can be written again at any time. */
  get points(): readonly EncodedRows[] {
    return [this.blockHeights, this.bodies, this.witnesses]
  }

  get made(): MadeRows {
    return Object.entries(this.tables).map(([name, { length, bytes }]) => ({ name, length, bytes }))
  }

  /** Adds rows made on another thread. */
  take(made: MadeRows): void {
    const { tables } = this
    for (const { name, length, bytes } of made) tables[name]?.take(length, bytes)
  }

  add({ block, txs }: PreparedBlock): void {
    this.blockHeights.add({ hash: block.hash, height: block.height })
    for (const [index, prepared] of txs.entries()) {
      this.#addTx(block, index, prepared)
      if (!prepared.tx.isCoinbase) this.#addSpends(block, prepared)
      this.#addOutputs(block, prepared)
    }
  }

  #addTx(block: ConnectedBlock, index: number, { tx, weight, prevouts, dilithiumInputs }: PreparedTx): void {
    const { txid, wtxid, size } = tx
    const row = {
      height: block.height,
      block_hash: block.hash,
      tx_index: index,
      txid,
      wtxid,
      time: block.header.time,
      size,
      weight,
      is_dilithium: dilithiumInputs.includes(true),
      moved: movedBy(tx, prevouts),
    }
    this.blockTxs.add(row)
    this.txLocations.add(row)
    this.bodies.add({ txid, body: tx.body, prevouts: encodePrevouts(prevouts) })
    if (tx.hasWitness) this.witnesses.add({ wtxid, witness: tx.witness })
  }

  #addSpends(block: ConnectedBlock, { tx, prevouts, spent }: PreparedTx): void {
    for (const [vin, { prevTxid, prevVout }] of tx.inputs.entries()) {
      const [known, prevout] = [spent[vin], prevouts[vin]]
      if (known === undefined || prevout === undefined) throw new RangeError('an input without its prevout')
      this.spends.add({
        prev_txid: prevTxid,
        prev_vout: prevVout,
        height: block.height,
        block_hash: block.hash,
        txid: tx.txid,
        vin,
      })
      this.scriptOutputs.add({
        script_hash: known.hash,
        depth: heightDesc(prevout.height),
        txid: prevTxid,
        vout: prevVout,
        spent: 1,
        height: block.height,
        block_hash: block.hash,
        value: prevout.value,
      })
      this.scriptSpends.add({
        script_hash: known.hash,
        height: block.height,
        block_hash: block.hash,
        depth: heightDesc(prevout.height),
        txid: prevTxid,
        vout: prevVout,
      })
      this.#changes.set(known.hash, (this.#changes.get(known.hash) ?? 0) + 1)
    }
  }

  #addOutputs(block: ConnectedBlock, { tx, paid }: PreparedTx): void {
    for (const [vout, { value }] of tx.outputs.entries()) {
      const known = paid[vout]
      if (known === undefined) continue
      this.scriptOutputs.add({
        script_hash: known.hash,
        depth: heightDesc(block.height),
        txid: tx.txid,
        vout,
        spent: 0,
        height: block.height,
        block_hash: block.hash,
        value,
      })
      this.#changes.set(known.hash, (this.#changes.get(known.hash) ?? 0) + 1)
    }
  }
}
