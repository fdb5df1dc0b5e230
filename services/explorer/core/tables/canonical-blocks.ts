import { type BlockId, blockTag } from '../../../../pipelines/chain/block.js'
import { type ChainView, MissingBlock } from '../../../../pipelines/tables/chain-view.js'
import type { BlockRow } from './blocks.js'
import type { Tables } from './tables.js'
import { newBlocks } from './new-blocks.js'

const CHUNK_BLOCKS = 1_024
/** The hash, and the time as a 32-bit integer. */
const BLOCK_BYTES = 36
/** The same with the height. */
const ROW_BYTES = 40
/** The number of blocks that one query returns: 2.6 MB. */
const BLOCKS_AT_ONCE = 65_536

/**
 * Hash and time of every block of a chain, 36 bytes a block. Immutable: chains share the chunks in which they do not differ.
 *
 * A row that names a block of this chain by height and tag belongs to the chain, whatever is being written meanwhile: it is a pure
 * function of that block, and never deleted. Such a check needs no fence after the last row.
 */
export class CanonicalBlocks {
  static readonly NONE = new CanonicalBlocks([], 0)
  readonly #chunks: readonly Buffer[]

  /** @param length the number of blocks: the height of the tip plus 1. */
  private constructor(
    chunks: readonly Buffer[],
    readonly length: number,
  ) {
    this.#chunks = chunks
  }

  /** Returns whether a block is on the chain. */
  has(height: number, tag: number): boolean {
    if (height >= this.length) return false
    return this.#chunkOf(height).readUInt32BE(offsetOf(height) + 28) === tag
  }

  /** Returns the hash of the block at a height, which the chain must have. */
  hashAt(height: number): string {
    const at = offsetOf(height)
    return this.#chunkOf(height).toString('hex', at, at + 32)
  }

  /** Returns the time (unix seconds) of the block at a height, which the chain must have. */
  timeAt(height: number): number {
    return this.#chunkOf(height).readUInt32BE(offsetOf(height) + 32)
  }

  /**
   * Returns the lowest blocks of this chain, followed by other blocks.
   * @param count the number of blocks of this chain to keep.
   * @param pages the blocks above them, in any order, as RowBinary of height, hash and time; others are ignored.
   * @param tipHeight the height of the highest of them.
   * @throws MissingBlock if a height has no block.
   */
  async extended(count: number, pages: AsyncIterable<Buffer>, tipHeight: number): Promise<CanonicalBlocks> {
    const writer = new ChainWriter(this.#chunks, count, tipHeight + 1)
    for await (const page of pages) {
      for (let at = 0; at < page.length; at += ROW_BYTES)
        writer.set(page.readUInt32LE(at), page.subarray(at + 4, at + 36), page.readUInt32LE(at + 36))
    }
    return new CanonicalBlocks(writer.finish(), tipHeight + 1)
  }

  /** Returns the lowest blocks of this chain. @param length at most that of this chain. */
  first(length: number): CanonicalBlocks {
    return new CanonicalBlocks(this.#chunks.slice(0, Math.ceil(length / CHUNK_BLOCKS)), length)
  }

  /** Returns the lowest height whose block has a time, or a later one; undefined if none has. @param time Unix seconds. */
  firstFrom(time: number): number | undefined {
    for (const [index, chunk] of this.#chunks.entries()) {
      if (latestIn(chunk) < time) continue
      const end = Math.min(this.length, (index + 1) * CHUNK_BLOCKS)
      for (let height = index * CHUNK_BLOCKS; height < end; height++)
        if (this.timeAt(height) >= time) return height
    }
    return undefined
  }

  /**
   * Returns the newest blocks whose hashes begin or end with some hexadecimal digits, newest first. It compares two bytes of nearly
   * all hashes: the last digits of their beginning, because the first ones are zero, and their end.
   * @param digits 4 to 64 in lower case. @param most the maximum number of blocks.
   */
  matching(digits: string, most: number): BlockId[] {
    const matches: BlockId[] = []
    const last = (digits.length - 1) >> 1
    const mask = digits.length % 2 === 0 ? 0xff : 0xf0
    const [before, begin] = Buffer.from(`${digits}0`.slice(2 * last - 2, 2 * last + 2), 'hex')
    const [beforeEnd, end] = Buffer.from(digits.slice(-4), 'hex')
    for (let index = this.#chunks.length - 1; index >= 0 && matches.length < most; index--) {
      const chunk = this.#chunks[index] as Buffer
      const first = index * CHUNK_BLOCKS
      for (let at = offsetOf(Math.min(this.length - first, CHUNK_BLOCKS) - 1); at >= 0; at -= BLOCK_BYTES) {
        const begins = ((chunk[at + last] as number) & mask) === begin && chunk[at + last - 1] === before
        if (!begins && !(chunk[at + 31] === end && chunk[at + 30] === beforeEnd)) continue
        const hash = chunk.toString('hex', at, at + 32)
        if (!hash.startsWith(digits) && !hash.endsWith(digits)) continue
        if (matches.push({ height: first + at / BLOCK_BYTES, hash }) === most) break
      }
    }
    return matches
  }

  #chunkOf(height: number): Buffer {
    const chunk = this.#chunks[Math.floor(height / CHUNK_BLOCKS)]
    if (chunk === undefined || height >= this.length)
      throw new RangeError(`the chain has no height ${String(height)}`)
    return chunk
  }
}

const offsetOf = (height: number): number => (height % CHUNK_BLOCKS) * BLOCK_BYTES

/** The latest time of each chunk that was searched; chunks are never changed. */
const LATEST = new WeakMap<Buffer, number>()

/** Returns the latest time in a chunk, or a later one: a chunk may contain blocks above the end of its chain. Unix seconds. */
function latestIn(chunk: Buffer): number {
  const known = LATEST.get(chunk)
  if (known !== undefined) return known
  let latest = 0
  for (let at = 32; at < chunk.length; at += BLOCK_BYTES) latest = Math.max(latest, chunk.readUInt32BE(at))
  LATEST.set(chunk, latest)
  return latest
}

/** Writes blocks into the chunks of a chain, each of which is copied before it is changed. */
class ChainWriter {
  readonly #chunks: Buffer[]
  readonly #from: number
  readonly #length: number
  /** A flag for each height from `#from` on: whether it was written. */
  readonly #written: Uint8Array
  #missing: number

