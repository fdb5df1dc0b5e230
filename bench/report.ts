import { cpus, totalmem } from 'node:os'

/** A figure that a suite measures. Higher values are better, except for figures with an upper limit. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The named baseline's own value, measured in the same run. */
  readonly baseline?: number
  readonly ratio?: number
  /** An upper limit of the value that the issue or the design sets. */
  readonly most?: number
  /** The same of the ratio. */
  readonly maxRatio?: number
}

export interface Report {
  readonly suite: string
  readonly machine: string
  readonly figures: readonly Judged[]
}

interface Judged {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly baseline: number | null
  readonly ratio: number | null
  /** The strictest of the limits; null if there is none. */
  readonly bar: number | null
  readonly ok: boolean
}

/** The limits of a figure in `bench/baseline.json`. A figure without limits is only printed. */
export interface Stored {
  /** The minimum ratio, or the minimum value of a figure without a ratio. */
  readonly bar?: number
  /** The minimum value, beside the minimum ratio. */
  readonly least?: number
  /** The ratio that was measured last. */
  readonly ratio?: number
}

/** The share of the last measured ratio below which a figure fails. */
const LEAST_OF_LAST = 0.85

/**
 * Compares the figures of a suite with the stored ones.
 * @param isQuick omits the comparison with the last measurement, which was of a full run.
 */
export function report(
  suite: string,
  figures: readonly Figure[],
  stored: Readonly<Record<string, Stored>>,
  isQuick: boolean,
): Report {
  const machine = `${String(cpus().length)} × ${cpus()[0]?.model ?? 'unknown'}, ${String(Math.round(totalmem() / 2 ** 30))} GiB, Node ${process.version}`
  return {
    suite,
    machine,
    figures: figures.map((figure) => judge(figure, stored[figure.name] ?? {}, isQuick)),
  }
}

/** Compares a figure with its limits. */
export function judge(figure: Figure, stored: Stored, isQuick = false): Judged {
  const { name, value, unit, baseline, ratio } = figure
  return {
    name,
    value: round(value),
    unit,
    baseline: baseline === undefined ? null : round(baseline),
    ratio: ratio === undefined ? null : round(ratio),
    ...compare(figure, stored, isQuick),
  }
}

function compare(
  { value, ratio, most, maxRatio }: Figure,
  { bar, least = Number.NEGATIVE_INFINITY, ratio: measured }: Stored,
  isQuick: boolean,
): Pick<Judged, 'bar' | 'ok'> {
  const last = isQuick ? undefined : measured
  if (most !== undefined) return { bar: round(most), ok: value <= most }
  if (maxRatio !== undefined) {
    const limit = Math.min(maxRatio, (last ?? Number.POSITIVE_INFINITY) / LEAST_OF_LAST)
    return { bar: round(limit), ok: (ratio ?? value) <= limit }
  }
  const limits = [
    ...(bar === undefined ? [] : [bar]),
    ...(last === undefined || ratio === undefined ? [] : [LEAST_OF_LAST * last]),
  ]
  if (limits.length === 0) return { bar: null, ok: true }
  const limit = Math.max(...limits)
  return { bar: round(limit), ok: (ratio ?? value) >= limit && value >= least }
}

/** Returns lines for a person; the JSON is for machines. */
export function asText({ suite, machine, figures }: Report): string {
  const lines = figures.map(({ name, value, unit, ratio, bar, ok }) => {
    const against = ratio === null ? '' : `, ${String(ratio)} of the baseline`
    return `${ok ? 'ok  ' : 'MISS'} ${name}: ${String(value)} ${unit}${against}${bar === null ? '' : ` (bar ${String(bar)})`}`
  })
  return [`${suite} on ${machine}`, ...lines].join('\n')
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}
