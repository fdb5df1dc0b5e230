/**
 * Finds the blocks, of all branches, that hold a transaction. It keeps 32 bits of each id, so a lookup returns candidates, which
 * the caller compares with the blocks themselves.
 */
export class TxIndex {
  /** Numbers of blocks by mark; most marks have one. */
  readonly #found = new Map<number, number | readonly number[]>()
  /** How many blocks it has the transactions of. */
  blocks = 0

  /** Adds the transactions of the next block: blocks come in the order of their numbers. */
  add(txids: readonly string[]): void {
    for (const txid of txids) this.put(markOf(txid), this.blocks)
    this.blocks++
  }

  put(mark: number, block: number): void {
    const known = this.#found.get(mark)
    this.#found.set(mark, known === undefined ? block : [known, block].flat())
  }

  /** Returns the numbers of the blocks that may hold the transaction. */
  candidates(txid: string): readonly number[] {
    return [this.#found.get(markOf(txid)) ?? []].flat()
  }

  /** Yields all that was put. */
  *entries(): Generator<readonly [mark: number, block: number]> {
    for (const [mark, found] of this.#found) for (const block of [found].flat()) yield [mark, block]
  }
}

function markOf(txid: string): number {
  return Number.parseInt(txid.slice(0, 8), 16)
}
