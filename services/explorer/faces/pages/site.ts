import { type Encoding, encodedBytes, encodedText, JSON_ENCODING } from '../../core/answering/encoding.js'
import { type Failure, overLimit } from '../../core/answering/failure.js'
import { preferredCoding } from '../../../http/content-coding.js'
import type { RequestLimit } from '../../core/answering/request-limit.js'
import type { Outcome, Reader } from '../../core/answering/reader.js'
import { isWalletText } from '../../core/wallets/wallet-text.js'
import { asksForHtml, prefersJson } from '../../http/accept.js'
import {
  type Answer,
  API,
  failedAsJson,
  failureAnswer,
  GET,
  JSON_TYPE,
  keptRequest,
  NO_STORE,
  type PageRequest,
  type Request,
  unknownRoute,
  urlOf,
} from '../../http/answer.js'
import type { Media } from '../../http/media.js'
import { Router } from '../../http/router.js'
import type { HandlerRoute, HttpFace, PathParams, ReadRoute, Route } from '../face.js'
import type { ChainState } from '../../core/state/state.js'
import { Html } from '../../../design/html.js'
import { ASSETS } from './assets.js'
import { bareLayout, EMBEDS } from './embeds/frame.js'
import { errorPage } from './errors.js'
import { type PageSources, pagesOf, type PostedPage } from './index.js'
import { inLanguage, type Language, LANGUAGES, languageOf } from './language.js'
import { ALL_LOCALES, languageOfLocale, type Locale, localeOf } from './locales.js'
import { CONDITION, conditionLine } from './components/condition.js'
import { DOCS, FIND, SUGGESTIONS } from './layout.js'
import type { Page } from './page.js'
import { type Suggestions, suggestions } from './suggestions.js'
import { type OpenApi, pathOf, TRY } from './views/api.js'

/** Scripts and styles are our own files, and nothing comes from other hosts. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Other sites may show these pages in frames, as the only ones: no button of theirs does anything that its reader would not want. */
const EMBED_POLICY = POLICY.replace("frame-ancestors 'none'", 'frame-ancestors *')

const htmlIn = (locale: Locale, policy: string): Encoding & { media: Media } => ({
  name: 'html',
  media: {
    type: 'text/html; charset=utf-8',
    policy,
    isFor: (acceptLanguage) => localeOf(languageOfLocale(locale), acceptLanguage) === locale,
  },
  encode: (answer) => encodedText(answer instanceof Html ? answer.text : ''),
})

const encodingsOf = (policy: string): ReadonlyMap<Locale, Encoding> =>
  new Map(ALL_LOCALES.map((locale) => [locale, htmlIn(locale, policy)]))
const HTML = encodingsOf(POLICY)
const EMBED = encodingsOf(EMBED_POLICY)

const CSV: Encoding & { media: Media } = {
  name: 'csv',
  media: {
    type: 'text/csv; charset=utf-8',
    policy: "default-src 'none'; frame-ancestors 'none'",
    isFor: () => true,
  },
  encode: (answer) => encodedText(String(answer)),
}

const ATOM: Encoding & { media: Media } = {
  name: 'atom',
  media: { ...CSV.media, type: 'application/atom+xml; charset=utf-8' },
  encode: CSV.encode,
}

const PNG: Encoding & { media: Media } = {
  name: 'png',
  media: { ...CSV.media, type: 'image/png', isCompressed: true },
  encode: (answer) => encodedBytes(answer as Buffer),
}

/** The name of a file changes with its content. */
const IMMUTABLE = ['cache-control', 'public, max-age=31536000, immutable'] as const

/** The maximum size of the form of the search: its 1,000 characters, percent-encoded. */
const MAX_FORM_BYTES = 16_384

const A_DAY = ['cache-control', 'public, max-age=86400'] as const

/** Files that browsers request without a link to them. */
const ICONS = ['favicon.ico', 'apple-touch-icon.png'] as const

/** Search engines read pages. Each answer of the API, and each file of a chart, repeats a page. */
const ROBOTS: Answer = {
  status: 200,
  headers: [['content-type', 'text/plain; charset=utf-8'], A_DAY],
  body: Buffer.from(
    ['User-agent: *', `Disallow: ${API}/`, 'Disallow: /charts/', `Disallow: ${ASSETS}`, ''].join('\n'),
  ),
}

