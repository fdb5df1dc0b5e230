import { effectiveOf, type PackagedTx } from './packages.js'

/** The lower edge of the first step, which also has all lower rates, in base units per virtual byte: what current nodes relay at least. */
const LOWEST = 0.1
/** The ratio of an edge to the one before. */
const RATIO = 1.05
/** The number of steps: the last one begins at about 10,000 base units per virtual byte, and has no end. */
export const RATE_STEPS = 237
/** The number of transactions after which the sizes can be interrupted. */
const BREAK = 2_000
/** The rounding errors of logarithms are smaller: a rate that is an edge belongs to the step above it. */
const TOLERANCE = 1e-9

/** Returns the lower edge of a step of fee rates, in base units per virtual byte. The first step also has all lower rates. */
export const rateOfStep = (step: number): number => LOWEST * RATIO ** step

/** Returns the step of a fee rate. @param rate base units per virtual byte. */
export function stepOf(rate: number): number {
  const step = Math.floor(Math.log(rate / LOWEST) / Math.log(RATIO) + TOLERANCE)
  return Math.min(Math.max(step, 0), RATE_STEPS - 1)
}

/** Returns the step of the effective fee rate of a transaction. */
export function stepOfTx(tx: Pick<PackagedTx, 'fee' | 'vsize' | 'packaged'>): number {
  const { fee, vsize } = effectiveOf(tx)
  return stepOf(Number(fee) / vsize)
}

/** Sums up the virtual sizes of transactions by the steps of their effective fee rates. They must not change meanwhile. */
export function* sizing(txs: Iterable<PackagedTx>): Generator<undefined, number[], undefined> {
  const sizes = new Array<number>(RATE_STEPS).fill(0)
  let count = 0
  for (const tx of txs) {
    const step = stepOfTx(tx)
    sizes[step] = (sizes[step] as number) + tx.vsize
    if (++count % BREAK === 0) yield
  }
  return sizes
}

/** Returns for each step the sum of a value of it and of all higher steps. */
export function orHigher(values: readonly number[]): number[] {
  const sums = [...values]
  for (let step = sums.length - 2; step >= 0; step--)
    sums[step] = (sums[step] as number) + (sums[step + 1] as number)
  return sums
}
