import { type Encoding, encodedText, JSON_ENCODING } from '../../core/answering/encoding.js'
import type { Failure } from '../../core/answering/failure.js'
import { preferredCoding } from '../../../content-coding.js'
import type { Outcome, Reader } from '../../core/answering/reader.js'
import {
  type Answer,
  type Endpoint,
  failureAnswer,
  JSON_TYPE,
  type MatchedPage,
  NO_STORE,
  type PageRequest,
  type Pages,
  type Request,
} from '../../http/answer.js'
import { prefersJson } from '../../http/accept.js'
import { GET, type Route, Router } from '../../http/router.js'
import type { ChainState } from '../../core/state/state.js'
import { Html } from '../../../design/html.js'
import { ASSETS } from './assets.js'
import { errorPage } from './errors.js'
import { type PageSources, pagesOf } from './index.js'
import { inLanguage, type Language, LANGUAGES, languageOf } from './language.js'
import { ALL_LOCALES, languageOfLocale, type Locale, localeOf } from './locales.js'
import { DOCS, FIND, SUGGESTIONS } from './layout.js'
import type { Page } from './page.js'
import { type Suggestions, suggestions } from './suggestions.js'
import { type OpenApi, pathOf, TRY } from './views/api.js'

/** Scripts and styles are our own files, and nothing comes from other hosts. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'"],
  ...["base-uri 'none'", "frame-ancestors 'none'"],
].join('; ')

const htmlIn = (locale: Locale): Encoding => ({
  name: 'html',
  media: {
    type: 'text/html; charset=utf-8',
    policy: POLICY,
    isFor: (acceptLanguage) => localeOf(languageOfLocale(locale), acceptLanguage) === locale,
  },
  encode: (answer) => encodedText(answer instanceof Html ? answer.text : ''),
})

const HTML: ReadonlyMap<Locale, Encoding> = new Map(ALL_LOCALES.map((locale) => [locale, htmlIn(locale)]))

const CSV: Encoding = {
  name: 'csv',
  media: {
    type: 'text/csv; charset=utf-8',
    policy: "default-src 'none'; frame-ancestors 'none'",
    isFor: () => true,
  },
  encode: (answer) => encodedText(String(answer)),
}

/** The name of a file changes with its content. */
const IMMUTABLE = ['cache-control', 'public, max-age=31536000, immutable'] as const

/** A host name or address with an optional port, as in a Host header. */
const HOST = /^(?:[a-z\d](?:[a-z\d.-]{0,252}[a-z\d])?|\[[a-f\d:.]{2,45}\])(?::\d{1,5})?$/i

export interface SiteParts extends PageSources {
  readonly reader: () => Reader
  /** The public URL of the documentation. Not set: its port at the host of each request. */
  readonly docsUrl?: string | undefined
  /** 0 if it is not known. */
  readonly docsPort?: number | undefined
}

/** The pages for people, and the files and redirects that they need. */
export class Site implements Pages {
  readonly #parts: SiteParts
  readonly #router: Router
  readonly #texts: ReadonlySet<Page>
  readonly #endpoints: Readonly<Record<string, Endpoint>>

