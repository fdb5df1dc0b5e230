import { cpus } from 'node:os'

/** The result of a job: a line of `bench/long.md`. */
export interface Result {
  readonly name: string
  /** The date of its last run, YYYY-MM-DD. */
  readonly date: string
  /** The commit that was checked out; `sources` identifies what was tested. */
  readonly commit: string
  /** The hash of what the job tests, and of its commands. */
  readonly sources: string
  readonly seconds: number
  /** The number of its runs that have passed. */
  readonly done: number
  readonly of: number
  readonly result: 'passed' | 'failed' | 'could not be run' | 'broken off'
  readonly said: string
}

const RESULTS: readonly Result['result'][] = ['passed', 'failed', 'could not be run', 'broken off']

/** Returns the results as the page that `parseReport` parses. */
export function asMarkdown(results: readonly Result[]): string {
  const rows = results.map(({ name, date, commit, sources, result, done, of, seconds, said }) => {
    const shown = result === 'passed' ? result : `**${result}**`
    const cells = [
      name,
      date,
      commit,
      sources,
      shown,
      `${String(done)} of ${String(of)}`,
      `${String(seconds)} s`,
      said,
    ]
    return `| ${cells.map((cell) => cell.replaceAll('|', '¦')).join(' | ')} |`
  })
  return [
    '# Results of `npm run check:long`',
    '',
    `On ${String(cpus().length)} cores, Node ${process.version}. Written and read by the command, which continues where it was interrupted.`,
    '*Sources* is a hash of the files that the job tests and of its commands: a result holds for every commit with the same',
    'hash. `npm run check:long -- --status` compares them with the working tree.',
    '',
    '| job | date | commit | sources | result | runs | took | output |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

/** Parses the results in a page of `asMarkdown`; lines of any other form are ignored. */
export function parseReport(text: string): Result[] {
  return text.split('\n').flatMap((line) => {
    const cells = line.slice(2, -2).split(' | ')
    const [name = '', date = '', commit = '', sources = '', shown = '', runs = '', took = '', said = ''] =
      cells
    const result = RESULTS.find((each) => each === shown.replaceAll('*', ''))
    const [done, of] = /^(\d+) of (\d+)$/.exec(runs)?.slice(1).map(Number) ?? []
    if (cells.length !== 8 || result === undefined || done === undefined || of === undefined) return []
    return [{ name, date, commit, sources, result, done, of, seconds: parseInt(took, 10), said }]
  })
}
