/** A block that the mempool fills, with its packages by fee rate, lowest first. Fees are in base units. */
interface FilledBlock {
  readonly vsize: number
  readonly packages: readonly { readonly fee: bigint; readonly vsize: number }[]
}

/** The method's smallest step, and the lowest minimum of current nodes, in base units per virtual byte. */
const [STEP, MINIMUM] = [0.001, 0.1]

/** Fee rates of mempool.space's method, in base units per virtual byte, by the blocks for which it means them. */
export type MedianFees = ReadonlyMap<1 | 3 | 6, number>

/**
 * Returns the fee rates of mempool.space's method (`/api/v1/fees/precise`), written again from its description: medians of the first three
 * projected blocks, each averaged with the one before; the minimum for a block that is at most half full; and what it adds to the
 * first two.
 */
export function medianFees([first, second, third]: readonly FilledBlock[]): MedianFees {
  const one = rateOf(first, second)
  const two = second === undefined ? MINIMUM : rateOf(second, third, one)
  // Whether a fourth block follows does not matter for a third one, which is full then.
  const three = third === undefined ? MINIMUM : rateOf(third, undefined, two)
  const half = Math.max(two, three)
  return new Map([
    [1, Math.max(Math.max(one, half) + 0.5, 1)],
    [3, Math.max(half + 0.25, 0.5)],
    [6, three],
  ] as const)
}

function rateOf(block: FilledBlock | undefined, next: FilledBlock | undefined, before?: number): number {
  if (block === undefined) return MINIMUM
  const median = medianOf(block)
  const rate = before === undefined ? median : (median + before) / 2
  if (block.vsize <= 500_000 || median < MINIMUM) return MINIMUM
  if (block.vsize <= 950_000 && next === undefined)
    return Math.max(rate * (block.vsize / 500_000 - 1), MINIMUM)
  return Math.max(Math.ceil(rate / STEP) * STEP, MINIMUM)
}

function medianOf({ packages, vsize }: FilledBlock): number {
  let sum = 0
  const middle = packages.find((each) => (sum += each.vsize) * 2 >= vsize)
  return middle === undefined ? MINIMUM : Number(middle.fee) / middle.vsize
}
