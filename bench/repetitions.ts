import type { Figure } from './report.js'

/** The number of repetitions of each measurement; the reported figures are medians. */
export const REPETITIONS = 5

/** Measures several times, one after the other, and returns the medians. */
export async function repeated(
  times: number,
  measure: (repetition: number) => Promise<readonly Figure[]>,
): Promise<Figure[]> {
  const runs: (readonly Figure[])[] = []
  for (let repetition = 0; repetition < times; repetition++) runs.push(await measure(repetition))
  return medianFigures(runs)
}

/**
 * Returns the medians of figures by name. A ratio is the median of the ratios, each of a value and a baseline that were
 * measured together.
 * @throws Error if the runs have different figures.
 */
export function medianFigures(runs: readonly (readonly Figure[])[]): Figure[] {
  const [first = []] = runs
  const names = (figures: readonly Figure[]): string => figures.map(({ name }) => name).join(' ')
  if (runs.some((figures) => names(figures) !== names(first)))
    throw new Error(`the repetitions have different figures: ${runs.map(names).join('; ')}`)
  return first.map((figure, at) => {
    const of = (key: 'value' | 'baseline' | 'ratio'): number =>
      median(runs.map((figures) => figures[at]?.[key] ?? Number.NaN))
    return {
      ...figure,
      value: of('value'),
      ...(figure.baseline === undefined ? {} : { baseline: of('baseline') }),
      ...(figure.ratio === undefined ? {} : { ratio: of('ratio') }),
    }
  })
}

/** Returns the middle value, of an even number of values the mean of the two middle ones. @throws RangeError without values. */
export function median(values: readonly number[]): number {
  return (percentile(values, 0.5) + percentileBelow(values, 0.5)) / 2
}

/** Returns the value below which this share of the values is. @throws RangeError without values. */
export function percentile(values: readonly number[], share: number): number {
  return valueAt(values, (count) => Math.min(count - 1, Math.floor(count * share)))
}

function percentileBelow(values: readonly number[], share: number): number {
  return valueAt(values, (count) => Math.ceil(count * share) - 1)
}

function valueAt(values: readonly number[], indexOf: (count: number) => number): number {
  const value = Float64Array.from(values).sort()[indexOf(values.length)]
  if (value === undefined) throw new RangeError('there are no values')
  return value
}

/** Makes calls one after the other for some seconds. @returns the number of completed calls per second. */
export async function rateOf(call: () => Promise<unknown>, seconds: number): Promise<number> {
  const began = performance.now()
  let count = 0
  for (; performance.now() - began < seconds * 1000; count++) await call()
  return (count * 1000) / (performance.now() - began)
}

/** Returns a figure of a value compared with its baseline. */
export function comparison(name: string, unit: string, value: number, baseline: number): Figure {
  return { name, value, unit, baseline, ratio: value / baseline }
}

/**
 * Returns the ratio of the maximum in the last quarter of samples to that in the quarter before: 1 for memory that is flat.
 * @throws RangeError for fewer than four samples.
 */
export function growthInSecondHalf(samples: readonly number[]): number {
  if (samples.length < 4) throw new RangeError('there are too few samples')
  const half = samples.slice(samples.length >> 1)
  const quarter = Math.max(1, half.length >> 1)
  return Math.max(...half.slice(quarter)) / Math.max(...half.slice(0, quarter))
}
