import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Page } from '../../../pipelines/content/page.js'
import type { Logger } from '../../../pipelines/logger.js'
import { type Library, type Lookup, Retrieval } from '../../../pipelines/retrieval/retrieval.js'
import { rankPages } from '../../../pipelines/retrieval/search.js'
import { until } from '../../harness/until.js'
import { FakeModel } from './fake-model.js'
import { pageOf } from './pages.js'

class FakeLibrary implements Library {
  version = '0'
  #pages: readonly Page[]
  #listener: () => void = () => undefined

  constructor(pages: readonly Page[]) {
    this.#pages = pages
  }

  pages(): readonly Page[] {
    return this.#pages
  }

  onChange(listener: () => void): () => void {
    this.#listener = listener
    return () => undefined
  }

  change(pages: readonly Page[]): void {
    this.#pages = pages
    this.version = String(Number(this.version) + 1)
    this.#listener()
  }
}

const PAGES = ['alpha', 'beta', 'gamma'].map((word) =>
  pageOf(`/${word}`, {
    title: word,
    text: `About ${word}.`,
    parts: [['More', `The ${word} of ${word}s, and what a ${word} is.`]],
  }),
)
const CHUNKS = 6

let folder: string
let said: string[]
let opened: Retrieval[]

const logger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (fields, message) => void said.push(`${message} ${JSON.stringify(fields)}`),
  error: (_, message) => void said.push(message),
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-retrieval-'))
  said = []
  opened = []
})

afterEach(async () => {
  for (const each of opened) await each.close()
  await rm(folder, { recursive: true, force: true })
})

async function open(library: Library, model: FakeModel): Promise<Retrieval> {
  const retrieval = await Retrieval.open({ library, model, folder, logger })
  opened.push(retrieval)
  return retrieval
}

const first = ({ snapshot, parsed }: Lookup): string | undefined => {
  const best = rankPages(snapshot, parsed)[0]
  return best === undefined ? undefined : snapshot.pages[best.document]?.page.url
}

const ready = (retrieval: Retrieval): Promise<boolean> =>
  until(
    'meaning is searched',
    () => retrieval.status().semantic === 'ready' && !retrieval.status().indexStale,
  )

describe('without a model', () => {
  it('answers by words, reports that, and follows the content', async () => {
    const library = new FakeLibrary(PAGES)
    const model = new FakeModel()
    model.go()
    const retrieval = await open(library, model)
    const looked = await retrieval.lookUp('beta')
    expect([looked.ranking, first(looked)]).toEqual(['lexical', '/beta'])
    expect(retrieval.status()).toMatchObject({
      semantic: 'unavailable',
      reason: 'gone for a test',
      pages: 3,
      chunks: CHUNKS,
    })
    library.change([...PAGES, pageOf('/delta', { text: 'A delta.' })])
    await until('the page is found', async () => first(await retrieval.lookUp('delta')) === '/delta')
  })
})

/** Opens an index and waits until it is complete. */
async function complete() {
  const [library, model] = [new FakeLibrary(PAGES), new FakeModel()]
  const retrieval = await open(library, model)
  model.come()
  await ready(retrieval)
  return { library, model, retrieval }
}

/** Adds a page, and waits until the model works on it. @returns a function that lets it end. */
async function beginChange(
  library: FakeLibrary,
  model: FakeModel,
  retrieval: Retrieval,
): Promise<() => void> {
  let release = (): void => undefined
  model.gate = new Promise((resolve) => {
    release = resolve
  })
  library.change([...PAGES, pageOf('/delta', { text: 'A delta.' })])
  await until('it works on it', () => retrieval.status().embedding.total > 0)
  return release
}