  constructor(chunks: readonly Buffer[], from: number, length: number) {
    this.#chunks = chunks.slice(0, Math.ceil(from / CHUNK_BLOCKS))
    this.#from = from
    this.#length = length
    this.#written = new Uint8Array(length - from)
    this.#missing = length - from
    const partial = from % CHUNK_BLOCKS
    const last = this.#chunks.at(-1)
    if (partial > 0 && last !== undefined) this.#chunks[this.#chunks.length - 1] = Buffer.from(last)
  }

  set(height: number, hash: Uint8Array, time: number): void {
    if (height < this.#from || height >= this.#length) return
    const index = Math.floor(height / CHUNK_BLOCKS)
    while (this.#chunks.length <= index) this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BLOCKS * BLOCK_BYTES))
    const chunk = this.#chunks[index] as Buffer
    chunk.set(hash, offsetOf(height))
    chunk.writeUInt32BE(time, offsetOf(height) + 32)
    if (this.#written[height - this.#from] === 0) this.#missing--
    this.#written[height - this.#from] = 1
  }

  finish(): readonly Buffer[] {
    if (this.#missing > 0) {
      const height = this.#from + this.#written.indexOf(0)
      throw new MissingBlock(`the block of the chain at ${String(height)} is missing from the tables`)
    }
    return this.#chunks
  }
}

type Queries = Pick<Tables, 'bytes' | 'blocks'>

/** Derives the blocks of a view from the blocks of an earlier view, of any branch: reads only the blocks above the common blocks. */
export async function nextCanonicalBlocks(
  tables: Queries,
  before: CanonicalBlocks,
  view: ChainView,
): Promise<CanonicalBlocks> {
  const { tipHeight } = view.head
  const common = commonLength(before, view)
  return before.extended(common, rowsOf(tables, view, common, tipHeight), tipHeight)
}

/** Returns how many of the blocks, from the lowest, are on the view's chain. */
function commonLength(blocks: CanonicalBlocks, view: ChainView): number {
  let length = Math.min(blocks.length, view.head.tipHeight + 1)
  for (const [hash, height] of view.stale)
    if (height < length && blocks.has(height, blockTag(hash)) && blocks.hashAt(height) === hash)
      length = height
  for (const [height, hash] of view.tail)
    if (height < length && blocks.hashAt(height) !== hash) length = height
  return length
}

async function* rowsOf(tables: Queries, view: ChainView, from: number, to: number): AsyncGenerator<Buffer> {
  const few = await newBlocks(tables, view, from)
  if (few !== undefined) {
    yield pageOf(few)
    return
  }
  const sql = `SELECT height, hash, time FROM blocks
    WHERE height BETWEEN {from:UInt32} AND {to:UInt32} AND ${view.sqlFilter('height', 'hash')}`
  for (let at = from; at <= to; at += BLOCKS_AT_ONCE)
    yield await tables.bytes(sql, { from: at, to: Math.min(to, at + BLOCKS_AT_ONCE - 1) })
}

/** Returns blocks as a query for their height, hash and time does. */
function pageOf(blocks: readonly BlockRow[]): Buffer {
  const page = Buffer.alloc(blocks.length * ROW_BYTES)
  for (const [index, { height, hash, time }] of blocks.entries()) {
    const at = index * ROW_BYTES
    page.writeUInt32LE(height, at)
    page.write(hash, at + 4, 'hex')
    page.writeUInt32LE(time, at + 36)
  }
  return page
}
