/** Lower edges of the buckets in base units per vbyte; an edge belongs to the bucket above it. */
const EDGES = [0n, 1n, 2n, 3n, 5n, 10n, 20n, 50n, 100n] as const

export interface FeeBucket {
  readonly bucket: string
  readonly count: number
  readonly totalVsize: number
}

export interface FeeEntry {
  readonly fee: bigint
  readonly vsize: number
}

/**
 * Returns the number and total size of transactions by fee rate: all buckets, lowest first.
 * @param rated returns the fee and the size that determine the fee rate of a transaction. Not set: its own.
 */
export function feeHistogram<T extends FeeEntry>(
  entries: Iterable<T>,
  rated: (entry: T) => FeeEntry = (entry) => entry,
): FeeBucket[] {
  const buckets = EDGES.map((edge, index) => {
    const next = EDGES[index + 1]
    return {
      bucket: next === undefined ? `${String(edge)}+` : `${String(edge)}-${String(next)}`,
      count: 0,
      totalVsize: 0,
    }
  })
  for (const entry of entries) {
    const { fee, vsize } = rated(entry)
    const index = EDGES.findLastIndex((edge) => fee >= edge * BigInt(vsize))
    const bucket = buckets[index]
    if (bucket === undefined) continue
    bucket.count++
    bucket.totalVsize += entry.vsize
  }
  return buckets
}

/** Returns the sum of two histograms. */
export const addHistograms = (one: readonly FeeBucket[], other: readonly FeeBucket[]): FeeBucket[] =>
  one.map(({ bucket, count, totalVsize }, index) => ({
    bucket,
    count: count + (other[index]?.count ?? 0),
    totalVsize: totalVsize + (other[index]?.totalVsize ?? 0),
  }))

/**
 * The lowest fee rate that a node relays, assumed if it does not report one: the default of minrelaytxfee before Bitcoin Core
 * 29.1, which every later version relays too.
 */
export const ASSUMED_MINIMUM: FeeEntry = { fee: 1n, vsize: 1 }

/** Returns the fee rate in base units per vbyte with two decimals, rounded up: a fee of this rate is not too low. */
export function feeRateUp(fee: bigint, vsize: number): string {
  const size = BigInt(vsize)
  return decimals((fee * 100n + size - 1n) / size)
}

/** Returns the fee rate in base units per vbyte with two decimals, rounded half up. */
export function feeRate(fee: bigint, vsize: number): string {
  const size = BigInt(vsize)
  return decimals((fee * 200n + size) / (size * 2n))
}

const decimals = (hundredths: bigint): string =>
  `${String(hundredths / 100n)}.${String(hundredths % 100n).padStart(2, '0')}`

/** The percentiles of fee rates, in percent of the weight. */
export const FEE_RATE_PERCENTILES = [10, 25, 50, 75, 90] as const

/**
 * Returns the percentiles of the fee rates of a block by weight, as the node's getblockstats does: each is the lowest rate up to which
 * the transactions have that part of the weight.
 * @param rates lowest first.
 * @returns no percentiles without rates.
 */
export function feeRatePercentiles(
  rates: readonly { readonly feeRate: number; readonly weight: number }[],
): number[] {
  if (rates.length === 0) return []
  const total = rates.reduce((sum, { weight }) => sum + weight, 0)
  const percentiles: number[] = []
  let below = 0
  for (const { feeRate, weight } of rates) {
    below += weight
    while (percentiles.length < FEE_RATE_PERCENTILES.length) {
      const percent = FEE_RATE_PERCENTILES[percentiles.length] ?? 0
      if (below * 100 < total * percent) break
      percentiles.push(feeRate)
    }
  }
  return percentiles
}

/** Returns the median of sorted numbers, rounded down as the node does; 0 without numbers. */
export function truncatedMedian(sorted: ArrayLike<number>): number {
  const middle = sorted.length >> 1
  const [below = 0, above = 0] = [sorted[middle - 1], sorted[middle]]
  return sorted.length % 2 === 1 ? above : Math.floor((below + above) / 2)
}