describe('with a model', () => {
  it('uses it as soon as it is available, works without it when it fails, and uses it again without embedding anything again', async () => {
    const model = new FakeModel()
    const retrieval = await open(new FakeLibrary(PAGES), model)
    expect(retrieval.status().semantic).toBe('loading')
    model.come()
    await ready(retrieval)
    expect((await retrieval.lookUp('what a beta is')).ranking).toBe('hybrid')
    expect(model.passages).toHaveLength(CHUNKS)
    model.go()
    expect(retrieval.status().semantic).toBe('unavailable')
    expect((await retrieval.lookUp('beta')).ranking).toBe('lexical')
    model.come()
    await ready(retrieval)
    expect((await retrieval.lookUp('beta')).ranking).toBe('hybrid')
    expect(model.passages).toHaveLength(CHUNKS)
  })

  it('returns the similarity of any chunk, even beyond the nearest ones', async () => {
    const { retrieval } = await complete()
    const { similarity, parsed } = await retrieval.lookUp('what a beta is', ({ url }) => url === '/beta')
    for (const { document, score } of parsed.dense ?? []) expect(similarity?.(document)).toBeCloseTo(score, 5)
    const all = Array.from({ length: CHUNKS }, (_, chunk) => similarity?.(chunk) ?? -1)
    expect(parsed.dense!.length).toBeLessThan(CHUNKS)
    expect(Math.max(...all)).toBeCloseTo(parsed.dense![0]!.score, 5)
    expect(Math.min(...all)).toBeGreaterThan(-1)
    expect(similarity?.(CHUNKS)).toBeUndefined()
  })

  it('embeds everything again for another model', async () => {
    const model = new FakeModel()
    const retrieval = await open(new FakeLibrary(PAGES), model)
    model.come('one')
    await ready(retrieval)
    model.go()
    model.come('two')
    expect((await retrieval.lookUp('beta')).ranking).toBe('lexical')
    await ready(retrieval)
    expect(model.passages).toHaveLength(2 * CHUNKS)
  })

  it('embeds only what has changed; a page that was moved is not embedded again', async () => {
    const { library, model, retrieval } = await complete()
    const [alpha, beta] = PAGES as [Page, Page]
    const changed = pageOf('/alpha', {
      title: 'alpha',
      text: 'About alpha.',
      parts: [['More', 'Something else.']],
    })
    const moved = { ...beta, url: '/moved' }
    library.change([changed, moved])
    await ready(retrieval)
    expect(model.passages.slice(CHUNKS)).toEqual(['alpha > More\nSomething else.'])
    expect(first(await retrieval.lookUp('what a beta is'))).toBe('/moved')
    expect(retrieval.status()).toMatchObject({ pages: 2, chunks: 4 })
    library.change([alpha, beta])
    await ready(retrieval)
    expect(first(await retrieval.lookUp('what a beta is'))).toBe('/beta')
  })

  it('answers from the old index until the new one is complete', async () => {
    const { library, model, retrieval } = await complete()
    const release = await beginChange(library, model, retrieval)
    const before = await retrieval.lookUp('delta')
    expect([
      before.ranking,
      before.snapshot.version,
      rankPages(before.snapshot, { question: before.parsed.question }),
    ]).toEqual(['hybrid', '0', []])
    expect(retrieval.status().indexStale).toBe(true)
    release()
    await ready(retrieval)
    expect(first(await retrieval.lookUp('delta'))).toBe('/delta')
  })

  it('searches the words of a change if the model fails meanwhile', async () => {
    const { library, model, retrieval } = await complete()
    const release = await beginChange(library, model, retrieval)
    model.go()
    release()
    await until('the page is found', async () => first(await retrieval.lookUp('delta')) === '/delta')
    expect((await retrieval.lookUp('delta')).ranking).toBe('lexical')
    model.come()
    await ready(retrieval)
    expect((await retrieval.lookUp('delta')).ranking).toBe('hybrid')
  })

  it('never shows half a change while pages are added, changed, moved and removed', async () => {
    const { library, retrieval } = await complete()
    let over = false
    let answers = 0
    const client = async (): Promise<void> => {
      while (!over) {
        const { snapshot, parsed } = await retrieval.lookUp('generation of alpha')
        const generations = new Set(
          snapshot.chunks.map(({ markdown }) => /generation (\d+)/.exec(markdown)?.[1]),
        )
        expect(generations.size).toBe(1)
        for (const { document } of parsed.dense ?? []) expect(snapshot.chunks[document]).toBeDefined()
        expect(rankPages(snapshot, parsed).every(({ document }) => document < snapshot.pages.length)).toBe(
          true,
        )
        answers++
        await new Promise(setImmediate)
      }
    }
    // All pages are of one generation at a time.
    const generation = (number: number): Page[] =>
      Array.from({ length: 5 + (number % 3) }, (_, at) =>
        pageOf(`/${String(number % 2)}/${String(at)}`, {
          text: `alpha in generation ${String(number)}, page ${String(at)}`,
        }),
      )
    library.change(generation(0))
    await ready(retrieval)
    const clients = [client(), client(), client()]
    for (let number = 1; number <= 40; number++) {
      library.change(generation(number))
      const seen = answers
      await until('clients continued', () => answers > seen)
    }
    await ready(retrieval)
    over = true
    await Promise.all(clients)
    const looked = await retrieval.lookUp('alpha')
    expect(looked.snapshot.pages).toHaveLength(generation(40).length)
    expect(looked.parsed.dense).toHaveLength(generation(40).length)
    expect(said).toEqual([])
  })
})

