import { LRUCache } from 'lru-cache'
import { statSync } from 'node:fs'
import { blockTag } from '../chain/block.js'
import { asBuffer } from '../chain/bytes.js'
import type { Sqlite } from '../log/embedded/sqlite.js'
import { openForReading, prefixOf, TXS_PER_BLOCK } from './file.js'

/** A block of a store. */
export interface StoreBlock {
  readonly height: number
  /** In display order, as hex. */
  readonly hash: string
  readonly tag: number
}

/** A transaction in a block. */
export interface StoredTx {
  readonly txIndex: number
  readonly block: StoreBlock
  readonly isDilithium: boolean
  readonly body: Buffer
  readonly prevouts: Buffer
  readonly witness: Buffer
}

/** The place of a transaction in a block. */
export interface StoredPlace {
  /** The number of its row. */
  readonly id: number
  readonly txIndex: number
  readonly block: StoreBlock
}

/** An input that spends an output. */
export interface StoredSpend {
  readonly vout: number
  /** The transaction with the input, and its index in its block. */
  readonly txid: string
  readonly txIndex: number
  readonly vin: number
  readonly block: StoreBlock
}

/** The rows of a txid, by its first six bytes and the beginning that is known of it. */
const OF_TXID = 'FROM places CROSS JOIN txs ON id = tx WHERE prefix = ?1 AND txid >= ?2 AND txid < ?3'
const TXS = `SELECT id, is_dilithium, body, prevouts, witness ${OF_TXID} AND size <= ?4`
const PLACES = `SELECT id ${OF_TXID}`
const SPENDS =
  'SELECT vout, spender, vin, txid FROM spends CROSS JOIN txs ON id = spender WHERE tx = ? LIMIT ?'
const BLOCK_ID = 'SELECT id FROM blocks WHERE height = ? AND hash = ?'
const BLOCK = 'SELECT height, hash FROM blocks WHERE id = ?'
const BLOCKS_AT = 'SELECT id FROM blocks WHERE height = ?'
const TXID = 'SELECT txid FROM txs WHERE id = ?'

type TxColumns = readonly [
  id: number,
  isDilithium: number,
  body: Uint8Array,
  prevouts: Uint8Array,
  witness: Uint8Array,
]
type SpendColumns = readonly [vout: number, spender: number, vin: number, txid: Uint8Array]

/** The number of blocks whose heights and hashes are kept in memory. */
const BLOCKS = 10_000
/** The end of a range of txids whose beginning is known. */
const END = Buffer.alloc(33, 0xff)

/**
 * Reads a transaction store, of which another process may be the writer. All reads of one turn of the event loop share a snapshot, which
 * saves locking the file for each of them.
 */
export class TxStoreReader {
  #db: Sqlite | undefined
  #inode = -1
  #isReading = false
  readonly #blocks = new LRUCache<number, StoreBlock>({ max: BLOCKS })
  /** The numbers of blocks by height and tag. */
  readonly #numbers = new LRUCache<string, number>({ max: BLOCKS })

  /** Reads nothing before `refresh`. */
  constructor(private readonly path: string) {}

