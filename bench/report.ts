import { readFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'

/** A figure that a suite measures. A ratio is compared with its stored minimum, a size with `most`. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The named baseline's own value, measured in the same run. */
  readonly baseline?: number
  readonly ratio?: number
  /** An upper limit that the issue or the design sets. */
  readonly most?: number
}

export interface Report {
  readonly suite: string
  readonly machine: string
  readonly figures: readonly {
    readonly name: string
    readonly value: number
    readonly unit: string
    readonly baseline: number | null
    readonly ratio: number | null
    readonly bar: number | null
    readonly ok: boolean
  }[]
}

/** A figure as `bench/baseline.json` stores it: its bar, and the value of its last measurement. */
interface Kept {
  /** The minimum ratio; without it the figure is only printed. */
  readonly bar?: number
  readonly measured?: { readonly value: number; readonly ratio: number; readonly date: string }
}

/** Compares figures with `bench/baseline.json`, {suite: {figure: Kept}}. */
export async function report(suite: string, figures: readonly Figure[]): Promise<Report> {
  const stored = JSON.parse(await readFile('bench/baseline.json', 'utf8')) as Record<
    string,
    Record<string, Kept>
  >
  const machine = `${String(cpus().length)} × ${cpus()[0]?.model ?? 'unknown'}, ${String(Math.round(totalmem() / 2 ** 30))} GiB, Node ${process.version}`
  return {
    suite,
    machine,
    figures: figures.map(({ name, value, unit, baseline, ratio, most }) => {
      const bar = most ?? stored[suite]?.[name]?.bar ?? null
      const held = most === undefined ? (bar === null ? true : (ratio ?? value) >= bar) : value <= most
      return {
        name,
        value: round(value),
        unit,
        baseline: baseline === undefined ? null : round(baseline),
        ratio: ratio === undefined ? null : round(ratio),
        bar,
        ok: held,
      }
    }),
  }
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
