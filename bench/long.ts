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
  readonly args: readonly string[]
}

interface Result {
  readonly name: string
  readonly commit: string
  readonly date: string
  readonly seconds: number
  readonly passed: boolean
  readonly said: string
}

const vitest = (file: string): string[] => [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--project',
  'system',
  file,
]

const JOBS: readonly Job[] = [
  {
    name: 'bench ingest: speed and memory over 20,000 blocks',
    env: {},
    args: ['deploy/bootstrap.mjs', 'bench', 'ingest'],
  },
  {
    name: 'bench rest: reads against a bare handler',
    env: {},
    args: ['deploy/bootstrap.mjs', 'bench', 'rest'],
  },
  {
    name: 'ClickHouse frozen for a minute under load',
    env: { FROZEN_SECONDS: '60' },
    args: vitest('test/system/database-frozen.test.ts'),
  },
  {
    name: 'kill -9, 50 rounds in a row',
    env: { CRASH_ROUNDS: '50' },
    args: vitest('test/system/crash.test.ts'),
  },
  {
    name: 'the recording, every frame, while it is read',
    env: { RECORDING_EVERY_FRAME: '1' },
    args: vitest('test/system/recording.test.ts'),
  },
]

const STATE = '.data/long.json'
const REPORT = 'bench/long.md'

async function main(): Promise<void> {
  const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout.trim()
  const results = await earlier()
  for (const job of JOBS) {
    const done = results.get(job.name)
    if (done?.passed === true && done.commit === commit) {
      process.stdout.write(`passed before on ${commit}: ${job.name}\n`)
      continue
    }
    process.stdout.write(`runs: ${job.name}\n`)
    results.set(job.name, { ...(await run(job)), commit })
    await mkdir('.data', { recursive: true })
    await writeFile(STATE, JSON.stringify([...results.values()], undefined, 2))
    await writeFile(REPORT, asMarkdown([...results.values()]))
  }
  const failed = JOBS.filter(({ name }) => results.get(name)?.passed !== true)
  for (const { name } of failed) process.stdout.write(`FAILED: ${name}\n`)
  process.exitCode = failed.length === 0 ? 0 : 1
}

async function earlier(): Promise<Map<string, Result>> {
  const text = await readFile(STATE, 'utf8').catch(() => '[]')
  return new Map((JSON.parse(text) as Result[]).map((result) => [result.name, result]))
}

async function run({ name, env, args }: Job): Promise<Omit<Result, 'commit'>> {
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
  const passed = await new Promise<boolean>((resolve) => {
    child.on('close', (code) => {
      resolve(code === 0)
    })
  })
  const lines = said.split('\n').filter((line) => /^\s*(Tests\s|ok |MISS )/.test(line))
  const seconds = Math.round((performance.now() - from) / 1000)
  return {
    name,
    date: new Date().toISOString().slice(0, 10),
    seconds,
    passed,
    said: lines.map((line) => line.trim()).join('; '),
  }
}

function asMarkdown(results: readonly Result[]): string {
  const rows = results.map(
    ({ name, date, commit, seconds, passed, said }) =>
      `| ${name} | ${date} | ${commit} | ${passed ? 'passed' : '**failed**'} | ${String(seconds)} s | ${said} |`,
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