describe('embedding many passages', () => {
  // Each takes a large part of what is embedded at once.
  const LONG = Array.from({ length: 40 }, (_, number) =>
    pageOf(`/${String(number)}`, { text: `Page ${String(number)}: ${'word '.repeat(100 + number)}end` }),
  )

  it('goes by length, reports its progress, and continues where a killed process was', async () => {
    let free = (): void => undefined
    const freed = new Promise<void>((resolve) => {
      free = resolve
    })
    const model = new FakeModel()
    Object.defineProperty(model, 'gate', {
      get: () => (model.passages.length < 20 ? Promise.resolve() : freed),
    })
    const killed = await open(new FakeLibrary(LONG), model)
    try {
      model.come()
      await until('it is stopped', () => killed.status().embedding.done >= 20)
      expect(killed.status().embedding).toMatchObject({ done: model.passages.length, total: 40 })
      const lengths = model.passages.map(({ length }) => length)
      expect(lengths).toEqual(lengths.toSorted((a, b) => b - a))
      expect(lengths.length).toBeLessThan(40)
      const next = new FakeModel()
      const retrieval = await open(new FakeLibrary(LONG), next)
      next.come()
      await ready(retrieval)
      expect([...model.passages, ...next.passages].sort()).toEqual(
        LONG.map(({ title, markdown }) => `${title}\n${markdown}`).sort(),
      )
    } finally {
      free()
    }
  })

  it('works without a folder that can be written, and reports that once for each purpose', async () => {
    await writeFile(join(folder, 'file'), '')
    const model = new FakeModel()
    const options = { library: new FakeLibrary(LONG), model, folder: join(folder, 'file', 'index'), logger }
    const retrieval = await Retrieval.open(options)
    opened.push(retrieval)
    model.come()
    await ready(retrieval)
    await retrieval.settled()
    expect((await retrieval.lookUp('page')).ranking).toBe('hybrid')
    const reported = said.map((line) => /vectors|saving the index|analysed pages/.exec(line)?.[0])
    expect(reported.sort()).toEqual(['analysed pages', 'saving the index', 'vectors'])
  })
})

