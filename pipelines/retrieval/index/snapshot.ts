import type { Page } from '../../content/page.js'
import { Bm25 } from '../words/bm25.js'
import { type Chunk, chunksOf } from './chunk.js'
import { type IndexedText, indexText } from '../words/indexed-text.js'
import { type Bag, bagOf, fieldOf, Lexicon } from '../words/lexicon.js'

/** What a title, a heading and a description count against the text; fixed before any judgement was looked at. */
const TITLE_WEIGHT = 3
const HEADING_WEIGHT = 2

/** A page with its chunks, analysed: made again only when the page changes. */
export interface IndexedPage {
  readonly page: Page
  readonly chunks: readonly Chunk[]
  readonly texts: readonly IndexedText[]
  readonly chunkBags: readonly Bag[]
  readonly bag: Bag
}

/** Everything that a lexical search reads: it never changes, so an answer is of one state. */
export class Snapshot {
  readonly chunks: readonly Chunk[]
  /** Of the chunks. */
  readonly texts: readonly IndexedText[]
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
    this.texts = pages.flatMap(({ texts }) => texts)
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
    ...[page.description ?? '', ...page.tags, ...headings].map((text) => field(text, HEADING_WEIGHT)),
    ...bodies,
  ])
  return { page, chunks, texts, chunkBags, bag }
}
