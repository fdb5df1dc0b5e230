import { spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A test that takes too long for CI. */
export interface Job {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  /** Command lines for node, run one after the other. */
  readonly runs: readonly (readonly string[])[]
}

interface Options {
  /** The working tree. */
  readonly root: string
  /** True to make all runs. */
  readonly again: boolean
  /** Receives the result of each run, and a table of the jobs at the end. */
  readonly write: (line: string) => void
}

/** The results of a job so far. */
interface Result {
  /** The number of runs that passed. */
  readonly passed: number
  readonly seconds: number
  /** The end of the last run. */
  readonly end: 'not run' | 'passed' | 'failed' | 'could not be run'
  /** The lines of the outputs that name what was tested or measured. */
  readonly lines: readonly string[]
}

/** The exit status of benchmarks and the chaos suite if nothing was tested. */
const NOT_RUN = 2
const CHANGED = '-changed'

/**
 * Runs jobs, each from its first run that has not passed on the commit that is checked out. With uncommitted changes all runs are made.
 * Results and outputs are in `.data/long`, in a folder for each commit.
 * @returns true if all jobs have passed.
 */
export async function runJobs(jobs: readonly Job[], { root, again, write }: Options): Promise<boolean> {
  const version = versionOf(root)
  const folder = join(root, '.data/long', version)
  mkdirSync(folder, { recursive: true })
  if (again || version.endsWith(CHANGED)) for (const job of jobs) rmSync(fileOf(folder, job), { force: true })
  const makeRuns = async (job: Job): Promise<boolean> => {
    const file = fileOf(folder, job)
    let { passed, seconds, lines } = resultOf(file)
    if (passed === job.runs.length) write(`passed before: ${job.name}`)
    for (const args of job.runs.slice(passed)) {
      const log = file.replace('.json', `-${String(passed + 1)}.log`)
      write(`runs: ${job.name} (${String(passed + 1)} of ${String(job.runs.length)}, output in ${log})`)
      const began = performance.now()
      const status = await runOnce(root, args, job.env, log)
      if (status === 'interrupted') return false
      const output = readFileSync(log, 'utf8')
      const isChanged = versionOf(root) !== version
      const isTested = status !== NOT_RUN && !/^\s*Tests\s+\d+ skipped \(/m.test(output)
      const end = !isTested ? 'could not be run' : status === 0 && !isChanged ? 'passed' : 'failed'
      const said = output.split('\n').filter((line) => /^\s*(Tests\s|ok |MISS |WRONG )/.test(line))
      const news = [...said, ...(isChanged ? ['the working tree changed meanwhile'] : [])]
      for (const line of [...news, end]) write(`  ${line.trim()}`)
      if (end === 'passed') passed++
      seconds += Math.round((performance.now() - began) / 1000)
      lines = [...lines, ...news]
      writeFileSync(file, `${JSON.stringify({ passed, seconds, end, lines } satisfies Result, null, 2)}\n`)
      if (end !== 'passed') break
    }
    return true
  }
  for (const job of jobs) if (!(await makeRuns(job))) break
  const states = jobs.map((job) => {
    const { passed, seconds, end } = resultOf(fileOf(folder, job))
    const state = end === 'passed' && passed < job.runs.length ? 'interrupted' : end
    write(
      `| ${state} | ${String(passed)} of ${String(job.runs.length)} | ${String(seconds)} s | ${job.name} |`,
    )
    return state
  })
  return states.every((state) => state === 'passed')
}

/** Returns the commit that is checked out, marked if the working tree differs from it. */
function versionOf(root: string): string {
  const git = (...args: string[]): string => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout
  return git('rev-parse', '--short', 'HEAD').trim() + (git('status', '--porcelain') === '' ? '' : CHANGED)
}

function fileOf(folder: string, { name }: Job): string {
  return join(folder, `${name.replace(/\W+/g, '-')}.json`)
}

function resultOf(file: string): Result {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '{}'
  return { passed: 0, seconds: 0, end: 'not run', lines: [], ...(JSON.parse(text) as Partial<Result>) }
}

async function runOnce(
  cwd: string,
  args: readonly string[],
  env: Job['env'],
  log: string,
): Promise<number | 'interrupted'> {
  const output = openSync(log, 'w')
  const settings = { ...process.env, ...env, NO_COLOR: '1', FORCE_COLOR: '0' }
  const child = spawn(process.execPath, args, { cwd, env: settings, stdio: ['ignore', output, output] })
  closeSync(output)
  let isInterrupted = false
  const stop = (signal: NodeJS.Signals): void => {
    isInterrupted = true
    child.kill(signal)
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const status = await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? 1)))
  process.off('SIGINT', stop).off('SIGTERM', stop)
  return isInterrupted ? 'interrupted' : status
}
