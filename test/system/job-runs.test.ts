import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { asMarkdown, parseReport } from '../../bench/job-report.js'
import { type Job, runJobs, type Runner, reportStatus } from '../../bench/job-runs.js'

let root: string
let written: string

/** A run records that it was made, and fails if a file with its name says so. */
const RUN = (name: string): string[] => [
  '-e',
  `const fs = require('fs'); fs.appendFileSync('made', '${name} '); if (fs.existsSync('fail-${name}')) process.exit(Number(fs.readFileSync('fail-${name}'))); console.log('ok   ${name} | well')`,
]

const SOURCES = ['pipelines', 'package-lock.json', ':!pipelines/content']
const fake = (name: string, runs: readonly (readonly string[])[], sources = SOURCES): Job => ({
  ...{ name, runs, sources, env: {} },
})
const TWO = fake('two runs', [RUN('one'), RUN('two')])

function git(...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
    cwd: root,
    stdio: 'ignore',
  })
}

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

function commit(path: string, content: string): void {
  write(path, content)
  git('add', '.')
  git('commit', '-m', path)
}

const runner = (jobs: readonly Job[]): Runner => ({
  ...{ jobs, root, report: join(root, 'long.md') },
  write: (text) => void (written += text),
})

/** Returns the runs that were made since the last call. */
function made(): string[] {
  const file = join(root, 'made')
  const names = existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ') : []
  rmSync(file, { force: true })
  return names
}

/** Made once and copied for each test: a repository, and the same one with the report of a job that has passed. */
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headwater-jobs-'))
  root = join(folder, 'fresh')
  mkdirSync(root)
  git('init')
  commit('.gitignore', 'made\nfail-*\n')
  commit('package-lock.json', '{}')
  commit('pipelines/log.ts', 'log')
  copied('fresh', 'passed')
  expect(await runJobs(runner([TWO]), [])).toBe(true)
  expect(made()).toEqual(['one', 'two'])
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  copied('fresh', 'own')
})

function copied(from: string, to: string): void {
  root = join(folder, to)
  rmSync(root, { recursive: true, force: true })
  cpSync(join(folder, from), root, { recursive: true })
  written = ''
}

describe('a job that has passed', () => {
  beforeEach(() => {
    copied('passed', 'own')
  })

  it.each([
    { what: 'the commit of its own report', change: () => commit('notes.md', 'more') },
    { what: 'a page', change: () => commit('content/index.md', 'text') },
    { what: 'a source that it excludes', change: () => commit('pipelines/content/page.ts', 'page') },
  ])('stays passed after $what', async ({ change }) => {
    change()
    git('add', '-A')
    git('commit', '--allow-empty', '-m', 'the report')
    expect(await reportStatus(runner([TWO]), [])).toBe(true)
    expect(written).toContain('current: two runs, passed on ')
    expect(await runJobs(runner([TWO]), [])).toBe(true)
    expect(made()).toEqual([])
  })

  it.each([
    { what: 'edited, not committed', change: () => write('pipelines/log.ts', 'other') },
    { what: 'edited and committed', change: () => commit('pipelines/log.ts', 'other') },
    { what: 'added, not yet known to git', change: () => write('pipelines/new.ts', 'new') },
    { what: 'deleted', change: () => rmSync(join(root, 'pipelines/log.ts')) },
    { what: 'moved', change: () => git('mv', 'pipelines/log.ts', 'pipelines/lag.ts') },
  ])('is run again when a source was $what', async ({ change }) => {
    change()
    mkdirSync(join(root, 'pipelines'), { recursive: true })
    expect(await reportStatus(runner([TWO]), [])).toBe(false)
    expect(written).toContain('stale: two runs, passed on ')
    expect(made()).toEqual([])
    expect(await runJobs(runner([TWO]), [])).toBe(true)
    expect(made()).toEqual(['one', 'two'])
  })

  it('is current again when the sources are restored', async () => {
    write('pipelines/log.ts', 'other')
    write('pipelines/log.ts', 'log')
    expect(await reportStatus(runner([TWO]), [])).toBe(true)
  })

  it('is run again when it has other commands', async () => {
    const other = { ...TWO, env: { ROUNDS: '50' } }
    expect(await reportStatus(runner([other]), [])).toBe(false)
    expect(await runJobs(runner([other]), [])).toBe(true)
    expect(made()).toEqual(['one', 'two'])
  })

  it('is run again when asked to', async () => {
    expect(await runJobs(runner([TWO]), [], true)).toBe(true)
    expect(made()).toEqual(['one', 'two'])
  })
})

