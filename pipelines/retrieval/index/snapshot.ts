import { setImmediate as turn } from 'node:timers/promises'
import type { Page } from '../../content/page.js'
import { Bm25 } from '../words/bm25.js'
import { type Chunk, chunksOf } from './chunk.js'
import { type IndexedText, indexText } from './indexed-text.js'
import { type Bag, bagOf, fieldOf, Lexicon } from '../words/lexicon.js'

/** The weights of titles, and of headings, descriptions and tags, if text weighs 1. They were fixed before any judgement was read. */
const TITLE_WEIGHT = 3
const HEADING_WEIGHT = 2

/** A page with its chunks, analysed. It is made again only if the page changes. */
export interface IndexedPage {
  readonly page: Page
  readonly chunks: readonly Chunk[]
  readonly texts: readonly IndexedText[]
  readonly chunkBags: readonly Bag[]
  readonly bag: Bag
  /** The words of the title, as `keyOf` joins them. */
  readonly title: string
  /** The words of the heading above each chunk; empty if there is none. */
  readonly headings: readonly string[]
}

/** Analysed pages by their key, and the terms of the lexicon that their numbers are from. */
export interface AnalysedPages {
  readonly terms: readonly string[]
  readonly pages: ReadonlyMap<string, Omit<IndexedPage, 'page'>>
}

const NOTHING: AnalysedPages = { terms: [], pages: new Map() }
/** The number of terms that no page has any more from which a lexicon is not stored: it would grow with every change. */
const MAX_UNUSED_TERMS = 20_000

/** All data of a lexical search. It is immutable, so an answer describes one state. */
export class Snapshot {
  readonly chunks: readonly Chunk[]
  /** The texts of the chunks, by number of the chunk. */
  readonly texts: readonly IndexedText[]
  readonly chunkIndex: Bm25
  readonly pageIndex: Bm25
  readonly #pageOf: Uint32Array
  readonly #sectionOf: Uint32Array
  readonly #bags: readonly Bag[]
  /** The first chunk under each title and heading, by its words; `SEVERAL` if several pages have it. */
  readonly #headed = new Map<string, number>()

  constructor(
    /** Version of the content. */
    readonly version: string,
    readonly pages: readonly IndexedPage[],
    readonly lexicon: Lexicon,
  ) {
    this.chunks = pages.flatMap(({ chunks }) => chunks)
    this.texts = pages.flatMap(({ texts }) => texts)
    this.#bags = pages.flatMap(({ chunkBags }) => chunkBags)
    this.#pageOf = Uint32Array.from(pages.flatMap(({ chunks }, page) => chunks.map(() => page)))
    this.#sectionOf = sectionsOf(pages)
    this.#addHeadings()
    this.chunkIndex = new Bm25(this.#bags, lexicon.size)
    this.pageIndex = new Bm25(
      pages.map(({ bag }) => bag),
      lexicon.size,
    )
  }

  /** Returns the number of a chunk's page. */
  readonly pageOf = (chunk: number): number => this.#pageOf[chunk] ?? 0

  /** Returns the number of a chunk's section: the chunks of a page under the same heading. */
  readonly sectionOf = (chunk: number): number => this.#sectionOf[chunk] ?? 0

  /**
   * Returns the first chunk under the title or heading that consists of the words of a text; undefined if there is none, or if several
   * pages have it. A title comes before headings of other pages.
   */
  chunkHeaded(text: string): number | undefined {
    const chunk = this.#headed.get(keyOf(text))
    return chunk === SEVERAL ? undefined : chunk
  }

  #addHeadings(): void {
    const add = (key: string, chunk: number): void => {
      const other = this.#headed.get(key)
      if (key === '' || (other !== undefined && this.pageOf(other) === this.pageOf(chunk))) return
      this.#headed.set(key, other === undefined ? chunk : SEVERAL)
    }
    let first = 0
    for (const { title, chunks } of this.pages) {
      add(title, first)
      first += chunks.length
    }
    const titles = new Set(this.#headed.keys())
    const headings = this.pages.flatMap((page) => page.headings)
    for (const [chunk, key] of headings.entries()) if (!titles.has(key)) add(key, chunk)
  }

  /** Returns the words of a chunk, including the titles above it. */
  bagOf(chunk: number): Bag | undefined {
    return this.#bags[chunk]
  }

  /** Returns whether the chunk, including the titles above it, contains the term. */
  has(chunk: number, term: number | undefined): boolean {
    return term !== undefined && this.#bags[chunk]?.terms.includes(term) === true
  }
}

const SEVERAL = -1

/** Returns the words of a text in lower case, without punctuation. */
const keyOf = (text: string): string => (text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).join(' ')

/** The time for which pages are analysed in one turn of the event loop. */
const TURN_MS = 20

/** Returns the number of each chunk's section. A heading id occurs once per page. */
function sectionsOf(pages: readonly IndexedPage[]): Uint32Array {
  const numbers = new Map<string, number>()
  const keys = pages.flatMap(({ chunks }, page) =>
    chunks.map(({ headingId }) => `${String(page)} ${headingId}`),
  )
  return Uint32Array.from(keys, (key) => {
    const number = numbers.get(key) ?? numbers.size
    numbers.set(key, number)
    return number
  })
}

/** Analyses pages. Those of the previous call are not analysed again. */
export class PageIndexer {
  readonly lexicon: Lexicon
  #pages = new Map<string, IndexedPage>()
  /** Pages that an earlier process has analysed. */
  #stored: AnalysedPages['pages']
  #unstored = 0

