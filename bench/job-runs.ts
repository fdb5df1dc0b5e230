import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asMarkdown, parseReport, type Result } from './job-report.js'

/** A long test: commands for node, run one after the other. */
export interface Job {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  /** Command lines for node; a passed one is not run again while the sources are the same. */
  readonly runs: readonly (readonly string[])[]
  /** Files and folders that the job tests, as git pathspecs from the project's root; `:!path` excludes. */
  readonly sources: readonly string[]
}

export interface Runner {
  readonly jobs: readonly Job[]
  readonly root: string
  /** The report, from which the next start also reads what has passed. */
  readonly report: string
  readonly write: (text: string) => void
}

/** The exit status of benchmarks and the chaos suite if nothing was tested. */
const NOT_RUN = 2
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Runs the jobs that have not passed on the current sources, from the first run of each that has not passed, and
 * writes the report after each run.
 * @param words choose the jobs whose name contains all of them.
 * @param again runs them from their first run, even if they have passed.
 * @returns whether all chosen jobs have passed.
 */
export async function runJobs(runner: Runner, words: readonly string[], again = false): Promise<boolean> {
  const { root } = runner
  const say = (line: string): void => runner.write(`${line}\n`)
  const chosen = chosenJobs(runner, words)
  for (const job of chosen) {
    const sources = sourcesHash(job, root)
    const before = (await results(runner)).get(job.name)
    const same = before?.sources === sources && !again ? before : undefined
    if (same?.result === 'passed') {
      say(`passed before on these sources (${sources}, ${same.commit}, ${same.date}): ${job.name}`)
      continue
    }
    say(`runs: ${job.name}`)
    if (!(await runJob(runner, job, sources, same))) return false
  }
  const after = await results(runner)
  const failed = chosen.filter((job) => !isCurrent(job, after.get(job.name), root))
  for (const { name } of failed) say(`FAILED: ${name}`)
  return failed.length === 0
}

/**
 * Prints for each job whether its result in the report is of the current sources.
 * @returns whether all have passed on them.
 */
export async function reportStatus(runner: Runner, words: readonly string[]): Promise<boolean> {
  const known = await results(runner)
  const chosen = chosenJobs(runner, words)
  for (const job of chosen) {
    const result = known.get(job.name)
    const hash = sourcesHash(job, runner.root)
    const of = result === undefined ? '' : `, ${result.result} on ${result.commit} (${result.date})`
    const state = result === undefined ? 'never run' : result.sources === hash ? 'current' : 'stale'
    runner.write(`${state}: ${job.name}${of}; the sources are ${hash}\n`)
  }
  return chosen.every((job) => isCurrent(job, known.get(job.name), runner.root))
}

/**
 * Hashes what a job tests: its commands, and path and content of each file of its sources in the working tree,
 * committed or not.
 * @returns 12 hexadecimal digits.
 * @throws Error outside a git repository, or if a path does not exist.
 */
export function sourcesHash(job: Job, root: string): string {
  const hash = createHash('sha256').update(JSON.stringify({ env: job.env, runs: job.runs }))
  for (const path of sourceFiles(job, root)) {
    const content = createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex')
    hash.update(`\n${content} ${path}`)
  }
  return hash.digest('hex').slice(0, 12)
}

/**
 * Lists the files of a job's sources, sorted: those of git and untracked ones that it does not ignore.
 * @throws Error as sourcesHash.
 */
export function sourceFiles({ sources }: Job, root: string): string[] {
  const missing = sources.find((path) => !path.startsWith(':!') && !existsSync(join(root, path)))
  if (missing !== undefined) throw new Error(`a job's source does not exist: ${missing}`)
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...sources]
  const listed = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (listed.status !== 0) throw new Error(`the sources cannot be listed: ${listed.stderr || 'no git'}`)
  const isFile = (path: string): boolean =>
    // Deleted files are still listed.
    path !== '' && lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true
  return [...new Set(listed.stdout.split('\0'))].filter(isFile).sort()
}

function chosenJobs({ jobs }: Runner, words: readonly string[]): Job[] {
  const chosen = jobs.filter(({ name }) => words.every((word) => name.includes(word)))
  if (chosen.length === 0) throw new Error(`no job has '${words.join(' ')}' in its name`)
  return chosen
}

function isCurrent(job: Job, result: Result | undefined, root: string): boolean {
  return result?.result === 'passed' && result.sources === sourcesHash(job, root)
}

async function results({ jobs, report }: Runner): Promise<Map<string, Result>> {
  const known = parseReport(await readFile(report, 'utf8').catch(() => ''))
  return new Map(
    jobs.flatMap(({ name }) => known.filter((each) => each.name === name).map((each) => [name, each])),
  )
}

/**
 * Makes the remaining runs, up to the first that does not pass.
 * @returns false after an interruption.
 */
async function runJob(
  runner: Runner,
  job: Job,
  sources: string,
  before: Result | undefined,
): Promise<boolean> {
  const { name, runs } = job
  let { done, seconds, said } = before ?? { done: 0, seconds: 0, said: '' }
  for (const args of runs.slice(done)) {
    const run = await runOnce(runner, args, job.env)
    if (run === 'interrupted') return false
    const changed = sourcesHash(job, runner.root) !== sources
    const passed = run.status === 0 && !changed
    if (passed) done++
    seconds += run.seconds
    said = [said, ...run.said, ...(changed ? ['the sources changed meanwhile'] : [])]
      .filter((each) => each !== '')
      .join('; ')
    const ended = run.status === NOT_RUN ? 'could not be run' : 'failed'
    const result = !passed ? ended : done === runs.length ? 'passed' : 'broken off'
    const [commit, date] = [commitOf(runner.root), new Date().toISOString().slice(0, 10)]
    // Read again, because another run may have written it meanwhile.
    const all = await results(runner)
    all.set(name, { name, date, commit, sources, seconds, done, of: runs.length, result, said })
    await writeFile(runner.report, asMarkdown(runner.jobs.flatMap((each) => all.get(each.name) ?? [])))
    if (!passed) return true
  }
  return true
}

/** Returns the commit that is checked out. */
export function commitOf(root: string): string {
  return spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).stdout.trim()
}

async function runOnce(
  { root, write }: Runner,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ status: number; seconds: number; said: string[] } | 'interrupted'> {
  const from = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env, NO_COLOR: '1', FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let interrupted = false
  const stop = (signal: NodeJS.Signals): void => {
    interrupted = true
    child.kill(signal)
  }
  for (const signal of SIGNALS) process.on(signal, stop)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    write(text)
  })
  const status = await new Promise<number>((resolve) => {
    child.on('close', (code) => resolve(code ?? 1))
  })
  for (const signal of SIGNALS) process.off(signal, stop)
  if (interrupted) return 'interrupted'
  const untested = /^\s*Tests\s+\d+ skipped \(/m.test(output)
  const lines = output.split('\n').filter((line) => /^\s*(Tests\s|ok |MISS |WRONG )/.test(line))
  const seconds = Math.round((performance.now() - from) / 1000)
  return {
    status: status === 0 && untested ? NOT_RUN : status,
    seconds,
    said: lines.map((line) => line.trim()),
  }
}
