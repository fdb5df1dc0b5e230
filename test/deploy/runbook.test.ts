import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../../pipelines/errors.js'
import { DECLARED } from './settings.js'
import { text } from './tools.js'

const PAGES = ['content/runbook.md', 'content/scale.md', 'content/cluster.md']
const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> }

/** Names in capitals that are not settings of Headwater. */
const OTHERS = new Set(['EXPLAIN', 'REPLICA_IS_NOT_IN_QUORUM', 'RANKING_TAIL', 'CLICKHOUSE_PASSWORD'])

/** The files that declare the options of commands that are no services. */
const USAGES: Readonly<Record<string, string>> = { bench: 'bench/main.ts', 'check:long': 'bench/long.ts' }

function sources(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => text(join(entry.parentPath, entry.name)))
    .join('\n')
}

describe.each(PAGES)('%s', (path) => {
  const page = text(path)

  it('has a title and a description', () => {
    expect(page).toMatch(/^---\ntitle: .+\ndescription: .+\n---\n/)
  })

  it('names commands that exist, with options that they accept', () => {
    for (const [, name = '', options = ''] of page.matchAll(/npm run ([\w:-]+)(?: -- ([^`\n]*))?/g)) {
      expect(Object.keys(scripts)).toContain(name)
      const usage = USAGES[name] === undefined ? sources(`services/${name}`) : text(USAGES[name])
      for (const option of options.match(/--[\w-]+/g) ?? [])
        expect(usage, `${name} ${option}`).toContain(option)
    }
  })

  it('names settings that exist', () => {
    const named = [...page.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g)].map(([, name = '']) => name)
    const exists = (name: string): boolean => DECLARED.has(name) || OTHERS.has(name) || ERROR_CODES.has(name)
    expect(named.filter((name) => !exists(name))).toEqual([])
  })

  it('links to headings that exist', () => {
    const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replace(/\s/g, '-'),
    )
    for (const [, target] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(headings).toContain(target)
  })
})

describe('the runbook', () => {
  it('quotes lines that the processes log', () => {
    const code = sources('services') + sources('pipelines')
    const quoted = [...text('content/runbook.md').matchAll(/`"([^"`]+)"`/g)].map(([, line = '']) => line)
    expect(quoted.length).toBeGreaterThan(12)
    expect(quoted.filter((line) => !code.includes(line))).toEqual([])
  })
})
