import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sourceFiles } from '../../bench/job-runs.js'
import { JOBS } from '../../bench/jobs.js'
import { FAULTS } from '../chaos/faults.js'

const ROOT = resolve(import.meta.dirname, '../..')

describe('the jobs', () => {
  /** Finds the script of a run, by its path on the command line. */
  const entryOf = (args: readonly string[]): string => {
    const [program, command, ...rest] = args
    if (program !== 'deploy/bootstrap.mjs') return args.at(-1) ?? ''
    return command === 'bench' ? `bench/${rest[0] ?? ''}.ts` : `test/${command ?? ''}/main.ts`
  }

  /** Returns the files of tests and benchmarks that a file imports, itself included. */
  function imported(path: string, found = new Set<string>()): Set<string> {
    if (found.has(path) || !/^(test|bench)\//.test(path)) return found
    found.add(path)
    const text = readFileSync(join(ROOT, path), 'utf8')
    for (const [, name = ''] of text.matchAll(/from '(\.[^']+)'/g))
      imported(join(dirname(path), name).replace(/\.js$/, '.ts'), found)
    return found
  }

  it.each(JOBS)('declare what they import: $name', (job) => {
    const entries = new Set(job.runs.map(entryOf))
    const needed = [...entries].flatMap((entry) => [...imported(entry)])
    expect(needed).not.toEqual([])
    const files = sourceFiles(job, ROOT)
    expect(needed.filter((path) => !files.includes(path))).toEqual([])
    expect(files).toContain('package-lock.json')
    expect(files).toContain('services/explorer/main.ts')
    expect(files.filter((path) => path.startsWith('content/') || path === 'bench/long.md')).toEqual([])
  })

  it('name faults that exist', () => {
    const only = JOBS.flatMap(({ runs }) => runs.flat()).filter((_, at, args) => args[at - 1] === '--only')
    expect(only.length).toBeGreaterThan(5)
    expect(only.filter((name) => !FAULTS.some((fault) => fault.name === name))).toEqual([])
  })

  it('have unique names, also in the report', () => {
    expect(new Set(JOBS.map(({ name }) => name)).size).toBe(JOBS.length)
    expect(JOBS.filter(({ name }) => name.includes('|'))).toEqual([])
  })
})
