import { createHash } from 'node:crypto'
import { type NodeBlock, type NodeScript, type NodeTx, PlainNode } from './node.js'
import { RowBytes } from './row-bytes.js'
import { compactSize, splitWitness } from './serialized.js'
import type { FrozenTables } from './tables.js'

/** A script with an address, which an explorer can be asked for. */
export interface LoadedAddress {
  readonly address: string
  readonly scriptHash: string
}

export interface Loaded {
  readonly txids: readonly string[]
  readonly addresses: readonly LoadedAddress[]
}

/** The number of blocks of an insert. */
const BLOCKS_AT_ONCE = 200

/** The columns of a script that a later row continues. */
interface Totals {
  readonly hash: string
  ordinal: bigint
  received: bigint
  sent: bigint
  unspent: bigint
  readonly firstHeight: number
  readonly firstTime: number
}

/** The change of a script by a transaction. */
interface Touch {
  received: bigint
  sent: bigint
  unspent: bigint
}

/** Writes the chain of a node into the frozen tables, block by block. Dilithium and moved amounts, which no query needs, are 0. */
export async function loadChain(nodeUrl: string, blocks: number, tables: FrozenTables): Promise<Loaded> {
  const node = new PlainNode(nodeUrl, 1)
  const loader = new Loader()
  try {
    for (let height = 0; height <= blocks; height++) {
      loader.add(await node.block(height))
      if (height === blocks || height % BLOCKS_AT_ONCE === 0)
        for (const [table, rows] of Object.entries(loader.rows)) await tables.insert(table, rows.take())
    }
  } finally {
    node.close()
  }
  return { txids: loader.txids, addresses: loader.addresses }
}

class Loader {
  readonly rows = {
    block_txs: new RowBytes(),
    tx_places: new RowBytes(),
    tx_bodies: new RowBytes(),
    tx_witnesses: new RowBytes(),
    spends: new RowBytes(),
    script_txs: new RowBytes(),
    script_outputs: new RowBytes(),
    scripts: new RowBytes(),
  }
  readonly txids: string[] = []
  readonly addresses: LoadedAddress[] = []
  readonly #totals = new Map<string, Totals>()

  add(block: NodeBlock): void {
    for (const [index, tx] of block.tx.entries()) {
      this.txids.push(tx.txid)
      this.#addTx(block, index, tx)
      this.#addScripts(block, index, tx)
    }
  }

  #addTx({ height, hash, time }: NodeBlock, index: number, tx: NodeTx): void {
    const { txid, hash: wtxid, size, weight } = tx
    const { body, witness } = splitWitness(Buffer.from(tx.hex, 'hex'))
    this.rows.block_txs
      .u32(height)
      .hash(hash)
      .u32(index)
      .hash(txid, wtxid)
      .u32(time, size, weight)
      .u8(0)
      .u64(0n)
    this.rows.tx_places.hash(txid).u32(height).hash(hash).u32(index).hash(wtxid).u32(time, size, weight).u8(0)
    this.rows.tx_bodies.hash(txid).string(body).string(prevoutsOf(tx))
    if (witness.length > 0) this.rows.tx_witnesses.hash(wtxid).string(witness)
    for (const [vin, { txid: prevTxid, vout: prevVout }] of tx.vin.entries())
      if (prevTxid !== undefined && prevVout !== undefined)
        this.rows.spends.hash(prevTxid).u32(prevVout, height).hash(hash, txid).u32(vin)
  }

  #addScripts({ height, hash, time }: NodeBlock, index: number, { txid, vin, vout }: NodeTx): void {
    const touches = new Map<Totals, Touch>()
    const touchOf = (script: NodeScript): [Totals, Touch] => {
      const totals = this.#totalsOf(script, height, time)
      const touch = touches.get(totals) ?? { received: 0n, sent: 0n, unspent: 0n }
      touches.set(totals, touch)
      return [totals, touch]
    }
    const addOutput = (
      script: string,
      created: number,
      outpoint: [string, number],
      spent: number,
      value: bigint,
    ) =>
      this.rows.script_outputs
        .hash(script)
        .u32(0xffff_ffff - created)
        .hash(outpoint[0])
        .u32(outpoint[1])
        .u8(spent)
        .u32(height)
        .hash(hash)
        .u64(value)
    for (const { txid: prevTxid, vout: prevVout, prevout } of vin) {
      if (prevTxid === undefined || prevVout === undefined || prevout === undefined) continue
      const [{ hash: script }, touch] = touchOf(prevout.scriptPubKey)
      const value = amountOf(prevout.value)
      touch.sent += value
      touch.unspent--
      addOutput(script, prevout.height, [prevTxid, prevVout], 1, value)
    }
    for (const { n, value: coins, scriptPubKey } of vout) {
      if (height === 0 || isUnspendable(scriptPubKey)) continue
      const [{ hash: script }, touch] = touchOf(scriptPubKey)
      const value = amountOf(coins)
      touch.received += value
      touch.unspent++
      addOutput(script, height, [txid, n], 0, value)
    }
    for (const [totals, { received, sent, unspent }] of touches) {
      totals.ordinal++
      totals.received += received
      totals.sent += sent
      totals.unspent += unspent
      this.rows.script_txs
        .hash(totals.hash)
        .u64(totals.ordinal)
        .u32(height)
        .hash(hash)
        .u32(index)
        .hash(txid)
        .u32(time)
        .u64(received, sent, totals.received, totals.sent, totals.unspent)
        .u32(totals.firstHeight, totals.firstTime)
        // No Dilithium spend, and an empty array of days.
        .u8(0)
        .u8(0)
    }
  }

  #totalsOf({ hex, address }: NodeScript, height: number, time: number): Totals {
    const known = this.#totals.get(hex)
    if (known !== undefined) return known
    const script = Buffer.from(hex, 'hex')
    const hash = createHash('sha256').update(script).digest('hex')
    const totals = {
      hash,
      ordinal: 0n,
      received: 0n,
      sent: 0n,
      unspent: 0n,
      firstHeight: height,
      firstTime: time,
    }
    this.#totals.set(hex, totals)
    this.rows.scripts.hash(hash).string(script)
    if (address !== undefined) this.addresses.push({ address, scriptHash: hash })
    return totals
  }
}

/** Returns value and script of the outputs that the inputs spend. */
function prevoutsOf({ vin }: NodeTx): Buffer {
  const parts = vin.flatMap(({ prevout }) => {
    if (prevout === undefined) return []
    const value = Buffer.allocUnsafe(8)
    value.writeBigUInt64LE(amountOf(prevout.value))
    const script = Buffer.from(prevout.scriptPubKey.hex, 'hex')
    return [value, compactSize(script.length), script]
  })
  return Buffer.concat(parts)
}

/** Returns base units. Coins with 8 decimals are exact as a double up to 90 million. */
const amountOf = (coins: number): bigint => BigInt(Math.round(coins * 1e8))

const isUnspendable = ({ hex }: NodeScript): boolean => hex.startsWith('6a') || hex.length > 20_000
