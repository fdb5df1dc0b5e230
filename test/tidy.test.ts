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

const sources = files.filter((path) => /^(services|pipelines|proto)\/.*\.ts$/.test(path))
const typescript = files.filter((path) => path.endsWith('.ts'))

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

describe('the code', () => {
  it('reads the environment in services/config.ts only', () => {
    const others = sources.filter((path) => path !== 'services/config.ts')
    // An assignment for a library does not read it.
    const reads = /process\.env\b(?!\['\w+'\] = )|process\[['"]env/
    expect(hits(others, { 'declare a setting in services/config.ts': reads })).toEqual([])
  })

  it('has no word of HTTP in the core of the explorer', () => {
    const core = sources.filter((path) => path.startsWith('services/explorer/core/'))
    const rules = {
      'a face or services/explorer/http knows it': /\bHTTP\b|content-type|accept-encoding|if-none-match/,
      'the core knows no transport': /from '(node:https?|ws|uWebSockets\.js|.*\/(http|rpc|design)\/.*)'/,
    }
    expect(hits(core, rules)).toEqual([])
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