  constructor(parts: SiteParts) {
    this.#parts = parts
    const { documents, texts } = pagesOf(parts)
    this.#texts = new Set(texts)
    const routes = LANGUAGES.flatMap((language) =>
      [...documents, ...texts].map((read): Route => {
        return { pattern: inLanguage(language, read.path), target: read, methods: GET }
      }),
    )
    this.#router = new Router(routes)
    const endpoint = (answer: Endpoint['answer']): Endpoint => ({ methods: GET, isLimited: true, answer })
    this.#endpoints = {
      [SUGGESTIONS]: endpoint((request) => this.#suggest(request)),
      [FIND]: endpoint((request) => this.#find(request)),
      [DOCS]: endpoint((request) => this.#docs(request)),
      [TRY]: endpoint((request) => redirect(parts.assets.at(tried(request, parts.openApi())))),
    }
  }

  match({ path, accept, acceptLanguage }: PageRequest): MatchedPage | undefined {
    const matched = this.#router.match(path)
    if (matched === undefined || typeof matched.route.target === 'string') return undefined
    const read = matched.route.target
    const isText = this.#texts.has(read)
    if (!isText && prefersJson(accept)) return undefined
    // The column names of a file are in a language; its figures are the same everywhere.
    const locale = localeOf(languageOf(path).language, isText ? '' : acceptLanguage)
    const params = { ...matched.params, locale }
    return { ...matched, params, read, encoding: isText ? CSV : (HTML.get(locale) ?? CSV) }
  }

  endpointOf(path: string): Endpoint | undefined {
    if (!path.startsWith(ASSETS)) return undefined
    if (Object.hasOwn(this.#endpoints, path)) return this.#endpoints[path]
    const asset = this.#parts.assets.get(path.slice(ASSETS.length))
    if (asset === undefined) return undefined
    const answer = ({ acceptEncoding }: Request): Answer => {
      const coding = preferredCoding(acceptEncoding)
      return {
        status: 200,
        route: `${ASSETS}:file`,
        headers: [
          ['content-type', asset.type],
          IMMUTABLE,
          ['vary', 'accept-encoding'],
          ...(coding === undefined ? [] : [['content-encoding', coding] as const]),
        ],
        body: coding === undefined ? asset.body : asset.coded[coding],
      }
    }
    return { methods: GET, isLimited: false, answer }
  }

  moved(url: string, route: string): Answer {
    const location = ['location', this.#parts.assets.at(url)] as const
    return { status: 308, route, headers: [location, ['cache-control', 'no-cache']], body: Buffer.alloc(0) }
  }

  failed(failure: Failure, { path: requested, acceptLanguage }: PageRequest, chain: ChainState): Answer {
    const { language, path } = languageOf(requested)
    const { status, headers, code } = failureAnswer(failure)
    const page = errorPage(failure, {
      ...{ locale: localeOf(language, acceptLanguage), path, assets: this.#parts.assets, chain },
    })
    const others = headers.filter(([name]) => name !== 'content-type' && name !== 'cache-control')
    return {
      status,
      ...(code === undefined ? {} : { code }),
      headers: [
        ['content-type', 'text/html; charset=utf-8'],
        NO_STORE,
        ['vary', 'accept, accept-language'],
        ...others,
      ],
      body: Buffer.from(page.text),
      policy: POLICY,
    }
  }

  /** Returns what a query may mean, as JSON. */
  async #suggest(request: Request): Promise<Answer> {
    const outcome = await this.#matches(request)
    if (!('answer' in outcome)) return failureAnswer(outcome)
    return { status: 200, headers: [JSON_TYPE, NO_STORE], body: outcome.answer.body }
  }

  /** Redirects to the exact match of a query, or to its only one. Others are shown by the page of the search, failures too. */
  async #find(request: Request): Promise<Answer> {
    const outcome = await this.#matches(request)
    const found = 'answer' in outcome ? (JSON.parse(outcome.answer.body.toString()) as Suggestions) : []
    const [first, second] = found.filter(({ type }) => type === 'page')
    if (first !== undefined && (second === undefined || first.isExact === true)) return redirect(first.url)
    const given = new URLSearchParams(request.query)
    const language = givenLanguage(given)
    const query = new URLSearchParams({ q: given.get('q') ?? '' })
    return redirect(`${this.#parts.assets.at(inLanguage(language, '/search'))}?${query.toString()}`)
  }

  #matches({ query, acceptLanguage, onDisconnect }: Request): Outcome | Promise<Outcome> {
    const given = new URLSearchParams(query)
    const locale = localeOf(givenLanguage(given), acceptLanguage)
    const own = { locale, base: this.#parts.assets.at('') }
    return this.#parts.reader().answer(suggestions, {
      argument: (name) => (name in own ? own[name as keyof typeof own] : (given.get(name) ?? undefined)),
      ...{ minChainHeight: '', onDisconnect, authorization: () => '', encoding: JSON_ENCODING },
    })
  }

  /** Redirects to the documentation, at the host of the request unless its URL is known. */
  #docs({ host }: Request): Answer {
    const { docsUrl, docsPort = 0 } = this.#parts
    if (docsUrl !== undefined) return redirect(docsUrl)
    const url = new URL(`http://${HOST.test(host) ? host : 'localhost'}/`)
    if (docsPort !== 0) url.port = String(docsPort)
    return redirect(url.href)
  }
}

const givenLanguage = (query: URLSearchParams): Language =>
  LANGUAGES.find((each) => each === query.get('lang')) ?? 'en'

/** Returns the URL of an endpoint of the API with the arguments of a form. Empty ones are left out. */
function tried({ query }: Request, openApi: OpenApi): string {
  const given = new URLSearchParams(query)
  let path = pathOf(openApi, given.get('operation'))
  if (path === undefined) return '/api'
  given.delete('operation')
  for (const [name, value] of [...given]) {
    if (value === '') given.delete(name)
    if (!path.includes(`{${name}}`)) continue
    path = path.replace(`{${name}}`, () => encodeURIComponent(value.trim()))
    given.delete(name)
  }
  const rest = given.toString()
  return `${path}${rest === '' ? '' : `?${rest}`}`
}

const redirect = (location: string): Answer => ({
  status: 303,
  headers: [['location', location], NO_STORE],
  body: Buffer.alloc(0),
})