describe('a job that has not passed', () => {
  it('continues with the run that failed, also after another commit', async () => {
    write('fail-two', '1')
    expect(await runJobs(runner([TWO]), [])).toBe(false)
    expect(made()).toEqual(['one', 'two'])
    commit('content/index.md', 'text')
    rmSync(join(root, 'fail-two'))
    expect(await runJobs(runner([TWO]), [])).toBe(true)
    expect(made()).toEqual(['two'])
  })

  it('starts over when its sources have changed', async () => {
    write('fail-two', '1')
    expect(await runJobs(runner([TWO]), [])).toBe(false)
    made()
    rmSync(join(root, 'fail-two'))
    commit('package-lock.json', '{"lockfileVersion":3}')
    expect(await runJobs(runner([TWO]), [])).toBe(true)
    expect(made()).toEqual(['one', 'two'])
  })

  it('is not passed by a run during which the sources changed', async () => {
    const edits = fake('edits', [['-e', "require('fs').writeFileSync('pipelines/log.ts', 'edited')"]])
    expect(await runJobs(runner([edits]), [])).toBe(false)
    expect(readFileSync(join(root, 'long.md'), 'utf8')).toContain('the sources changed meanwhile')
    expect(await runJobs(runner([edits]), [])).toBe(true)
  })

  it('could not be run if nothing was tested', async () => {
    write('fail-one', '2')
    const skips = fake('skips', [['-e', "console.log('      Tests  4 skipped (4)')"]])
    expect(await runJobs(runner([TWO, skips]), [])).toBe(false)
    const results = parseReport(readFileSync(join(root, 'long.md'), 'utf8'))
    expect(results.map(({ result, done }) => ({ result, done }))).toEqual([
      { result: 'could not be run', done: 0 },
      { result: 'could not be run', done: 0 },
    ])
  })

  it('reports a source that does not exist', async () => {
    const lost = fake('lost', [RUN('one')], ['pipelines', 'nowhere'])
    await expect(runJobs(runner([lost]), [])).rejects.toThrow("a job's source does not exist: nowhere")
  })
})

describe('words', () => {
  it('choose jobs, and leave the results of the others as they are', async () => {
    const other = fake('other', [RUN('three')], ['package-lock.json'])
    await runJobs(runner([TWO, other]), ['runs'])
    expect(made()).toEqual(['one', 'two'])
    await runJobs(runner([TWO, other]), ['other'])
    expect(made()).toEqual(['three'])
    expect(await reportStatus(runner([TWO, other]), [])).toBe(true)
    await expect(runJobs(runner([TWO]), ['nobody'])).rejects.toThrow("no job has 'nobody' in its name")
  })
})

describe('the report', () => {
  it('identifies the sources of each result, and is parsed as it was written', async () => {
    await runJobs(runner([TWO]), [])
    const text = readFileSync(join(root, 'long.md'), 'utf8')
    const results = parseReport(text)
    expect(results).toMatchObject([
      {
        ...{ name: 'two runs', result: 'passed', done: 2, of: 2 },
        ...{
          sources: expect.stringMatching(/^[0-9a-f]{12}$/),
          commit: expect.stringMatching(/^[0-9a-f]{7,}$/),
        },
        ...{ date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), said: 'ok   one ¦ well; ok   two ¦ well' },
      },
    ])
    expect(asMarkdown(results)).toBe(text)
  })
})
