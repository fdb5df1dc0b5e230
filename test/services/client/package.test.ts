import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerWith, FakeExplorer } from './fake-explorer.js'

const ROOT = resolve(import.meta.dirname, '../../..')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const run = promisify(execFile)

interface Tarball {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** The folder of a project that has installed the package from its tarball. */
let project: string
let tarball: Tarball | undefined

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'headwater-client-'))
  // A cache of its own, so that nothing comes from that of the user.
  const options = ['--offline', '--no-audit', '--no-fund', '--cache', join(project, 'cache')]
  const { stdout } = await run('npm', ['pack', join(ROOT, 'dist-client'), '--json', ...options], {
    cwd: project,
  })
  ;[tarball] = JSON.parse(stdout) as Tarball[]
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  await run('npm', ['install', `./${String(tarball?.filename)}`, ...options], { cwd: project })
})

afterAll(() => {
  rmSync(project, { recursive: true, force: true })
})

describe('the package of the client', () => {
  it('contains the code, its types, the licence and a README, and nothing else', () => {
    const paths = tarball?.files.map(({ path }) => path) ?? []
    const documents = ['LICENSE', 'README.md', 'package.json']
    expect(paths).toEqual(expect.arrayContaining([...documents, 'client.js', 'client.d.ts', 'gen/reads.js']))
    expect(paths.filter((path) => !documents.includes(path) && !/\.(js|d\.ts)$/.test(path))).toEqual([])
  })

  it('may be published, has the version of the project, and depends on nothing', () => {
    const read = (path: string): Record<string, unknown> =>
      JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    const { version } = read(join(ROOT, 'package.json'))
    const { private: isPrivate, ...own } = read(join(project, 'node_modules/headwater-client/package.json'))
    expect(isPrivate).toBeUndefined()
    expect(own).toMatchObject({ name: 'headwater-client', version, license: 'MIT' })
    expect(Object.keys(own).filter((key) => /dependencies|scripts/i.test(key))).toEqual([])
  })

  it('reads an explorer from an empty project', async () => {
    const tip = { height: 7, hash: '00'.repeat(32) }
    const explorer = await FakeExplorer.start(answerWith(tip, 200, { 'x-chain-height': '7' }))
    const code = `import { explorerClient, stateOf } from 'headwater-client'
      const answer = await explorerClient('${explorer.url}').tip()
      console.log(answer.height, stateOf(answer).height)`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { cwd: project })
    await explorer.close()
    expect(stdout).toBe('7 7\n')
  })

  it('has types that a strict compiler accepts, and that refuse an unknown argument', async () => {
    const code = `import { explorerClient } from 'headwater-client'
const height: number = (await explorerClient('http://127.0.0.1:1').tip()).height
await explorerClient('http://127.0.0.1:1').block({ height })\n`
    writeFileSync(join(project, 'main.ts'), code)
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022']
    const compiling = run(process.execPath, [TSC, ...options, 'main.ts'], { cwd: project })
    const { stdout } = await compiling.catch((error: unknown) => error as { stdout: string })
    expect(stdout.trim()).toMatch(/^main\.ts\(3,\d+\): error .*'height' does not exist.*$/)
  })
})