/** A host name or address with an optional port, as in a Host header. */
const HOST = /^(?:[a-z\d](?:[a-z\d.-]{0,252}[a-z\d])?|\[[a-f\d:.]{2,45}\])(?::\d{1,5})?$/i

export interface SiteParts extends PageSources {
  readonly reader: Reader
  /** The public URL of the documentation. Not set: its port at the host of each request. */
  readonly docsUrl?: string | undefined
  /** 0 if it is not known. */
  readonly docsPort?: number | undefined
  /** Counts the requests for pages. Not set: the limit of the server. */
  readonly limit?: RequestLimit
}

type FormFor = NonNullable<ReadRoute['formFor']>

/** Returns the form of a page for a request; undefined if the client prefers JSON, or the path ends with a slash. */
const pageForm =
  (encodings: ReadonlyMap<Locale, Encoding>): FormFor =>
  ({ path, accept, acceptLanguage }) => {
    if (hasSlash(path) || prefersJson(accept)) return undefined
    const locale = localeOf(languageOf(path).language, acceptLanguage)
    return { encoding: encodings.get(locale) ?? CSV, params: { locale } }
  }

/** Returns the form of a file. Its column names are in a language; its figures do not depend on the language. */
const textForm =
  (encoding: Encoding): FormFor =>
  ({ path }) =>
    hasSlash(path) ? undefined : { encoding, params: { locale: localeOf(languageOf(path).language, '') } }

/** The path of the page of the search. */
const SEARCH = '/search'

/**
 * Returns whether a request for the search has a key of a wallet in its URL, typed by hand: the form sends it by POST. It is answered with
 * a redirect to the page of wallets, and neither shown nor kept.
 */
const isOfWallet = ({ path, query }: PageRequest): boolean =>
  languageOf(path).path === SEARCH && isWalletText(new URLSearchParams(query).get('q') ?? '')

const hasSlash = (path: string): boolean => path.length > 1 && path.endsWith('/')

/** The face of the pages for people, and the files and redirects that they need. */
export class Site implements HttpFace {
  readonly #parts: SiteParts
  readonly #pages: Router<ReadRoute>
  readonly routes: readonly Route[]
  readonly limit?: RequestLimit

