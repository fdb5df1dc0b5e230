import { effectiveOf, type PackagedTx } from './packages.js'

/** Lower edges of the bands, in tenths of a base unit per virtual byte; an edge belongs to the band above it. */
const EDGES = [
  [0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1_000],
  [1_250, 1_500, 1_750, 2_000, 2_500, 3_000, 3_500, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000],
  [12_000, 14_000, 16_000, 18_000, 20_000],
].flat()

/** The lower edges of the bands of fee rates in base units per virtual byte, lowest first. The last band has no end. */
export const RATE_BANDS: readonly string[] = EDGES.map((edge) => (edge / 10).toFixed(2))

/** The number of transactions after which the sums can be interrupted. */
const STEP = 2_000

export interface MempoolSums {
  readonly count: number
  readonly vsize: number
  /** Base units. */
  readonly fees: bigint
  /** The virtual size of the transactions of each band, by their effective fee rates. */
  readonly bands: readonly number[]
}

/** Sums up transactions. They must not change meanwhile. */
export function* summing(txs: Iterable<PackagedTx>): Generator<undefined, MempoolSums, undefined> {
  const bands = EDGES.map(() => 0)
  let [count, vsize, fees] = [0, 0, 0n]
  for (const tx of txs) {
    const rated = effectiveOf(tx)
    const fee = Number(rated.fee) * 10
    let band = EDGES.length - 1
    while (band > 0 && fee < (EDGES[band] as number) * rated.vsize) band--
    bands[band] = (bands[band] as number) + tx.vsize
    vsize += tx.vsize
    fees += tx.fee
    if (++count % STEP === 0) yield
  }
  return { count, vsize, fees, bands }
}
