import { isBlock, readBlock } from '../chain/block.js'
import { asBuffer } from '../chain/bytes.js'
import { hasDilithiumSignature } from '../chain/dilithium.js'
import type { Network } from '../chain/networks.js'
import { encodePrevouts, type Prevout } from '../chain/prevout.js'
import type { SerializedTx } from '../chain/transaction.js'
import { decodeChainEvent } from '../events/chain-event.js'
import type { Sqlite } from '../log/embedded/sqlite.js'
import type { LogRecord } from '../log/port.js'
import { openForWriting, prefixOf, TXS_PER_BLOCK } from './file.js'

/** A record that was written: a store continues behind it. */
export interface Progress {
  readonly position: number
  /** Unix milliseconds: another record at that position is of another log. */
  readonly time: number
}

/** The blocks that are dropped at once when a store is too large. */
const DROPPED_BLOCKS = 16
/** The size from which on the write-ahead log is moved into the file, in pages of 4 KiB: reads from the log take longer. */
const WAL_PAGES = 4_096

/**
 * Writes the blocks of a log to a transaction store, each once, whatever becomes of it: readers select those of their chain. A batch is
 * written completely or not at all. One process writes at a time.
 */
export class TxStoreWriter {
  readonly #db: Sqlite

  constructor(path: string) {
    this.#db = openForWriting(path)
    this.#db.exec(`PRAGMA wal_autocheckpoint = ${String(WAL_PAGES)}`)
  }

  /** The record that was written last; undefined for a new store. */
  get progress(): Progress | undefined {
    return this.#db.prepared('SELECT position, time FROM progress').get() as Progress | undefined
  }

  /**
   * Writes consecutive records of topic `chain`. A record that is not a valid event adds nothing: no block of the chain depends on it,
   * because the poller writes the block again.
   */
  write(records: readonly LogRecord[], network: Network): void {
    const last = records.at(-1)
    if (last === undefined) return
    this.#db.write(() => {
      for (const { value } of records) this.#add(value, network)
      this.#db.exec('DELETE FROM progress')
      this.#db.prepared('INSERT INTO progress VALUES (?, ?)').run(last.position, last.time)
    })
  }

  /** Drops the oldest blocks while the store has more than so many bytes, but never the newest ones. */
  shrink(maxBytes: number): void {
    const before = this.#db.prepared('SELECT id FROM blocks ORDER BY id LIMIT 1 OFFSET ?')
    while (this.#usedBytes() > maxBytes) {
      const next = before.get(DROPPED_BLOCKS) as { id: number } | undefined
      if (next === undefined) return
      this.#drop(next.id)
    }
  }

  close(): void {
    this.#db.close()
  }

  #usedBytes(): number {
    const pages = this.#db.pragma('page_count') - this.#db.pragma('freelist_count')
    return pages * this.#db.pragma('page_size')
  }

  /** Drops the blocks with lower numbers. */
  #drop(block: number): void {
    const end = block * TXS_PER_BLOCK
    const txs = this.#db.prepared('SELECT id, txid FROM txs WHERE id < ?')
    const place = this.#db.prepared('DELETE FROM places WHERE prefix = ? AND tx = ?')
    this.#db.write(() => {
      for (const { id, txid } of txs.all(end) as { id: number; txid: Uint8Array }[])
        place.run(asBuffer(txid).readUIntBE(0, 6), id)
      this.#db.prepared('DELETE FROM spends WHERE tx < ?').run(end)
      this.#db.prepared('DELETE FROM txs WHERE id < ?').run(end)
      this.#db.prepared('DELETE FROM blocks WHERE id < ?').run(block)
    })
  }

  #add(value: Uint8Array, network: Network): void {
    const block = blockOf(value, network)
    if (block === undefined || this.#has(block)) return
    const { height, hash, txs } = block
    const row = this.#db.prepared('INSERT INTO blocks (height, hash) VALUES (?, ?)').run(height, hash)
    const first = Number(row.lastInsertRowid) * TXS_PER_BLOCK
    for (const [index, tx] of txs.entries()) this.#addTx(first + index, tx, network)
  }

  #has({ height, hash }: StoreBlock): boolean {
    const rows = this.#db.prepared('SELECT 1 FROM blocks WHERE height = ? AND hash = ?')
    return rows.get(height, hash) !== undefined
  }

  #addTx(id: number, { tx, prevouts }: StoreTx, network: Network): void {
    const { txid, body, witness, inputs, isCoinbase } = tx
    const coins = encodePrevouts(prevouts)
    const size = body.length + coins.length + witness.length
    const isDilithium = inputs.some((input, vin) =>
      hasDilithiumSignature(input, prevouts[vin]?.script, network),
    )
    this.#db
      .prepared('INSERT INTO txs VALUES (?, ?, ?, ?, ?, ?, ?)')
      .run(id, Buffer.from(txid, 'hex'), size, Number(isDilithium), body, coins, witness)
    this.#db.prepared('INSERT INTO places VALUES (?, ?)').run(prefixOf(txid), id)
    if (isCoinbase) return
    for (const [vin, { prevTxid, prevVout }] of inputs.entries()) this.#addSpend(prevTxid, prevVout, id, vin)
  }

  /** Adds a spend to each row of the transaction whose output it spends: it has one for each block that contains it. */
  #addSpend(prevTxid: string, vout: number, spender: number, vin: number): void {
    const of = 'SELECT places.tx FROM places JOIN txs ON txs.id = places.tx WHERE prefix = ? AND txid = ?'
    const spend = `INSERT INTO spends SELECT tx, ?, ?, ? FROM (${of})`
    this.#db.prepared(spend).run(vout, spender, vin, prefixOf(prevTxid), Buffer.from(prevTxid, 'hex'))
  }
}

/** A transaction and the outputs that it spends. */
interface StoreTx {
  readonly tx: SerializedTx
  readonly prevouts: readonly Pick<Prevout, 'value' | 'script'>[]
}

interface StoreBlock {
  readonly height: number
  readonly hash: Uint8Array
  readonly txs: readonly StoreTx[]
}

/** Returns the block that an event connects; undefined for another event, and for bytes that are none. */
function blockOf(value: Uint8Array, network: Network): StoreBlock | undefined {
  try {
    const { event } = decodeChainEvent(value)
    if (event.case !== 'blockConnected') return undefined
    const { raw, hash, prevHash, height, prevouts } = event.value
    if (!isBlock({ raw, hash, prevHash }, network)) return undefined
    let from = 0
    const txs = readBlock(raw).txs.map((tx) => {
      const spent = tx.isCoinbase ? [] : prevouts.slice(from, (from += tx.inputs.length))
      return { tx, prevouts: spent.map(({ value, script }) => ({ value, script: asBuffer(script) })) }
    })
    return from === prevouts.length ? { height, hash, txs } : undefined
  } catch {
    return undefined
  }
}