  /** @param stored analysed pages of an earlier process. */
  constructor(stored = NOTHING) {
    this.lexicon = new Lexicon(stored.terms)
    this.#stored = stored.pages
  }

  /** Share of the pages that were analysed since the last call of `toStore`. */
  get unstored(): number {
    return this.#unstored / Math.max(1, this.#pages.size)
  }

  /** Returns the current pages in the form in which they are stored. */
  toStore(): AnalysedPages {
    this.#unstored = 0
    const terms = new Set([...this.#pages.values()].flatMap(({ bag }) => [...bag.terms]))
    if (this.lexicon.size - terms.size > MAX_UNUSED_TERMS) return NOTHING
    const pages = new Map([...this.#pages].map(([name, { page: _, ...analysed }]) => [name, analysed]))
    return { terms: this.lexicon.terms(), pages }
  }

  /** Analyses pages for a later call of `index`, in short turns: meanwhile other work of the process continues. */
  async prepare(pages: readonly Page[]): Promise<void> {
    let from = performance.now()
    for (const page of pages) {
      if (this.#pages.has(key(page))) continue
      this.#pages.set(key(page), this.#indexed(page))
      if (performance.now() - from < TURN_MS) continue
      await turn()
      from = performance.now()
    }
    this.#stored = new Map()
  }

  index(pages: readonly Page[]): IndexedPage[] {
    const indexed = pages.map((page) => this.#pages.get(key(page)) ?? this.#indexed(page))
    this.#pages = new Map(indexed.map((each) => [key(each.page), each]))
    return indexed
  }

  #indexed(page: Page): IndexedPage {
    const stored = this.#stored.get(key(page))
    if (stored !== undefined) return { page, ...stored }
    this.#unstored++
    return indexPage(page, this.lexicon)
  }
}

const key = ({ url, hash }: Page): string => `${hash} ${url}`

function indexPage(page: Page, lexicon: Lexicon): IndexedPage {
  const field = (text: string, weight: number): ReturnType<typeof fieldOf> => fieldOf(text, weight, lexicon)
  const chunks = chunksOf(page)
  const texts = chunks.map(({ markdown }) => indexText(markdown, lexicon))
  const bodies = texts.map(({ terms, words }) => ({ terms, words, weight: 1 }))
  const chunkBags = chunks.map(({ path }, at) =>
    bagOf([...[page.title, ...path].map((text) => field(text, 1)), ...bodies.slice(at, at + 1)]),
  )
  const headings = page.sections.map(({ path }) => path.at(-1) ?? '')
  const bag = bagOf([
    field(page.title, TITLE_WEIGHT),
    // The description is part of a chunk too.
    field(page.description ?? '', HEADING_WEIGHT - 1),
    ...[...page.tags, ...headings].map((text) => field(text, HEADING_WEIGHT)),
    ...bodies,
  ])
  const above = chunks.map(({ path }) => keyOf(path.at(-1) ?? ''))
  return { page, chunks, texts, chunkBags, bag, title: keyOf(page.title), headings: above }
}