describe('the index on disk', () => {
  async function build(): Promise<void> {
    const { retrieval } = await complete()
    await retrieval.settled()
    await retrieval.close()
  }

  /** The number of passages that a start embeds. */
  async function embeddedAtStart(pages: readonly Page[] = PAGES, checksum = 'one'): Promise<number> {
    const model = new FakeModel()
    const library = new FakeLibrary(pages)
    if (pages !== PAGES) library.version = '1'
    const retrieval = await open(library, model)
    model.come(checksum)
    await ready(retrieval)
    expect(first(await retrieval.lookUp('what a gamma is'))).toBe('/gamma')
    await retrieval.settled()
    await retrieval.close()
    return model.passages.length
  }

  const current = async (): Promise<string> => join(folder, await readFile(join(folder, 'current'), 'utf8'))

  it('is used as it is, and reports its age', async () => {
    await build()
    const model = new FakeModel()
    const before = Date.now()
    const retrieval = await open(new FakeLibrary(PAGES), model)
    expect(retrieval.status().indexBuiltMs).toBeLessThanOrEqual(before)
    expect(await embeddedAtStart()).toBe(0)
    expect(said).toEqual([])
  })

  it('is updated if the content changed meanwhile', async () => {
    await build()
    expect(await embeddedAtStart([...PAGES, pageOf('/delta', { text: 'A delta.' })])).toBe(1)
    expect(await readdir(folder)).toHaveLength(3)
  })

  it('is built again for another model', async () => {
    await build()
    expect(await embeddedAtStart(PAGES, 'two')).toBe(CHUNKS)
    expect(said.join()).toContain('it was made with another model')
  })

  it.each([
    ['a cut off graph', async (): Promise<void> => truncate(join(await current(), 'graph.hnsw'), 5_000)],
    ['a missing graph', async (): Promise<void> => rm(join(await current(), 'graph.hnsw'))],
    ['a cut off manifest', async (): Promise<void> => truncate(join(await current(), 'manifest.json'), 100)],
    [
      'a foreign manifest',
      async (): Promise<void> =>
        writeFile(join(await current(), 'manifest.json'), '{"format":1,"name":"something else"}'),
    ],
    [
      'a manifest of another format',
      async (): Promise<void> => alterManifest((manifest) => ({ ...manifest, format: 99 })),
    ],
    [
      'a manifest of another analysis',
      async (): Promise<void> => alterManifest((manifest) => ({ ...manifest, analysis: 0 })),
    ],
    [
      'a manifest of other chunks',
      async (): Promise<void> => alterManifest((manifest) => ({ ...manifest, chunks: [] })),
    ],
    [
      'a manifest of labels that the graph does not have',
      async (): Promise<void> =>
        alter('manifest.json', (bytes) => {
          const manifest = JSON.parse(bytes.toString()) as { chunks: [string, string, number][] }
          const chunks = manifest.chunks.map(([id, hash]) => [id, hash, 99_999])
          return Buffer.from(JSON.stringify({ ...manifest, chunks }))
        }),
    ],
    [
      'an altered graph',
      async (): Promise<void> => alter('graph.hnsw', (bytes) => bytes.fill(255, bytes.length - 8)),
    ],
    ['a pointer to nowhere', async (): Promise<void> => writeFile(join(folder, 'current'), 'nowhere')],
    ['a pointer elsewhere', async (): Promise<void> => writeFile(join(folder, 'current'), '../..')],
    ['an empty pointer', async (): Promise<void> => writeFile(join(folder, 'current'), '')],
  ])('is built again after %s', async (_, damage) => {
    await build()
    await damage()
    expect(await embeddedAtStart()).toBe(CHUNKS)
    expect(said.join()).toContain('index on disk unusable, rebuilding it')
    said = []
    expect(await embeddedAtStart()).toBe(0)
  })

  async function alter(file: string, change: (bytes: Buffer) => Uint8Array): Promise<void> {
    const path = join(await current(), file)
    await writeFile(path, change(await readFile(path)))
  }

  async function alterManifest(change: (manifest: object) => object): Promise<void> {
    await alter('manifest.json', (bytes) =>
      Buffer.from(JSON.stringify(change(JSON.parse(bytes.toString()) as object))),
    )
  }
})
