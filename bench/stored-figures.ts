import { readFile, writeFile } from 'node:fs/promises'
import type { Report, Stored } from './report.js'

/** The content of `bench/baseline.json`: figures by suite and name. */
export type StoredFigures = Readonly<Record<string, Readonly<Record<string, Stored>>>>

const FILE = 'bench/baseline.json'

export async function readStored(): Promise<StoredFigures> {
  return JSON.parse(await readFile(FILE, 'utf8')) as StoredFigures
}

export async function writeStored(stored: StoredFigures): Promise<void> {
  await writeFile(FILE, `${JSON.stringify(stored, null, 2)}\n`)
}

/** Returns the stored figures with those of a run as the last measurement: ratios, and all figures that are stored already. */
export function withMeasured(stored: StoredFigures, { suite, figures }: Report, date: string): StoredFigures {
  const known = stored[suite] ?? {}
  const measured = figures.flatMap(({ name, value, ratio }) => {
    const before = known[name]
    if (ratio === null && before === undefined) return []
    return [[name, { ...before, measured: { value, ...(ratio === null ? {} : { ratio }), date } }] as const]
  })
  return { ...stored, [suite]: { ...known, ...Object.fromEntries(measured) } }
}

/** Returns the stored figures with the ratios of a run as those of an earlier version, for the bars that are a multiple of these. */
export function withEarlier(
  stored: StoredFigures,
  { suite, figures }: Report,
  commit: string,
): StoredFigures {
  const known = stored[suite] ?? {}
  const earlier = figures.flatMap(({ name, ratio }) => {
    const before = known[name]
    return before?.timesEarlier === undefined || ratio === null
      ? []
      : [[name, { ...before, earlier: { ratio, commit } }] as const]
  })
  return { ...stored, [suite]: { ...known, ...Object.fromEntries(earlier) } }
}
