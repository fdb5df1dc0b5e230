import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { readAnalysed, writeAnalysed } from '../../../../pipelines/retrieval/disk/analysed-pages.js'
import { PageIndexer, Snapshot } from '../../../../pipelines/retrieval/index/snapshot.js'
import { Lexicon } from '../../../../pipelines/retrieval/words/lexicon.js'
import { pageOf } from '../pages.js'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-analysed-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const PAGES = ['alpha', 'beta', 'gamma'].map((word) =>
  pageOf(`/${word}`, { text: `About the ${word}.`, parts: [['More', `A \`${word}_name\` is a ${word}.`]] }),
)

const snapshotOf = (indexer: PageIndexer, pages = PAGES) =>
  new Snapshot('1', indexer.index(pages), indexer.lexicon)

it('stored pages are not analysed again, and the index is the same', async () => {
  const first = new PageIndexer()
  const pages = first.index(PAGES)
  expect(first.unstored).toBe(1)
  await writeAnalysed(folder, first.toStore())
  expect(first.unstored).toBe(0)
  const second = new PageIndexer(await readAnalysed(folder))
  const numbered = vi.spyOn(Lexicon.prototype, 'number')
  await second.prepare(PAGES)
  expect(second.index(PAGES)).toEqual(pages)
  expect(second.lexicon.terms()).toEqual(first.lexicon.terms())
  expect(numbered).not.toHaveBeenCalled()
  expect(second.unstored).toBe(0)
})

it('a changed page is analysed, with numbers for new terms', async () => {
  const first = new PageIndexer()
  snapshotOf(first)
  await writeAnalysed(folder, first.toStore())
  const changed = [...PAGES.slice(1), pageOf('/alpha', { text: 'About the delta.' })]
  const second = new PageIndexer(await readAnalysed(folder))
  await second.prepare(changed)
  expect(second.unstored).toBeCloseTo(1 / 3)
  const { lexicon, pageIndex } = snapshotOf(second, changed)
  for (const [term, page] of [
    ['beta', 0],
    ['gamma', 1],
    ['delta', 2],
  ] as const)
    expect(
      pageIndex.rank([{ id: lexicon.find(term), weight: 1 }], 10).map(({ document }) => document),
    ).toEqual([page])
})

it('a file that is incomplete, altered or missing is not read', async () => {
  const indexer = new PageIndexer()
  snapshotOf(indexer)
  await writeAnalysed(folder, indexer.toStore())
  const path = join(folder, 'words')
  const bytes = await readFile(path)
  for (const at of [0, 31, 32, 63, 64, bytes.length - 1]) {
    const altered = Buffer.from(bytes)
    altered[at]! ^= 1
    await writeFile(path, altered)
    expect(await readAnalysed(folder), String(at)).toBeUndefined()
    await truncate(path, at)
    expect(await readAnalysed(folder), String(at)).toBeUndefined()
  }
  await rm(path)
  expect(await readAnalysed(folder)).toBeUndefined()
})
