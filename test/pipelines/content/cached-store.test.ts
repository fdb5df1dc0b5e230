import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DraftCache } from '../../../pipelines/content/cache/draft-cache.js'
import { Parser } from '../../../pipelines/content/cache/parser.js'
import { openContent, watchContent, type Content } from '../../../pipelines/content/store.js'
import { until } from '../../harness/until.js'

let folder: string
let cacheFolder: string
let opened: Content[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-content-'))
  cacheFolder = join(folder, '.cache')
  opened = []
})

afterEach(async () => {
  for (const content of opened) content.close()
  await rm(folder, { recursive: true, force: true })
})

const quiet = () => undefined
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const options = () => ({ logger, scanEveryMs: 10, cacheFolder })

const open = async (): Promise<Content> => {
  const content = await openContent(folder, options())
  opened.push(content)
  return content
}

async function writePages(count: number): Promise<void> {
  for (let page = 0; page < count; page++)
    await writeFile(
      join(folder, `page-${String(page).padStart(2, '0')}.md`),
      `# Page ${String(page)}\n\nText.`,
    )
}

/** Counts the files that are parsed: each result is put into the cache. */
const countParsed = () => vi.spyOn(DraftCache.prototype, 'put')

describe('a second start', () => {
  it('has the same pages and parses nothing; it parses what has changed meanwhile', async () => {
    await writePages(12)
    await writeFile(join(folder, 'broken.mdx'), 'text\n\n<Open>')
    const parsed = countParsed()
    const first = await open()
    expect(parsed).toHaveBeenCalledTimes(13)
    first.close()
    const second = await open()
    expect(parsed).toHaveBeenCalledTimes(13)
    expect(second.pages()).toEqual(first.pages())
    expect(second.errors()).toEqual(first.errors())
    expect([second.version, second.pages().length]).toEqual([first.version, 12])
    second.close()
    await writeFile(join(folder, 'page-00.md'), 'New.')
    await rename(join(folder, 'page-01.md'), join(folder, 'renamed.md'))
    const third = await open()
    expect(parsed).toHaveBeenCalledTimes(15)
    expect(third.page('/page-00')?.markdown).toBe('New.')
    expect(third.page('/renamed')?.title).toBe('Page 1')
  })

  it('parses again what is damaged', async () => {
    await writePages(3)
    const first = await open()
    first.close()
    for (const name of await readdir(cacheFolder)) {
      const bytes = await readFile(join(cacheFolder, name))
      await writeFile(join(cacheFolder, name), bytes.subarray(0, bytes.length / 2))
    }
    const parsed = countParsed()
    expect((await open()).pages()).toEqual(first.pages())
    expect(parsed).toHaveBeenCalledTimes(3)
  })
})

describe('several processes', () => {
  it('parse each file once between them, at the start and after changes', async () => {
    await mkdir(join(folder, 'guide'))
    await writeFile(join(folder, 'guide/index.md'), '# Guide')
    await writePages(20)
    const parsed = countParsed()
    const [one, other] = await Promise.all([open(), open()])
    expect(one.pages()).toHaveLength(21)
    expect(other.pages()).toEqual(one.pages())
    expect(parsed).toHaveBeenCalledTimes(21)
    await writeFile(join(folder, 'page-05.md'), 'New.')
    await rm(join(folder, 'page-06.md'))
    await until('both have the change', () =>
      [one, other].every((each) => each.page('/page-05')?.markdown === 'New.' && !each.page('/page-06')),
    )
    expect(other.version).toBe(one.version)
    expect(parsed).toHaveBeenCalledTimes(22)
  })
})

describe('during the first read', () => {
  it('pages that are read are there, and a listener is called at the end', async () => {
    await writePages(5)
    const source = await readFile(join(folder, 'page-03.md'), 'utf8')
    const job = [source, 'page-03.md', []] as const
    const other = new DraftCache(cacheFolder, logger)
    const release = await other.claim(new Parser().key(job))
    const content = watchContent(folder, options())
    opened.push(content)
    expect([content.isComplete, content.pages()]).toEqual([false, []])
    let calls = 0
    content.onChange(() => void calls++)
    await until('four pages are there', () => content.pages().length === 4)
    expect([content.isComplete, calls, content.page('/page-03')]).toEqual([false, 0, undefined])
    expect(content.progress).toMatchObject({ done: 4, total: 5 })
    await release!()
    await content.complete
    expect([content.isComplete, calls, content.pages().length]).toEqual([true, 1, 5])
    expect(content.progress).toMatchObject({ done: 5, total: 5 })
  })

  it('a folder that cannot be read has no pages', async () => {
    const content = await openContent(join(folder, 'missing'), options())
    opened.push(content)
    expect([content.isComplete, content.pages(), content.errors().length]).toEqual([true, [], 1])
  })
})