  /** Opens the store if there is one now, or another one than before. @returns whether what was read earlier still holds. @throws for a file that is locked or cannot be opened. */
  refresh(): boolean {
    const inode = statSync(this.path, { throwIfNoEntry: false })?.ino ?? -1
    if (inode === this.#inode && (this.#db !== undefined || inode < 0)) return true
    this.close()
    this.#db = openForReading(this.path)
    this.#inode = inode
    return false
  }

  close(): void {
    this.#db?.close()
    this.#db = undefined
    this.#inode = -1
    this.#blocks.clear()
    this.#numbers.clear()
  }

  /** Returns the number of a block, higher than those that were written before; undefined if the store does not have it. */
  blockNumber(height: number, hash: string): number | undefined {
    const [row] = this.#all(BLOCK_ID, height, Buffer.from(hash, 'hex')) as [number][]
    return row?.[0]
  }

  /**
   * Returns a transaction, once for each block that contains it.
   * @param txid all of it, as hex. @param maxBytes the size of all parts up to which it is returned.
   */
  txs(txid: string, maxBytes: number): StoredTx[] {
    const rows = this.#all(TXS, ...rangeOf(txid), maxBytes) as TxColumns[]
    const txs: StoredTx[] = []
    for (const [id, isDilithium, body, prevouts, witness] of rows) {
      const block = this.#blockOf(id)
      if (block === undefined) continue
      const parts = { body: asBuffer(body), prevouts: asBuffer(prevouts), witness: asBuffer(witness) }
      txs.push({ txIndex: id % TXS_PER_BLOCK, block, isDilithium: isDilithium === 1, ...parts })
    }
    return txs
  }

  /** Returns the places of a transaction. @param txid all of it, or at least six bytes of its beginning, as hex. */
  places(txid: string): StoredPlace[] {
    const places: StoredPlace[] = []
    for (const [id] of this.#all(PLACES, ...rangeOf(txid)) as [number][]) {
      const block = this.#blockOf(id)
      if (block !== undefined) places.push({ id, txIndex: id % TXS_PER_BLOCK, block })
    }
    return places
  }

  /** Returns the txid of a transaction of a block, on whatever branch; undefined if the store does not have it. */
  txidAt(place: {
    readonly height: number
    readonly blockTag: number
    readonly txIndex: number
  }): string | undefined {
    const block = this.#numberOf(place.height, place.blockTag)
    if (block === undefined) return undefined
    const [row] = this.#all(TXID, block * TXS_PER_BLOCK + place.txIndex) as [Uint8Array][]
    return row && asBuffer(row[0]).toString('hex')
  }

  /** Returns the spends of the outputs of a transaction in a block, by vout. @param limit their maximum number. */
  spends({ id }: StoredPlace, limit: number): StoredSpend[] {
    const spends: StoredSpend[] = []
    for (const [vout, spender, vin, txid] of this.#all(SPENDS, id, limit) as SpendColumns[]) {
      const block = this.#blockOf(spender)
      if (block === undefined) continue
      spends.push({
        vout,
        txid: asBuffer(txid).toString('hex'),
        txIndex: spender % TXS_PER_BLOCK,
        vin,
        block,
      })
    }
    return spends
  }

  #numberOf(height: number, tag: number): number | undefined {
    const key = `${String(height)} ${String(tag)}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const ids = (this.#all(BLOCKS_AT, height) as [number][]).map(([id]) => id)
    const id = ids.find((each) => this.#blockOf(each * TXS_PER_BLOCK)?.tag === tag)
    if (id !== undefined) this.#numbers.set(key, id)
    return id
  }

  /** Returns the block of a row; undefined if the writer has dropped it since an earlier turn. */
  #blockOf(tx: number): StoreBlock | undefined {
    const id = Math.floor(tx / TXS_PER_BLOCK)
    const known = this.#blocks.get(id)
    if (known !== undefined) return known
    const [row] = this.#all(BLOCK, id) as [number, Uint8Array][]
    if (row === undefined) return undefined
    const hash = asBuffer(row[1]).toString('hex')
    const block = { height: row[0], hash, tag: blockTag(hash) }
    this.#blocks.set(id, block)
    return block
  }

  #all(sql: string, ...parameters: (number | Buffer)[]): readonly unknown[] {
    const db = this.#db
    if (db === undefined) return []
    if (!this.#isReading) {
      this.#isReading = true
      db.exec('BEGIN')
      setImmediate(() => {
        this.#isReading = false
        try {
          if (this.#db === db) db.exec('COMMIT')
        } catch {
          // Until the next refresh.
          this.close()
        }
      })
    }
    return db.rows(sql).all(...parameters)
  }
}

function rangeOf(txid: string): [prefix: number, from: Buffer, to: Buffer] {
  const from = Buffer.from(txid, 'hex')
  return [prefixOf(txid), from, Buffer.concat([from, END], END.length)]
}
