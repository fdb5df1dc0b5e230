import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../../..')
const BUILT = join(ROOT, 'dist-client')
const modules = readdirSync(BUILT, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.js'),
)
const textOf = (path: string): string => readFileSync(join(BUILT, path), 'utf8')

/** The limit of the client's size: bytes of all modules together, compressed. */
const MAX_BYTES = 10_000

describe('the built client', () => {
  it('is small', () => {
    const bytes = gzipSync(modules.map(textOf).join('\n')).length
    expect(bytes).toBeGreaterThan(1_000)
    expect(bytes).toBeLessThan(MAX_BYTES)
  })

  it('imports nothing but itself, in code and in types', () => {
    const types = readdirSync(BUILT, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.d.ts'),
    )
    expect(types).toHaveLength(modules.length)
    const imported = [...modules, ...types].flatMap((path) =>
      [...textOf(path).matchAll(/(?:from|import)\s*\(?['"]([^'"]+)['"]/g)].map(([, name = '']) => name),
    )
    expect(imported.length).toBeGreaterThan(3)
    expect(imported.filter((name) => !/^\.\/(gen\/)?[a-z]+\.js$/.test(name))).toEqual([])
  })

  it('is what the package exports', () => {
    const code = `import { explorerClient, ExplorerError, stateOf } from 'headwater/client'
      const client = explorerClient('http://127.0.0.1:1')
      console.log(typeof client.blocks, typeof client.all.blocks, typeof client.events, ExplorerError.name, stateOf({}))`
    const args = ['--input-type=module', '-e', code]
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(stdout).toBe('function function function ExplorerError undefined\n')
  })
})
