/** A block as it is stored: its serialisation, and the coins that its inputs spent. */
export interface StoredBlock {
  readonly hash: string
  /** Number (not height) of the parent block in this store, -1 for genesis. */
  readonly parent: number
  readonly height: number
  readonly time: number
  readonly txids: readonly string[]
  readonly raw: Buffer
  readonly undo: Buffer
}

export interface StoredHead extends Pick<StoredBlock, 'hash' | 'parent' | 'height' | 'time'> {
  readonly txCount: number
}

/** The blocks of a simulated chain, of all branches, numbered in the order in which they were mined. */
export interface BlockStore {
  /** The size of all blocks, in bytes. */
  readonly bytes: number
  append(block: StoredBlock): void
  read(number: number): { readonly raw: Buffer; readonly undo: Buffer }
  /** Returns the 80 bytes of its header. */
  header(number: number): Buffer
  /** Stores which block is the tip of the best chain. */
  markTip(number: number): void
  /** Returns the content of the store when it was opened: all blocks in order, and the number of the tip. */
  heads(): { readonly blocks: Iterable<StoredHead>; readonly tip: number }
  flush(): void
  close(): void
}

/** Blocks in memory. */
export class MemoryStore implements BlockStore {
  readonly #blocks: { raw: Buffer; undo: Buffer }[] = []
  bytes = 0

  append(block: StoredBlock): void {
    this.bytes += block.raw.length
    this.#blocks.push({ raw: block.raw, undo: block.undo })
  }

  read(number: number): { raw: Buffer; undo: Buffer } {
    const block = this.#blocks[number]
    if (block === undefined) throw new RangeError(`no block number ${String(number)}`)
    return block
  }

  header(number: number): Buffer {
    return this.read(number).raw.subarray(0, 80)
  }

  markTip(): void {
    // Nothing is kept after the process exits.
  }

  heads(): { blocks: StoredHead[]; tip: number } {
    return { blocks: [], tip: -1 }
  }

  flush(): void {
    // Nothing to write.
  }

  close(): void {
    // A chain in memory can be served again.
  }
}
