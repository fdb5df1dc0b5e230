import { spawn, spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'

/**
 * `npm run check:long`: what takes too long for CI. Each job that passed on a commit is remembered in `.data/long.json`, so that
 * a run that was broken off goes on where it was; the results, dated, are written to `bench/long.md`, which is committed.
 */
interface Job {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  /** Command lines for node, one after the other; each that passed is not run again. */
  readonly runs: readonly (readonly string[])[]
}

interface Result {
  readonly name: string
  readonly commit: string
  readonly date: string
  readonly seconds: number
  /** How many of the runs have passed. */
  readonly done: number
  readonly result: 'passed' | 'failed' | 'could not be run' | 'broken off'
  readonly said: string
}

/** What benchmarks and the chaos suite leave with where nothing was tested. */
const NOT_RUN = 2

const vitest = (file: string): string[] => [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--project',
  'system',
  file,
]

const CHAOS_RUNS = 8
const ROUNDS_A_RUN = 25

/** 200 rounds, a world and a seed for each 25. */
const chaos = (log: 'embedded' | 'kafka'): string[][] =>
  Array.from({ length: CHAOS_RUNS }, (_, index) => [
    ...['deploy/bootstrap.mjs', 'chaos', '--log', log],
    ...['--seed', String(index + 1), '--rounds', String(ROUNDS_A_RUN)],
  ])

const JOBS: readonly Job[] = [
  {
    name: 'bench ingest: speed and memory over 20,000 blocks',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'ingest']],
  },
  {
    name: 'bench rest: reads against a bare handler',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'rest']],
  },
  {
    name: 'ClickHouse frozen for a minute under load',
    env: { FROZEN_SECONDS: '60' },
    runs: [vitest('test/system/database-frozen.test.ts')],
  },
  { name: 'chaos: 200 rounds on the embedded log', env: {}, runs: chaos('embedded') },
  { name: 'chaos: 200 rounds on Kafka', env: {}, runs: chaos('kafka') },
  {
    name: 'rebalances of two materializers on Kafka for ten minutes',
    env: { REBALANCE_SECONDS: '600' },
    runs: [vitest('test/system/kafka-materializers.test.ts')],
  },
  {
    name: 'the recording, every frame, while it is read',
    env: { RECORDING_EVERY_FRAME: '1' },
    runs: [vitest('test/system/recording.test.ts')],
  },
]

const STATE = '.data/long.json'
const REPORT = 'bench/long.md'

async function main(): Promise<void> {
  const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout.trim()
  const results = await earlier()
  const words = process.argv.slice(2)
  const chosen = JOBS.filter(({ name }) => words.every((word) => name.includes(word)))
  for (const job of chosen) {
    let before = results.get(job.name)
    if (before?.commit !== commit) before = undefined
    if (before?.result === 'passed') {
      process.stdout.write(`passed before on ${commit}: ${job.name}\n`)
      continue
    }
    process.stdout.write(`runs: ${job.name}\n`)
    for await (const result of runsOf(job, before)) {
      results.set(job.name, { ...result, commit })
      await mkdir('.data', { recursive: true })
      await writeFile(STATE, JSON.stringify([...results.values()], undefined, 2))
      await writeFile(REPORT, asMarkdown([...results.values()]))
    }
  }
  const failed = chosen.filter(({ name }) => results.get(name)?.result !== 'passed')
  for (const { name } of failed) process.stdout.write(`FAILED: ${name}\n`)
  process.exitCode = failed.length === 0 ? 0 : 1
}

async function earlier(): Promise<Map<string, Result>> {
  const text = await readFile(STATE, 'utf8').catch(() => '[]')
  const known = (JSON.parse(text) as Result[]).filter(
    (each) => 'result' in each && JOBS.some(({ name }) => name === each.name),
  )
  return new Map(known.map((result) => [result.name, result]))
}

/** How the job stands after each of its runs that is still to be made; ends with the first that does not pass. */
async function* runsOf(
  { name, env, runs }: Job,
  before: Result | undefined,
): AsyncGenerator<Omit<Result, 'commit'>> {
  let { done, seconds, said } = before ?? { done: 0, seconds: 0, said: '' }
  for (const args of runs.slice(done)) {
    const run = await runOnce(args, env)
    if (run.status === 0) done++
    seconds += run.seconds
    said = [said, ...run.said].filter((each) => each !== '').join('; ')
    const ended = run.status === NOT_RUN ? 'could not be run' : 'failed'
    const result = run.status !== 0 ? ended : done === runs.length ? 'passed' : 'broken off'
    yield { name, date: new Date().toISOString().slice(0, 10), seconds, done, result, said }
    if (run.status !== 0) return
  }
}

async function runOnce(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ status: number; seconds: number; said: string[] }> {
  const from = performance.now()
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env, NO_COLOR: '1', FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
    process.stdout.write(text)
  })
  const status = await new Promise<number>((resolve) => {
    child.on('close', (code) => {
      resolve(code ?? 1)
    })
  })
  const lines = said.split('\n').filter((line) => /^\s*(Tests\s|ok |MISS |WRONG )/.test(line))
  const seconds = Math.round((performance.now() - from) / 1000)
  return { status, seconds, said: lines.map((line) => line.trim()) }
}

function asMarkdown(results: readonly Result[]): string {
  const rows = results.map(
    ({ name, date, commit, seconds, result, said }) =>
      `| ${name} | ${date} | ${commit} | ${result === 'passed' ? result : `**${result}**`} | ${String(seconds)} s | ${said} |`,
  )
  return [
    '# What `npm run check:long` said last',
    '',
    `On ${String(cpus().length)} cores, Node ${process.version}. Written by the command; it goes on where it was broken off.`,
    '',
    '| job | date | commit | result | took | in its words |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

await main()
