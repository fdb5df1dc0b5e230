import type { Page } from '../content/page.js'
import { Bm25 } from './bm25.js'
import { type Chunk, chunksOf } from './chunk.js'
import { type Bag, bagOf, type Field, Lexicon } from './lexicon.js'

/** What a title, a heading and a description count against the text; fixed before any judgement was looked at. */
const TITLE_WEIGHT = 3
const HEADING_WEIGHT = 2

/** A page with its chunks, analysed: made again only when the page changes. */
export interface IndexedPage {
  readonly page: Page
  readonly chunks: readonly Chunk[]
  readonly chunkBags: readonly Bag[]
  readonly bag: Bag
}

/** Everything that a lexical search reads: it never changes, so an answer is of one state. */
export class Snapshot {
  readonly chunks: readonly Chunk[]
  readonly chunkIndex: Bm25
  readonly pageIndex: Bm25
  readonly #pageOf: Uint32Array
  readonly #bags: readonly Bag[]

  constructor(
    /** Of the content that it was made of. */
    readonly version: string,
    readonly pages: readonly IndexedPage[],
    readonly lexicon: Lexicon,
  ) {
    this.chunks = pages.flatMap(({ chunks }) => chunks)
    this.#bags = pages.flatMap(({ chunkBags }) => chunkBags)
    this.#pageOf = Uint32Array.from(pages.flatMap(({ chunks }, page) => chunks.map(() => page)))
    this.chunkIndex = new Bm25(this.#bags, lexicon.size)
    this.pageIndex = new Bm25(
      pages.map(({ bag }) => bag),
      lexicon.size,
    )
  }

  /** The number of a chunk's page. */
  readonly pageOf = (chunk: number): number => this.#pageOf[chunk] ?? 0

  /** Whether the chunk, the titles above it included, has the term. */
  has(chunk: number, term: number | undefined): boolean {
    return term !== undefined && this.#bags[chunk]?.terms.includes(term) === true
  }
}

/** Analyses pages; those it has seen the last time cost nothing. */
export class PageIndexer {
  readonly lexicon = new Lexicon()
  #known = new Map<string, IndexedPage>()

  index(pages: readonly Page[]): IndexedPage[] {
    const indexed = pages.map((page) => this.#known.get(key(page)) ?? indexPage(page, this.lexicon))
    this.#known = new Map(indexed.map((each) => [key(each.page), each]))
    return indexed
  }
}

const key = ({ url, hash }: Page): string => `${hash} ${url}`

function indexPage(page: Page, lexicon: Lexicon): IndexedPage {
  const chunks = chunksOf(page)
  const chunkBags = chunks.map(({ path, markdown }) =>
    bagOf([page.title, ...path, markdown].map(once), lexicon),
  )
  return { page, chunks, chunkBags, bag: bagOf(fieldsOf(page), lexicon) }
}

const once = (text: string): Field => ({ text, weight: 1 })

function fieldsOf(page: Page): Field[] {
  const headings = page.sections.map(({ path }) => path.at(-1) ?? '')
  return [
    { text: page.title, weight: TITLE_WEIGHT },
    ...[page.description ?? '', ...page.tags, ...headings].map((text) => ({ text, weight: HEADING_WEIGHT })),
    ...page.sections.map(({ markdown }) => once(markdown)),
  ]
}
