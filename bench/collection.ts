import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Page, hashOf } from '../pipelines/content/page.js'
import { openContent } from '../pipelines/content/store.js'

/** Documents, questions, and the documents that answer each question. */
export interface Collection {
  readonly name: string
  readonly pages: readonly Page[]
  readonly questions: readonly Judged[]
}

export interface Judged {
  readonly text: string
  /** The numbers of the pages that answer it. */
  readonly relevant: ReadonlySet<number>
}

/** Reads a folder of corpus.jsonl (id, title, text), queries.jsonl (id, text) and qrels.tsv (query, document, gain); any gain above 0 counts. */
export async function readCollection(folder: string, name = basename(folder)): Promise<Collection> {
  const lines = async (file: string): Promise<string[]> =>
    (await readFile(join(folder, file), 'utf8')).split('\n').filter((line) => line.trim() !== '')
  const documents = (await lines('corpus.jsonl')).map(
    (line) => JSON.parse(line) as { id: string; title?: string; text: string },
  )
  const numbers = new Map(documents.map(({ id }, at) => [id, at]))
  const relevant = new Map<string, Set<number>>()
  for (const line of await lines('qrels.tsv')) {
    const [query = '', document = '', gain = ''] = line.split('\t')
    const number = numbers.get(document)
    // The first line contains the names of the columns.
    if (number === undefined || !(Number(gain) > 0)) continue
    relevant.set(query, (relevant.get(query) ?? new Set()).add(number))
  }
  const questions = (await lines('queries.jsonl')).flatMap((line) => {
    const { id, text } = JSON.parse(line) as { id: string; text: string }
    const found = relevant.get(id)
    return found === undefined ? [] : [{ text, relevant: found }]
  })
  const pages = documents.map(({ id, title = '', text }) => documentPage(id, title, text))
  return { name, pages, questions }
}

function documentPage(id: string, title: string, markdown: string): Page {
  const page = {
    url: `/${id}`,
    slug: id,
    file: `${id}.md`,
    title,
    label: title,
    place: [id],
    lang: undefined,
    translations: [],
    isUnlisted: false,
    isInNavigation: true,
    isInSearch: true,
    description: null,
    tags: [],
    breadcrumbs: [],
    toc: [],
    markdown,
    structuredData: { headings: [], contents: [] },
    sections: [{ id: '', path: [], markdown }],
  }
  return { ...page, hash: hashOf(page) }
}

/** The project's own pages with its judgements; a mistake in these is an error, not a bad figure. */
export async function ownCollection(content: string, judgements: string): Promise<Collection> {
  const quiet = (): void => undefined
  const store = await openContent(content, {
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  })
  store.close()
  const pages = store.pages()
  const numbers = new Map(pages.map(({ url }, at) => [url, at]))
  const lines = (await readFile(judgements, 'utf8')).split('\n').filter((line) => line.trim() !== '')
  const questions = lines.map((line) => {
    const { question, pages: urls } = JSON.parse(line) as { question: string; pages: readonly string[] }
    const relevant = new Set(urls.map((url) => numbers.get(url) ?? missing(question, url)))
    return { text: question, relevant }
  })
  return { name: 'own', pages, questions }
}

function missing(question: string, url: string): never {
  throw new Error(`the judgement of '${question}' names ${url}, which is no page`)
}
