import { workOf } from '../../../pipelines/chain/difficulty.js'

const MEDIAN_SPAN = 11

/** A block of the best chain or of another branch. */
export class SimBlock {
  readonly chainwork: bigint

  constructor(
    /** Its number in the store: blocks are numbered in the order in which they were mined. */
    readonly number: number,
    readonly hash: string,
    readonly parent: SimBlock | undefined,
    readonly height: number,
    /** Unix seconds. */
    readonly time: number,
    readonly txCount: number,
    readonly bits: number,
  ) {
    this.chainwork = (parent?.chainwork ?? 0n) + workOf(bits)
  }

  /** The median time of this block and the ten before it. */
  get medianTime(): number {
    const times: number[] = []
    for (const block of this.back()) {
      times.push(block.time)
      if (times.length === MEDIAN_SPAN) break
    }
    times.sort((a, b) => a - b)
    return times[times.length >> 1] ?? this.time
  }

  /** Yields this block, its parent, and so on down to genesis. */
  *back(): Generator<SimBlock> {
    yield this
    for (let block = this.parent; block !== undefined; block = block.parent) yield block
  }
}

/** Returns the newest block that is on the branches of both blocks, which may be one of the two. */
export function forkOf(a: SimBlock, b: SimBlock): SimBlock {
  let left: SimBlock | undefined = a
  let right: SimBlock | undefined = b
  while (left !== undefined && right !== undefined) {
    if (left === right) return left
    if (left.height >= right.height) left = left.parent
    else right = right.parent
  }
  throw new Error('two blocks without a common genesis')
}
