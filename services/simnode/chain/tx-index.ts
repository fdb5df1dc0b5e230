/**
 * Index from transactions to the blocks, of all branches, that contain them. It stores 32 bits of each txid, so a lookup returns
 * candidates, which the caller verifies in the blocks.
 */
export class TxIndex {
  /** Numbers of blocks by mark (the first 32 bits of a txid); most marks have one. */
  readonly #blocks = new Map<number, number | readonly number[]>()
  /** The number of blocks whose transactions were added. */
  blocks = 0

  /** Adds the transactions of the next block. Blocks must be added in the order of their numbers. */
  add(txids: readonly string[]): void {
    for (const txid of txids) this.put(markOf(txid), this.blocks)
    this.blocks++
  }

  put(mark: number, block: number): void {
    const blocks = this.#blocks.get(mark)
    this.#blocks.set(mark, blocks === undefined ? block : [blocks, block].flat())
  }

  /** Returns the numbers of the blocks that may contain the transaction. */
  candidates(txid: string): readonly number[] {
    return [this.#blocks.get(markOf(txid)) ?? []].flat()
  }

  /** Yields all entries. */
  *entries(): Generator<readonly [mark: number, block: number]> {
    for (const [mark, blocks] of this.#blocks) for (const block of [blocks].flat()) yield [mark, block]
  }
}

function markOf(txid: string): number {
  return Number.parseInt(txid.slice(0, 8), 16)
}
