import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FAULTS } from '../../test/chaos/faults.js'
import { until } from '../../test/harness/until.js'
import { type Job, runJobs } from '../job-runs.js'
import { JOBS } from '../jobs.js'

const ROOT = resolve(import.meta.dirname, '../..')

/** A run records its name, and ends with the status in a file of its name. */
const RUN = (name: string): string[] => [
  '-e',
  `const fs = require('fs'); fs.appendFileSync('../runs', '${name} ')
if (fs.existsSync('../${name}')) process.exit(Number(fs.readFileSync('../${name}'))); console.log('ok   ${name}')`,
]
const TWO: Job = { name: 'two: runs', env: {}, runs: [RUN('one'), RUN('two')] }

let folder: string
let root: string
let written: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headwater-jobs-'))
  root = join(folder, 'repository')
  spawnSync('git', ['init', '-q', root])
  commit('.gitignore', '.data/\n')
  written = []
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function commit(path: string, content: string): void {
  writeFileSync(join(root, path), content)
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org']
  spawnSync('git', ['add', '.'], { cwd: root })
  spawnSync('git', [...identity, 'commit', '-qm', path], { cwd: root })
}

function run(jobs: readonly Job[], again = false): Promise<boolean> {
  return runJobs(jobs, { root, again, write: (line) => void written.push(line) })
}

/** Returns the runs since the last call. */
function runs(): string {
  const names = existsSync(join(folder, 'runs')) ? readFileSync(join(folder, 'runs'), 'utf8') : ''
  rmSync(join(folder, 'runs'), { force: true })
  return names.trim()
}

describe('long jobs', () => {
  it('run once for each commit, unless they should run again', async () => {
    expect(await run([TWO])).toBe(true)
    expect(runs()).toBe('one two')
    expect(await run([TWO])).toBe(true)
    expect(runs()).toBe('')
    expect(written).toContain('passed before: two: runs')
    expect(await run([TWO], true)).toBe(true)
    expect(runs()).toBe('one two')
    commit('README.md', 'text')
    expect(await run([TWO])).toBe(true)
    expect(runs()).toBe('one two')
  })

  it('continue with the run that failed', async () => {
    writeFileSync(join(folder, 'two'), '1')
    expect(await run([TWO])).toBe(false)
    expect(written.at(-1)).toMatch(/^\| failed \| 1 of 2 \| \d+ s \| two: runs \|$/)
    expect(runs()).toBe('one two')
    rmSync(join(folder, 'two'))
    expect(await run([TWO])).toBe(true)
    expect(runs()).toBe('two')
  })

  it('are all run with uncommitted changes, whose results are not those of the commit', async () => {
    writeFileSync(join(root, 'new.ts'), '')
    expect(await run([TWO])).toBe(true)
    expect(await run([TWO])).toBe(true)
    expect(runs()).toBe('one two one two')
    rmSync(join(root, 'new.ts'))
    expect(await run([TWO])).toBe(true)
    expect(runs()).toBe('one two')
  })

  it('fail if the working tree changes meanwhile', async () => {
    const edits = { ...TWO, runs: [['-e', "require('fs').writeFileSync('new.ts', '')"]] }
    expect(await run([edits])).toBe(false)
    expect(written).toContain('  the working tree changed meanwhile')
  })

  it('could not be run if nothing was tested, which does not keep others from running', async () => {
    writeFileSync(join(folder, 'one'), '2')
    const skipped = [['-e', "console.log('      Tests  4 skipped (4)')"]]
    const jobs = [
      TWO,
      { ...TWO, name: 'skipped', runs: skipped },
      { ...TWO, name: 'last', runs: [RUN('last')] },
    ]
    expect(await run(jobs)).toBe(false)
    const states = written.slice(-3).map((line) => line.split(' | ')[0])
    expect(states).toEqual(['| could not be run', '| could not be run', '| passed'])
  })

  it('write results and outputs to a folder of the commit', async () => {
    await run([TWO])
    const [version = ''] = readdirSync(join(root, '.data/long'))
    expect(version).toMatch(/^[0-9a-f]{7,}$/)
    const read = (file: string): string => readFileSync(join(root, '.data/long', version, file), 'utf8')
    expect(read('two-runs-2.log')).toBe('ok   two\n')
    expect(JSON.parse(read('two-runs.json'))).toMatchObject({ passed: 2, lines: ['ok   one', 'ok   two'] })
    expect(written).toContain('  ok   one')
  })
})

describe('npm run check:long', () => {
  /** Runs the jobs of the test in a process of its own, which can be interrupted. */
  const start = (jobs: readonly Job[]) => {
    const program = `import { runJobs } from ${JSON.stringify(join(ROOT, 'dist/bench/job-runs.js'))}
      process.exitCode = (await runJobs(${JSON.stringify(jobs)}, { root: '.', again: false, write: console.log })) ? 0 : 1`
    return spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: root, stdio: 'ignore' })
  }

  it('continues an interrupted job with the run that it was at', async () => {
    const waits = ['-e', "require('fs').appendFileSync('../runs', 'waits '); setInterval(() => {}, 1000)"]
    const child = start([
      { ...TWO, runs: [RUN('one'), waits] },
      { ...TWO, name: 'later' },
    ])
    await until(
      'the second run',
      () => existsSync(join(folder, 'runs')) && readFileSync(join(folder, 'runs'), 'utf8').includes('waits'),
    )
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(runs()).toBe('one waits')
    expect(await run([TWO])).toBe(true)
    expect(runs()).toBe('two')
  })
})

describe('the jobs', () => {
  it('name tests, benchmarks and faults that exist', () => {
    const words = JOBS.flatMap((job) => job.runs.flat())
    const tests = words.filter((word) => word.endsWith('.test.ts'))
    const suites = words.filter((_, at) => words[at - 1] === 'bench').map((suite) => `bench/${suite}.ts`)
    expect([...tests, ...suites].filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    expect(Math.min(tests.length, suites.length)).toBeGreaterThan(5)
    const faults = words.filter((_, at) => words[at - 1] === '--only')
    expect(faults.length).toBeGreaterThan(5)
    expect(faults.filter((name) => !FAULTS.some((fault) => fault.name === name))).toEqual([])
  })

  it('have names that differ, also as names of files', () => {
    expect(new Set(JOBS.map(({ name }) => name.replace(/\W+/g, '-'))).size).toBe(JOBS.length)
  })
})