  constructor(parts: SiteParts) {
    this.#parts = parts
    if (parts.limit !== undefined) this.limit = parts.limit
    const { documents, embeds, texts, feeds, pictures, posted } = pagesOf(parts)
    const routesOf = (pages: readonly Page[], formFor: FormFor): ReadRoute[] =>
      LANGUAGES.flatMap((language) =>
        pages.map((read) => ({
          pattern: inLanguage(language, read.path),
          methods: 'GET, HEAD',
          isLimited: true,
          read,
          formFor,
        })),
      )
    const own = (pattern: string, handle: HandlerRoute['handle'], isLimited = true): Route => ({
      pattern,
      methods: GET,
      isLimited,
      handle,
    })
    const pages = [
      // Before the page of an address, whose path theirs would match.
      ...routesOf(feeds, textForm(ATOM)),
      ...routesOf(pictures, textForm(PNG)),
      ...routesOf(documents, (request) => (isOfWallet(request) ? undefined : pageForm(HTML)(request))),
      ...routesOf(embeds, pageForm(EMBED)),
      ...routesOf(texts, textForm(CSV)),
    ]
    this.#pages = new Router(pages)
    this.routes = [
      ...pages,
      ...LANGUAGES.flatMap((language) => posted.map((page) => this.#posted(page, language))),
      own(SUGGESTIONS, (request) => this.#suggest(request)),
      // Open pages request it again and again: it costs no more than /health.
      own(CONDITION, (request) => this.#condition(request), false),
      {
        pattern: FIND,
        methods: 'GET, HEAD, POST',
        isLimited: true,
        maxBodyBytes: MAX_FORM_BYTES,
        handle: (request) => this.#find(request),
      },
      own(DOCS, (request) => this.#docs(request)),
      own(TRY, (request) => redirect(parts.assets.at(endpointUrl(request, parts.openApi())))),
      own(`${ASSETS}:file`, (request, params) => this.#file(request, params), false),
      ...ICONS.map((name) => own(`/${name}`, () => this.#icon(name), false)),
      own('/robots.txt', () => ROBOTS, false),
    ]
  }

  /** Answers a request for a path that does not exist: with a page if the client asks for one. A page has no slash at its end. */
  unknown(request: Request, chain: ChainState): Answer {
    const { method, path, query } = request
    const { language, path: named } = languageOf(path)
    if (named === SEARCH && asksForHtml(request.accept))
      return redirect(this.#parts.assets.at(inLanguage(language, '/wallet')))
    if (method !== 'GET' && method !== 'HEAD') return unknownRoute(request)
    const target = path.replace(/\/+$/, '')
    const page = target === path ? undefined : this.#pages.match(target)?.route
    if (page?.formFor?.({ ...request, path: target }) !== undefined)
      return this.#moved(urlOf({ path: target, query }), page.pattern)
    if (asksForHtml(request.accept))
      return this.#failedPage({ code: 'HW_NOT_FOUND', message: 'Not Found' }, request, chain)
    const unknown = unknownRoute(request)
    return { ...unknown, headers: [...unknown.headers, ['vary', 'accept']] }
  }

  /** Returns the route of a page whose arguments are in the body of a POST request. */
  #posted({ page: read, maxBodyBytes, limit }: PostedPage, language: Language): HandlerRoute {
    const { reader } = this.#parts
    const handle: HandlerRoute['handle'] = async (request) => {
      const kept = keptRequest(request)
      const locale = localeOf(language, kept.acceptLanguage)
      const isSent = kept.method === 'POST'
      const taking = isSent ? limit?.take(kept.origin()) : undefined
      const body = isSent ? await request.body(maxBodyBytes) : Buffer.alloc(0)
      const retryMs = await taking
      if (retryMs !== undefined && limit !== undefined)
        return this.#failedPage(overLimit(retryMs, limit.policy), kept, reader.chain)
      if (body === undefined)
        return this.#failedPage({ code: 'HW_BODY_TOO_LARGE', message: 'Body too large' }, kept, reader.chain)
      const fields = new URLSearchParams(body.toString())
      const argument = (name: string): string | undefined => {
        const value = name === 'locale' ? locale : fields.get(name)
        // A field of a form that is not filled in.
        return value === null || value === '' ? undefined : value
      }
      const { minChainHeight, onDisconnect, authorization, origin } = kept
      const charge = (requests: number) => reader.limit.over(origin, requests)
      const encoding = HTML.get(locale) ?? CSV
      const options = { argument, minChainHeight, onDisconnect, authorization, charge, encoding }
      const outcome = await reader.answer(read, options)
      if (!('answer' in outcome)) return this.#failedPage(outcome, kept, reader.chain)
      const type = ['content-type', 'text/html; charset=utf-8'] as const
      return { status: 200, headers: [type, NO_STORE], body: outcome.answer.body, policy: POLICY }
    }
    const pattern = inLanguage(language, read.path)
    return { pattern, methods: 'GET, HEAD, POST', isLimited: true, maxBodyBytes, handle }
  }

  #icon(name: (typeof ICONS)[number]): Answer {
    const { assets } = this.#parts
    const icon = assets.get(assets.url(name).split('/').at(-1) ?? '')
    if (icon === undefined) throw new Error(`the assets of the pages lack ${name}`)
    return { status: 200, headers: [['content-type', icon.type], A_DAY], body: icon.body }
  }

  #file(request: Request, { file = '' }: PathParams): Answer {
    const asset = this.#parts.assets.get(file)
    if (asset === undefined) return { route: 'unknown', ...this.unknown(request, this.#parts.reader.chain) }
    const coding = preferredCoding(request.acceptEncoding)
    return {
      status: 200,
      headers: [
        ['content-type', asset.type],
        IMMUTABLE,
        ['vary', 'accept-encoding'],
        ...(coding === undefined ? [] : [['content-encoding', coding] as const]),
      ],
      body: coding === undefined ? asset.body : asset.coded[coding],
    }
  }

  /** Returns the redirect to the only URL of a page. @param url its path and query. */
  #moved(url: string, route: string): Answer {
    const location = ['location', this.#parts.assets.at(url)] as const
    return { status: 308, route, headers: [location, ['cache-control', 'no-cache']], body: Buffer.alloc(0) }
  }

  failed(failure: Failure, request: PageRequest, chain: ChainState): Answer {
    // Scripts and forms request these paths: they are not pages.
    return request.path.startsWith(ASSETS) ? failedAsJson(failure) : this.#failedPage(failure, request, chain)
  }

  #failedPage(failure: Failure, { path: requested, acceptLanguage }: PageRequest, chain: ChainState): Answer {
    const { language, path } = languageOf(requested)
    const { status, headers, code } = failureAnswer(failure)
    const { assets, condition } = this.#parts
    const locale = localeOf(language, acceptLanguage)
    const isEmbedded = path.startsWith(`${EMBEDS}/`)
    const page = errorPage(
      failure,
      { locale, path, assets, chain, condition: condition() },
      isEmbedded ? (content, frame) => bareLayout(content, frame, { isEmbedded }) : undefined,
    )
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
      policy: isEmbedded ? EMBED_POLICY : POLICY,
    }
  }

  /** Returns what a query may mean, as JSON. */
  async #suggest(request: Request): Promise<Answer> {
    const outcome = await this.#matches(request, new URLSearchParams(request.query))
    if (!('answer' in outcome)) return failureAnswer(outcome)
    return { status: 200, headers: [JSON_TYPE, NO_STORE], body: outcome.answer.body }
  }

  /**
   * Redirects to the exact match of a query, or to its only one. Others are shown by the page of the search, failures too. Keys of a
   * wallet are not part of where it redirects to.
   */
  async #find(request: Request): Promise<Answer> {
    const kept = keptRequest(request)
    const body = kept.method === 'POST' ? await request.body(MAX_FORM_BYTES) : undefined
    const params = new URLSearchParams(body === undefined ? kept.query : body.toString())
    const language = givenLanguage(params)
    const q = params.get('q') ?? ''
    if (isWalletText(q)) return redirect(this.#parts.assets.at(inLanguage(language, '/wallet')))
    const outcome = await this.#matches(kept, params)
    const items = 'answer' in outcome ? (JSON.parse(outcome.answer.body.toString()) as Suggestions) : []
    const [first, second] = items.filter(({ type }) => type === 'page')
    if (first !== undefined && first.isExact !== false && (second === undefined || first.isExact === true))
      return redirect(first.url)
    const query = new URLSearchParams({ q })
    return redirect(`${this.#parts.assets.at(inLanguage(language, '/search'))}?${query.toString()}`)
  }

  #matches(
    { acceptLanguage, onDisconnect }: Pick<Request, 'acceptLanguage' | 'onDisconnect'>,
    params: URLSearchParams,
  ): Outcome | Promise<Outcome> {
    const locale = localeOf(givenLanguage(params), acceptLanguage)
    const own = { locale, base: this.#parts.assets.at('') }
    return this.#parts.reader.answer(suggestions, {
      argument: (name) => (name in own ? own[name as keyof typeof own] : (params.get(name) ?? undefined)),
      minChainHeight: '',
      onDisconnect,
      authorization: () => '',
      encoding: JSON_ENCODING,
    })
  }

  /** Returns the sentence about the condition that all pages have, as of now. */
  #condition({ query, acceptLanguage }: Request): Answer {
    const { assets, condition, reader } = this.#parts
    const locale = localeOf(givenLanguage(new URLSearchParams(query)), acceptLanguage)
    const line = conditionLine(condition(), { locale, network: reader.chain.network, at: assets.at })
    const type = ['content-type', 'text/html; charset=utf-8'] as const
    return { status: 200, headers: [type, NO_STORE], body: Buffer.from(line.text), policy: POLICY }
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

/** Returns the URL of an endpoint of the API with the arguments of a form. Empty arguments are left out. */
function endpointUrl({ query }: Request, openApi: OpenApi): string {
  const params = new URLSearchParams(query)
  let path = pathOf(openApi, params.get('operation'))
  if (path === undefined) return '/api'
  params.delete('operation')
  for (const [name, value] of [...params]) {
    if (value === '') params.delete(name)
    if (!path.includes(`{${name}}`)) continue
    path = path.replace(`{${name}}`, () => encodeURIComponent(value.trim()))
    params.delete(name)
  }
  const rest = params.toString()
  return `${path}${rest === '' ? '' : `?${rest}`}`
}

const redirect = (location: string): Answer => ({
  status: 303,
  headers: [['location', location], NO_STORE],
  body: Buffer.alloc(0),
})
