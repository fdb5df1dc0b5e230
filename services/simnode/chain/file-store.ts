import { appendFileSync, closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { BlockStore, StoredBlock, StoredHead } from './block-store.js'

/** The size of a record of the index: hash 32 bytes, parent i32, height u32, time u32, transactions u32, offset f64, raw u32, undo u32. */
const RECORD = 64
/** The parent field of a record that names a tip; its height field is the number of the block. */
const TIP = -2
const PENDING_LIMIT = 8 * 1024 * 1024

/** The location of a block in `blocks.dat`. */
interface Extent {
  readonly offset: number
  readonly rawLength: number
  readonly undoLength: number
}

/**
 * Blocks in an append-only file, `blocks.dat` (each serialised block, followed by the coins that it spent), and an index of
 * fixed-size records, `index.dat`. Blocks are written before the index records that name them, so a crash can only cut off the
 * end: an incomplete record, or one whose block is incomplete, is dropped on opening.
 */
export class FileStore implements BlockStore {
  readonly #blocks: number
  readonly #index: number
  readonly #extents: Extent[] = []
  #end = 0
  #pending: Buffer[] = []
  #pendingStart = 0
  #records: Buffer[] = []
  readonly #heads: StoredHead[] = []
  #foundTip = -1
  bytes = 0

  constructor(directory: string) {
    this.#blocks = openSync(join(directory, 'blocks.dat'), 'a+')
    this.#index = openSync(join(directory, 'index.dat'), 'a+')
    this.#load()
  }

  append(block: StoredBlock): void {
    const record = Buffer.alloc(RECORD)
    record.write(block.hash, 0, 'hex')
    record.writeInt32LE(block.parent, 32)
    record.writeUInt32LE(block.height, 36)
    record.writeUInt32LE(block.time, 40)
    record.writeUInt32LE(block.txids.length, 44)
    record.writeDoubleLE(this.#end, 48)
    record.writeUInt32LE(block.raw.length, 56)
    record.writeUInt32LE(block.undo.length, 60)
    this.#pending.push(block.raw, block.undo)
    this.#records.push(record)
    this.#addExtent(this.#end, block.raw.length, block.undo.length)
    if (this.#end - this.#pendingStart > PENDING_LIMIT) this.flush()
  }

  read(number: number): { raw: Buffer; undo: Buffer } {
    const { offset, rawLength, undoLength } = this.#extentOf(number)
    const both = this.#bytesAt(offset, rawLength + undoLength)
    return { raw: both.subarray(0, rawLength), undo: both.subarray(rawLength) }
  }

  header(number: number): Buffer {
    return this.#bytesAt(this.#extentOf(number).offset, 80)
  }

  markTip(number: number): void {
    const record = Buffer.alloc(RECORD)
    record.writeInt32LE(TIP, 32)
    record.writeUInt32LE(number, 36)
    this.#records.push(record)
  }

  heads(): { blocks: StoredHead[]; tip: number } {
    return { blocks: this.#heads, tip: this.#foundTip }
  }

  flush(): void {
    if (this.#pending.length > 0) appendFileSync(this.#blocks, Buffer.concat(this.#pending))
    if (this.#records.length > 0) appendFileSync(this.#index, Buffer.concat(this.#records))
    this.#pending = []
    this.#records = []
    this.#pendingStart = this.#end
  }

  close(): void {
    this.flush()
    closeSync(this.#blocks)
    closeSync(this.#index)
  }

  #load(): void {
    const size = fstatSync(this.#blocks).size
    const records = readFully(this.#index, 0, fstatSync(this.#index).size)
    let at = 0
    for (; at + RECORD <= records.length; at += RECORD) {
      const parent = records.readInt32LE(at + 32)
      const height = records.readUInt32LE(at + 36)
      if (parent === TIP) {
        this.#foundTip = height
        continue
      }
      const raw = records.readUInt32LE(at + 56)
      const undo = records.readUInt32LE(at + 60)
      if (this.#end + raw + undo > size) break
      this.#heads.push({
        hash: records.toString('hex', at, at + 32),
        parent,
        height,
        time: records.readUInt32LE(at + 40),
        txCount: records.readUInt32LE(at + 44),
      })
      this.#addExtent(records.readDoubleLE(at + 48), raw, undo)
    }
    this.#foundTip = Math.min(this.#foundTip, this.#extents.length - 1)
    ftruncateSync(this.#index, at)
    ftruncateSync(this.#blocks, this.#end)
    this.#pendingStart = this.#end
  }

  #addExtent(offset: number, rawLength: number, undoLength: number): void {
    this.#end = offset + rawLength + undoLength
    this.bytes += rawLength
    this.#extents.push({ offset, rawLength, undoLength })
  }

  #extentOf(number: number): Extent {
    const extent = this.#extents[number]
    if (extent === undefined) throw new RangeError(`no block number ${String(number)}`)
    return extent
  }

  #bytesAt(offset: number, length: number): Buffer {
    if (offset >= this.#pendingStart) this.flush()
    return readFully(this.#blocks, offset, length)
  }
}

function readFully(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  for (let done = 0; done < length;) {
    const read = readSync(file, bytes, done, length - done, position + done)
    if (read === 0) throw new Error('unexpected end of a file of the chain')
    done += read
  }
  return bytes
}
