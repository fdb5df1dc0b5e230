/** Where a transaction stands: the number of its block in the store, and its place in the block. */
export interface TxPlace {
  readonly block: number
  readonly index: number
}

const EMPTY = 0

/**
 * Finds transactions of all blocks by id in 8 bytes each: an open hash table of 32 bits of the id and the transaction's
 * ordinal. Two ids may share those bits, and a transaction may stand in blocks of several branches, so a lookup gives
 * candidates, which the caller compares with the block itself.
 */
export class TxIndex {
  #marks: Uint32Array
  #ordinals: Uint32Array
  #count = 0
  /** Ordinal of the first transaction of each block; blocks come in the order of their numbers. */
  #firsts = new Uint32Array(1024)
  #blocks = 0

  constructor(slots = 4096) {
    this.#marks = new Uint32Array(slots)
    this.#ordinals = new Uint32Array(slots)
  }

  get transactions(): number {
    return this.#count
  }

  get blocks(): number {
    return this.#blocks
  }

  /** The next block's transactions. */
  add(txids: readonly string[]): void {
    if (this.#blocks === this.#firsts.length) this.#firsts = grown(this.#firsts)
    this.#firsts[this.#blocks++] = this.#count
    for (const txid of txids) {
      if (this.#count * 2 >= this.#marks.length) this.#rehash()
      this.#put(markOf(txid), ++this.#count)
    }
  }

  /** Places where the transaction may stand. */
  candidates(txid: string): TxPlace[] {
    const found: TxPlace[] = []
    const mark = markOf(txid)
    const mask = this.#marks.length - 1
    for (let slot = spread(mark) & mask; this.#ordinals[slot] !== EMPTY; slot = (slot + 1) & mask) {
      const ordinal = this.#ordinals[slot]
      if (this.#marks[slot] === mark && ordinal !== undefined) found.push(this.#placeOf(ordinal - 1))
    }
    return found
  }

  #placeOf(ordinal: number): TxPlace {
    let low = 0
    let high = this.#blocks - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if ((this.#firsts[middle] ?? 0) <= ordinal) low = middle
      else high = middle - 1
    }
    return { block: low, index: ordinal - (this.#firsts[low] ?? 0) }
  }

  #put(mark: number, ordinal: number): void {
    const mask = this.#marks.length - 1
    let slot = spread(mark) & mask
    while (this.#ordinals[slot] !== EMPTY) slot = (slot + 1) & mask
    this.#marks[slot] = mark
    this.#ordinals[slot] = ordinal
  }

  #rehash(): void {
    const marks = this.#marks
    const ordinals = this.#ordinals
    this.#marks = new Uint32Array(marks.length * 2)
    this.#ordinals = new Uint32Array(marks.length * 2)
    for (let slot = 0; slot < marks.length; slot++) {
      const ordinal = ordinals[slot]
      const mark = marks[slot]
      if (ordinal !== undefined && ordinal !== EMPTY && mark !== undefined) this.#put(mark, ordinal)
    }
  }

  /** Its whole state, to be written down; `restore` takes it back. */
  dump(): {
    readonly marks: Uint32Array
    readonly ordinals: Uint32Array
    readonly firsts: Uint32Array
    readonly count: number
  } {
    return {
      marks: this.#marks,
      ordinals: this.#ordinals,
      firsts: this.#firsts.subarray(0, this.#blocks),
      count: this.#count,
    }
  }

  restore(state: ReturnType<TxIndex['dump']>): void {
    this.#marks = state.marks
    this.#ordinals = state.ordinals
    this.#blocks = state.firsts.length
    this.#firsts = new Uint32Array(Math.max(1024, state.firsts.length))
    this.#firsts.set(state.firsts)
    this.#count = state.count
  }
}

function markOf(txid: string): number {
  return Number.parseInt(txid.slice(0, 8), 16)
}

function spread(mark: number): number {
  return Math.imul(mark, 0x9e3779b1) >>> 0
}

function grown(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}
