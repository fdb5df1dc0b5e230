/** Checks of the style; each failure names what to do instead. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { settingsTable } from '../services/config.js'
import { files, ROOT, text } from './tidy/tree.js'

/** The maximum number of lines: a longer file is rarely about one noun. */
const MAX_LINES = 600
/** The maximum number of source files directly in a folder. */
const MAX_FILES = 15

/** The folders of pipelines/ that a folder of pipelines/ may import, beside itself. */
const PIPELINES: Readonly<Record<string, readonly string[]>> = {
  chain: [],
  log: [],
  events: [],
  node: ['chain'],
  poll: ['chain', 'events', 'log', 'mempool', 'node'],
  tables: ['chain'],
  materialize: ['chain', 'events', 'log', 'tables'],
  mempool: ['chain', 'log'],
  content: [],
  audit: ['chain', 'log', 'mempool', 'node', 'tables'],
  retrieval: ['content'],
}

/** The folders of services/ that all services may import. */
const SHARED_SERVICES = ['access', 'design', 'http', 'metrics', 'process', 'rpc']

/** The modules that the pure folder may import beside its own. */
const PURE = new Set(['node:crypto', '@scure/base'])

/** Each is imported by one file; a new use is a new method there. */
const DRIVERS = [
  'ipaddr.js',
  '@clickhouse/client',
  '@photostructure/sqlite',
  'ffi-rs',
  'pino',
  'uWebSockets.js',
  'prom-client',
  'kafkajs',
  '@grpc/reflection',
  'grpc-health-check',
  'hnswlib-node',
  'onnxruntime-node',
  '@huggingface/tokenizers',
]

const sources = files.filter((path) => /^(services|pipelines|proto)\/.*\.ts$/.test(path))
const typescript = files.filter((path) => path.endsWith('.ts'))

