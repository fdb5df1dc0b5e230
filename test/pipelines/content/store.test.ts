import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openContent, type Content } from '../../../pipelines/content/store.js'
import { until } from '../../harness/until.js'

let folder: string
let content: Content | undefined
let said: { fields: object; message: string }[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-content-'))
  said = []
})

afterEach(async () => {
  content?.close()
  await rm(folder, { recursive: true, force: true })
})

const quiet = () => undefined

/** Logs for this test only: a scan that is in progress when a test ends may log that its folder is gone. */
function loggerOfTest() {
  const own = said
  const say = (fields: object, message: string) => void own.push({ fields, message })
  return { debug: quiet, info: quiet, warn: say, error: say }
}

async function write(files: Record<string, string>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
}

async function open(files: Record<string, string>): Promise<Content> {
  await write(files)
  content = await openContent(folder, { logger: loggerOfTest(), scanEveryMs: 10 })
  return content
}

const urls = (of: Content) => of.pages().map(({ url }) => url)

describe('the pages of a folder', () => {
  it('have the URLs of their files, and the titles of the folders above them', async () => {
    const opened = await open({
      'index.mdx': '---\ntitle: Home\n---\n',
      'guide/index.md': '# The guide\n',
      'guide/first-steps.md': 'text',
      'guide/deep/in it.md': 'text',
      'guide/notes.txt': 'text',
      '.hidden.md': 'text',
      'node_modules/x/README.md': 'text',
    })
    expect(
      opened.pages().map(({ url, slug, title, breadcrumbs }) => [url, slug, title, breadcrumbs]),
    ).toEqual([
      ['/', '', 'Home', []],
      ['/guide', 'guide', 'The guide', []],
      ['/guide/deep/in%20it', 'guide/deep/in it', 'In it', ['The guide', 'Deep']],
      ['/guide/first-steps', 'guide/first-steps', 'First steps', ['The guide']],
    ])
    expect(opened.page('/guide')?.file).toBe('guide/index.md')
    expect(opened.errors()).toEqual([])
  })

  it('are sorted by `order`, else by name', async () => {
    const opened = await open({
      'a.md': 'x',
      'z.md': '---\norder: 1\n---\n',
      'm/index.md': '---\norder: 2\n---\n',
      'm/b.md': 'x',
      'm/a.md': 'x',
    })
    expect(urls(opened)).toEqual(['/z', '/m', '/m/a', '/m/b', '/a'])
  })

  it('have one URL each', async () => {
    const opened = await open({ 'a.md': 'x', 'a/index.md': 'y' })
    expect(urls(opened)).toEqual(['/a'])
    expect(opened.page('/a')?.markdown).toBe('y')
    expect(opened.errors()).toEqual([{ file: 'a.md', line: 1, message: 'a/index.md already has the URL /a' }])
  })

  it('come from this folder only', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'headwater-outside-'))
    await writeFile(join(outside, 'secret.md'), 'secret')
    await write({ 'real.md': 'inside' })
    await symlink(join(outside, 'secret.md'), join(folder, 'leak.md'))
    await symlink(outside, join(folder, 'leak'))
    await symlink(join(folder, 'real.md'), join(folder, 'alias.md'))
    await symlink(join(folder, 'nowhere.md'), join(folder, 'broken.md'))
    expect(urls(await open({}))).toEqual(['/alias', '/real'])
    await rm(outside, { recursive: true })
  })

  it('are not partials, which are listed', async () => {
    const opened = await open({ 'a.md': 'x', '_b.mdx': 'x', '_parts/c.md': 'x', 'd.shared.mdx': 'x' })
    expect(urls(opened)).toEqual(['/a'])
    expect(opened.partials()).toEqual(['_b.mdx', '_parts/c.md', 'd.shared.mdx'])
  })

  it('have the same version for the same files elsewhere', async () => {
    const files = { 'index.md': '# Home', 'b.md': 'text' }
    const { version } = await open(files)
    content?.close()
    await rm(folder, { recursive: true })
    expect((await open(files)).version).toBe(version)
    content?.close()
    expect((await open({ 'b.md': 'other' })).version).not.toBe(version)
  })
})