/** Returns the imports of a file: packages by name, files by their path from the project's root. */
function imports(path: string): string[] {
  const found = (text.get(path) ?? '').matchAll(
    /(?:^|\n)(?:import|export)\s(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/g,
  )
  return [...found].map(([, name = '']) =>
    name.startsWith('.') ? join(dirname(path), name).replace(/\.js$/, '.ts') : name,
  )
}

/** Returns "path:line: advice" for every file that matches a pattern. */
function hits(paths: readonly string[], rules: Readonly<Record<string, RegExp>>): string[] {
  return paths.flatMap((path) => {
    const content = text.get(path) ?? ''
    return Object.entries(rules).flatMap(([advice, pattern]) => {
      const line = content.split('\n').findIndex((each) => pattern.test(each))
      return line < 0 ? [] : [`${path}:${String(line + 1)}: ${advice}`]
    })
  })
}

describe('imports', () => {
  it('are found', () => {
    expect(imports('services/process/logger.ts')).toContain('pino')
    expect(imports('services/engine/engine.ts')).toContain('services/engine/settings.ts')
  })

  it('point one way: services, then pipelines, then proto', () => {
    const wrong = sources.flatMap((path) =>
      imports(path)
        .filter((target) => !mayImport(path, target))
        .map((target) => `${path} → ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('have no cycles', () => {
    expect(cycles()).toEqual([])
  })

  it('of each driver are in one file', () => {
    for (const driver of DRIVERS) {
      const importers = sources.filter((path) => imports(path).includes(driver))
      expect(importers.slice(1), `${driver} is imported by ${String(importers[0])} already`).toEqual([])
    }
  })

  it('of gRPC are in services/rpc', () => {
    const importers = sources.filter((path) => imports(path).includes('@grpc/grpc-js'))
    expect(importers.filter((path) => !path.startsWith('services/rpc/'))).toEqual([])
  })
})

function mayImport(from: string, to: string): boolean {
  const [top = '', folder = ''] = from.split('/')
  const [toTop = '', toFolder = ''] = to.split('/')
  const outside = !/^(services|pipelines|proto|test|bench|deploy)\//.test(to)
  // It is loaded by browsers.
  if (from.startsWith('services/client/')) return to.startsWith('services/client/')
  if (from.startsWith('pipelines/chain/')) return to.startsWith('pipelines/chain/') || PURE.has(to)
  if (outside) return true
  if (top === 'proto') return toTop === 'proto'
  if (top === 'pipelines') {
    if (toTop === 'proto' || /^pipelines\/[a-z-]+\.ts$/.test(to)) return true
    return toTop === 'pipelines' && (toFolder === folder || (PIPELINES[folder] ?? []).includes(toFolder))
  }
  if (toTop === 'services')
    return toFolder === folder || SHARED_SERVICES.includes(toFolder) || /^services\/[a-z-]+\.ts$/.test(to)
  return toTop === 'pipelines' || toTop === 'proto'
}

function cycles(): string[] {
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (done.has(path) || trail.includes(path)) return
    for (const target of imports(path)) if (text.has(target)) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of sources) visit(path, [])
  return found
}

describe('the code', () => {
  it('reads the environment in services/config.ts only', () => {
    const others = sources.filter((path) => path !== 'services/config.ts')
    // An assignment for a library does not read it.
    const reads = /process\.env\b(?!\['\w+'\] = )|process\[['"]env/
    expect(hits(others, { 'declare a setting in services/config.ts': reads })).toEqual([])
  })

  it('suppresses no compiler errors and has no TODO', () => {
    const rules = {
      'give it its type': /@ts-(ignore|nocheck|expect-error)/,
      'do it now or write it into an issue': /\b(TODO|FIXME|XXX)\b/,
      'all tests run': /\b(it|test|describe)\.only\(/,
    }
    expect(
      hits(
        typescript.filter((path) => path !== 'test/tidy.test.ts'),
        rules,
      ),
    ).toEqual([])
  })

  it('names files after nouns of the field', () => {
    expect(typescript.filter((path) => /\b(utils?|helpers?|common|manager|misc)\b/i.test(path))).toEqual([])
  })

  it('keeps files short', () => {
    const long = typescript.filter((path) => (text.get(path) ?? '').split('\n').length > MAX_LINES)
    expect(long).toEqual([])
  })

  it('has at most 15 source files in each folder', () => {
    const counts = new Map<string, number>()
    for (const path of sources.filter((each) => /^(services|pipelines)\//.test(each)))
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
    const crowded = [...counts].filter(([, count]) => count > MAX_FILES)
    expect(crowded, 'make a folder for what belongs together').toEqual([])
  })

  it('names no registry and no path of one machine', () => {
    const rules = {
      'npm knows its registry':
        /registry\.npmjs|pypi\.org|deb\.debian\.org|repo1?\.maven|proxy\.golang|crates\.io/,
      'paths are relative or in os.tmpdir()':
        /\/work\/(main|shared|steering|\.library)|\/home\/\w+\/|\/tmp\/\w/,
    }
    expect(
      hits(
        files.filter((path) => path !== 'test/tidy.test.ts'),
        rules,
      ),
    ).toEqual([])
  })

  it('has its tests where its sources are', () => {
    const tests = files.filter((path) => /^test\/(services|pipelines)\/.*\.test\.ts$/.test(path))
    const stray = tests.filter((path) => {
      const source = dirname(path).slice('test/'.length)
      return !existsSync(join(ROOT, source))
    })
    expect(stray).toEqual([])
  })
})

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

describe('the documents', () => {
  // npm omits packages for other platforms that its registry does not have, and `npm ci` then refuses the whole file.
  it('include a lock file with the packages of every platform', () => {
    const { packages } = JSON.parse(text.get('package-lock.json') ?? '') as {
      packages: Record<string, LockedPackage>
    }
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
      ),
    )
    expect(missing, 'write their entries by hand, version and os and cpu').toEqual([])
  })

  it('include decisions with consecutive numbers', () => {
    const names = readdirSync(join(ROOT, 'content/decisions')).sort()
    names.forEach((name, index) => {
      expect(name).toMatch(new RegExp(`^${String(index + 1).padStart(4, '0')}-[a-z0-9-]+\\.mdx?$`))
    })
  })

  it('list the settings in README.md as they are declared', () => {
    expect(text.get('README.md'), 'paste what settingsTable() of services/config.ts gives').toContain(
      settingsTable(),
    )
  })

  it('link to files that exist', () => {
    const documents = files.filter((path) => path.endsWith('.md') && !path.startsWith('node_modules'))
    const broken = documents.flatMap((path) =>
      [...(text.get(path) ?? '').matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .filter(([, target = '']) => !existsSync(join(ROOT, dirname(path), target)))
        .map(([, target = '']) => `${path} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('name source files that exist', () => {
    const documents = files.filter(
      (path) => /^(content|README|ARCHITECTURE|CONTRIBUTING)/.test(path) && path.endsWith('.md'),
    )
    const unknown = documents.flatMap((path) =>
      [...(text.get(path) ?? '').matchAll(/`([a-z/-]+\.(?:ts|mjs|sql))`/g)]
        .filter(([, named = '']) => !files.some((file) => `/${file}`.endsWith(`/${named}`)))
        .map(([, named = '']) => `${path} → ${named}`),
    )
    expect(unknown).toEqual([])
  })
})