describe('an error', () => {
  it('is reported with file and line, and affects no other page', async () => {
    const opened = await open({ 'good.md': 'text', 'bad.mdx': 'one\n\n<Open>', 'worse.md': 'caf\xe9' })
    await writeFile(join(folder, 'binary.md'), Buffer.from([0x61, 0x0a, 0xff]))
    await until('the binary file is reported', () => opened.errors().length === 2)
    expect(urls(opened)).toEqual(['/good', '/worse'])
    expect(opened.errors()).toEqual([
      { file: 'bad.mdx', line: 3, message: expect.stringContaining('closing tag') },
      { file: 'binary.md', line: 2, message: 'it is not UTF-8' },
    ])
    expect(said.map(({ fields }) => fields)).toEqual([
      { code: 'HW_CONTENT_INVALID', file: 'bad.mdx', line: 3 },
      { code: 'HW_CONTENT_INVALID', file: 'binary.md', line: 2 },
    ])
  })

  it('is reported for a file that exceeds the limits, and affects neither the process nor another page', async () => {
    const opened = await open({
      'good.md': 'text',
      'large.md': 'x'.repeat(2 ** 20 + 1),
      'stars.md': '*a '.repeat(340_000),
    })
    expect(urls(opened)).toEqual(['/good'])
    expect(opened.errors()).toEqual([
      { file: 'large.md', line: 1, message: 'it is larger than 1048576 bytes' },
      { file: 'stars.md', line: 1, message: expect.stringContaining('too much memory') },
    ])
    await write({ 'late.md': 'text' })
    await until('the next page is read', () => opened.page('/late'))
  })

  it('keeps the previous version of the page until it is fixed', async () => {
    const opened = await open({ 'page.mdx': 'first' })
    await write({ 'page.mdx': 'second <Open>' })
    await until('the error is reported', () => opened.errors().length === 1)
    expect(opened.page('/page')?.markdown).toBe('first')
    await write({ 'page.mdx': 'third' })
    await until('it is fixed', () => opened.page('/page')?.markdown === 'third')
    expect(opened.errors()).toEqual([])
  })

  it('of the folder itself keeps all pages; a folder that appears later is read', async () => {
    await rm(folder, { recursive: true })
    content = await openContent(folder, { logger: loggerOfTest(), scanEveryMs: 10 })
    const opened = content
    expect(urls(opened)).toEqual([])
    expect(opened.errors()).toMatchObject([{ file: '.', message: expect.stringContaining('cannot be read') }])
    await write({ 'late.md': 'text' })
    await until('it is read', () => opened.page('/late'))
    expect(opened.errors()).toEqual([])
    await rename(folder, `${folder}-moved`)
    await until('it is missed', () => opened.errors().length === 1)
    expect(urls(opened)).toEqual(['/late'])
    await rm(`${folder}-moved`, { recursive: true })
  })
})

describe('while it runs', () => {
  it('adds, changes, moves and removes pages, and reports each change', async () => {
    const opened = await open({ 'a.md': 'one' })
    const versions = [opened.version]
    const end = opened.onChange(() => void versions.push(opened.version))
    await write({ 'b.md': 'new' })
    await until('the new page', () => opened.page('/b'))
    await write({ 'a.md': 'two' })
    await until('the change', () => opened.page('/a')?.markdown === 'two')
    await rename(join(folder, 'a.md'), join(folder, 'c.md'))
    await until('the new name', () => opened.page('/c') !== undefined && opened.page('/a') === undefined)
    await rm(join(folder, 'b.md'))
    await until('the end', () => opened.page('/b') === undefined)
    end()
    expect(new Set(versions).size).toBe(versions.length)
    expect(versions.length).toBeGreaterThanOrEqual(5)
    expect(urls(opened)).toEqual(['/c'])
  })

  it('reads a page again when a file that it includes changes, appears or disappears', async () => {
    const opened = await open({ 'page.md': 'Text.\n\n<!-- @include: ./_part.md -->', '_part.md': 'one' })
    const shows = (markdown: string) => () => opened.page('/page')?.markdown === markdown
    expect(shows('Text.\n\none')()).toBe(true)
    await write({ '_part.md': 'two' })
    await until('the change', shows('Text.\n\ntwo'))
    await rm(join(folder, '_part.md'))
    await until('the end', shows('Text.'))
    expect(opened.findings()).toMatchObject([{ kind: 'include', file: 'page.md', line: 3 }])
    await write({ '_part.md': 'three' })
    await until('the return', shows('Text.\n\nthree'))
    expect(opened.findings()).toEqual([])
  })

  it('resolves links again when pages appear and disappear, and logs those that lead nowhere', async () => {
    const opened = await open({ 'a.md': '[b](./b.md)' })
    expect(opened.findings()).toMatchObject([{ kind: 'link', file: 'a.md', line: 1 }])
    expect(said).toMatchObject([
      { fields: { file: 'a.md', count: 1, findings: ['1: ./b.md leads to no page'] } },
    ])
    await write({ '1-b.md': 'text' })
    await until('it is found', () => opened.page('/a')?.markdown === '[b](/1-b)')
    expect(opened.findings()).toEqual([])
    expect(opened.pageByAlias('b')?.url).toBe('/1-b')
  })

  it('logs an expression that is left out once for each component', async () => {
    await open({ 'a.mdx': '<One x={a()} />\n\n<Two x={a()} />', 'b.mdx': '<One x={b()} />' })
    expect(said.map(({ fields }) => fields)).toEqual([
      { component: 'One', file: 'a.mdx', line: 1 },
      { component: 'Two', file: 'a.mdx', line: 3 },
    ])
  })

  it('publishes a set of files that are written together at once', async () => {
    const opened = await open({ 'index.md': 'v0' })
    const seen = new Set<string>()
    opened.onChange(
      () =>
        void seen.add(
          opened
            .pages()
            .map(({ markdown }) => markdown)
            .join(' '),
        ),
    )
    await write(Object.fromEntries(['index', 'a', 'b', 'c', 'd'].map((name) => [`${name}.md`, 'v1'])))
    await until('all are there', () => opened.pages().length === 5)
    expect([...seen]).toEqual(['v1 v1 v1 v1 v1'])
  })
})
