import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { dayOfDate } from '../../../../pipelines/chain/time.js'
import { html, type Html } from '../../../design/html.js'
import { contextAt } from '../../core/answering/past.js'
import type { Condition } from '../../core/health/condition.js'
import { lastHeights } from '../../core/reads/addresses/balance-history.js'
import { badArgument } from '../../core/reads/arguments.js'
import {
  type Arguments,
  type Declaration,
  NEVER,
  NO_BLOCK,
  NotFound,
  type Read,
  type ReadContext,
  type TxDetail,
} from '../../core/reads/read.js'
import type { ChainState } from '../../core/state/state.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import type { Assets } from './assets.js'
import { pastBanner } from './past.js'
import type { Format } from './format.js'
import { inLanguage, type Language, MESSAGES } from './language.js'
import { type Frame, layout, type Shown } from './layout.js'
import { ALL_LOCALES, formatOf, languageOfLocale, type Locale } from './locales.js'
import type { Messages } from './messages/en/index.js'

/** The values of arguments. */
export type Args<A extends Arguments> = Static<TObject<{ [K in keyof A]: A[K] }>>
type Given<A extends Arguments> = Partial<Args<A>>

/** The sources of a page, its words and its links. */
export interface PageContext extends ReadContext {
  readonly locale: Locale
  readonly language: Language
  readonly t: Messages
  readonly f: Format
  readonly network: Network | undefined
  /**
   * Resolves another read from the state of the page, and records its validity. Arguments that are left out have their defaults.
   * @param detail the parts of transactions that the page shows. Not set: all.
   */
  readonly read: <A extends Arguments, S extends TSchema>(
    read: Declaration<A, S>,
    args: Given<A>,
    detail?: TxDetail,
  ) => Promise<Static<S>>
  /** Returns the URL of a page in the language of the current page, as of the same block. @param path with its query. */
  readonly to: (path: string) => string
  /** Returns the URL of a page in the language of the current page, as of now. */
  readonly toPresent: (path: string) => string
  /** Returns the URL of a path of this explorer. */
  readonly at: (path: string) => string
}

/** A page: a read whose answer is a document. */
export type Page = Read

/** The argument that all pages have; it is chosen by the path and the request, not given in the query. */
export const localeArgument = Type.Union(
  ALL_LOCALES.map((each) => Type.Literal(each)),
  { default: 'en-GB' },
)

/** The argument of the pages that show the chain as of any block: its height, or a day, whose last block is meant. Empty for now. */
export const pastArgument = Type.Optional(
  Type.String({
    pattern: '^([0-9]{1,10}|[0-9]{4}-[0-9]{2}-[0-9]{2})?$',
    description: 'height of a block of the chain, or a day, as of which the page is',
    allowed: 'the height of a block; a date, YYYY-MM-DD',
  }),
)

/** The paths of these pages: links between them stay at the same block. */
const PAST_PATHS =
  /^\/(?:block|tx|address)\/[^/]+$|^\/(?:supply|quantum)$|^\/charts\/(?:quantum|exposure|types|activity|balance)\.csv$/

interface PageDeclaration<A extends Arguments> {
  readonly name: string
  readonly path: string
  readonly args: A
  /** True if the page does not depend on the chain: it is then shown without the database, and never cached. */
  readonly isOutside?: boolean
  /** True if the arguments are a secret of the client, see `Read`: they come from the form that the browser sends. */
  readonly isPrivate?: boolean
  readonly cost?: (args: Args<A>) => number
  readonly view: (page: PageContext, args: Args<A>) => Promise<Shown> | Shown
}

/** The documents that report an absence. */
const absent = new WeakSet<object>()

/** The sources of the frame of all pages. */
export interface Surroundings {
  readonly assets: Assets
  readonly condition: () => Condition
}

/** Declares a page. */
export const declarePage = <A extends Arguments>(
  declared: PageDeclaration<A>,
): ((sources: Surroundings) => Page) => declareIn(layout, declared)

/** Declares a page with a frame of its own. @param document returns the complete document. */
export function declareIn<A extends Arguments>(
  document: (content: Shown, frame: Frame, args: Args<A>) => Html,
  declared: PageDeclaration<A>,
): (sources: Surroundings) => Page {
  const { view, ...rest } = declared
  return ({ assets, condition }) =>
    pageOf({
      ...rest,
      at: assets.at,
      async make(page, args) {
        const { locale, chain, validity } = page
        const viewed = await view(page, args)
        const own = concrete(rest.path, args)
        const shown = chain.present === undefined ? viewed : inPast(page, viewed, own)
        // The page has no object of its own: it changes as the chain does.
        if (validity.objects.size === 0) for (const kind of KINDS.mempool) validity.dependsOn(kind)
        validity.dependsOn('condition')
        const path = own + queryOf(chain)
        const frame = { locale, path, assets, chain: chain.present ?? chain, condition: condition() }
        const made = document(shown, frame, args)
        if (shown.isAbsent === true) absent.add(made)
        return made
      },
    })
}

/** Declares a file, such as CSV or a picture. */
export function declareText<A extends Arguments>({
  text,
  at = (path) => path,
  ...rest
}: Omit<PageDeclaration<A>, 'view'> & {
  readonly text: (page: PageContext, args: Args<A>) => Promise<string | Buffer>
  /** Returns the URL of a path. Not set: the path itself, for a file without links. */
  readonly at?: Assets['at']
}): Page {
  return pageOf({ ...rest, at, make: text })
}

interface Declared<A extends Arguments> extends Omit<PageDeclaration<A>, 'view'> {
  readonly at: Assets['at']
  readonly make: (page: PageContext, args: Args<A>) => Promise<unknown>
}

function pageOf<A extends Arguments>(declared: Declared<A>): Page {
  const { name, path, args, isOutside = false, isPrivate = false, cost, at, make } = declared
  return {
    name: `page ${name}`,
    path,
    fresh: isOutside ? 'outside' : 'objects',
    isPrivate,
    ...(cost === undefined ? {} : { cost }),
    emptyFrom: (_, document: object) => (absent.has(document) ? 0 : undefined),
    args: { ...args, locale: localeArgument },
    answer: Type.Unknown(),
    async resolve(context: ReadContext, values: Args<A> & { readonly locale: Locale; readonly at?: string }) {
      // The frame of a page changes with every version, even if its block is final.
      context.validity.finalFrom(Number.POSITIVE_INFINITY)
      const { at: past = '', locale } = values
      if (past === '') return make(contextOf(context, locale, at), values)
      // The newest block is part of the frame.
      for (const kind of ['head', 'condition']) context.validity.dependsOn(kind)
      return make(contextOf(await contextAt(context, heightOf(past, context.chain)), locale, at), values)
    },
  }
}

/** Returns the height that an argument `at` means. @throws NotFound for a day before the first block. */
function heightOf(past: string, { blocks }: ChainState): number {
  const day = dayOfDate(past)
  if (day === undefined && past.includes('-')) throw badArgument('at', pastArgument)
  const [height = -1] = day === undefined ? [Number(past)] : lastHeights([day], blocks)
  if (height < 0) throw new NotFound(NO_BLOCK, NEVER)
  return height
}

/** Returns the query that keeps pages at a past state; empty for the present. */
const queryOf = ({ present, height }: ChainState): string =>
  present === undefined ? '' : `?at=${String(height)}`

/** Returns a page of a past state: marked as such, and without what follows later blocks. */
function inPast(page: PageContext, { title, body, json, isAbsent }: Shown, path: string): Shown {
  const { t, f, chain } = page
  return {
    title: `${title} · ${t.past.title(f.number(chain.height))}`,
    body: html`${pastBanner(page, path)}${body}`,
    ...(json === undefined ? {} : { json: json + queryOf(chain) }),
    ...(isAbsent === undefined ? {} : { isAbsent }),
    isPast: true,
  }
}

function contextOf(context: ReadContext, locale: Locale, at: Assets['at']): PageContext {
  const language = languageOfLocale(locale)
  const toPresent = (path: string): string => at(inLanguage(language, path))
  const query = queryOf(context.chain)
  return {
    // Listed, because a page without a cached answer would take noticeably longer to copy all that there is.
    chain: context.chain,
    mempool: context.mempool,
    dropped: context.dropped,
    relayFees: context.relayFees,
    tables: context.tables,
    history: context.history,
    definitions: context.definitions,
    node: context.node,
    projections: context.projections,
    forecasts: context.forecasts,
    validity: context.validity,
    size: context.size,
    ofHead: context.ofHead,
    indexer: () => context.indexer(),
    locale,
    language,
    t: MESSAGES[language],
    f: formatOf(locale, context.chain.network),
    network: context.chain.network,
    read: (read, args, detail) => resolveWithin(context, read, args, detail),
    to: query === '' ? toPresent : (path) => toPresent(keeping(query, path)),
    toPresent,
    at,
  }
}

/** Adds the query of a past state to the path of a page that has one. */
function keeping(query: string, path: string): string {
  const [bare = '', own] = path.split('?')
  if (!PAST_PATHS.test(bare)) return path
  return own === undefined ? bare + query : `${bare}${query}&${own}`
}

async function resolveWithin<A extends Arguments, S extends TSchema>(
  context: ReadContext,
  read: Declaration<A, S>,
  args: Given<A>,
  detail: TxDetail | undefined,
): Promise<Static<S>> {
  const complete = { ...defaultsOf(read.args), ...args }
  for (const kind of KINDS[read.fresh]) context.validity.dependsOn(kind)
  if (read.fresh === 'head') return context.ofHead(read, complete as never)
  const sources = detail === undefined ? context : { ...context, detail }
  const answer: unknown = await read.resolve(sources, complete as never)
  return (answer instanceof WrittenAnswer ? answer.parse() : answer) as Static<S>
}

const defaults = new WeakMap<Arguments, Readonly<Record<string, unknown>>>()

/** Returns the default values of arguments. */
function defaultsOf(args: Arguments): Readonly<Record<string, unknown>> {
  let values = defaults.get(args)
  if (values === undefined) {
    const entries = Object.entries(args).map(([name, schema]): [string, unknown] => [name, schema.default])
    defaults.set(args, (values = Object.fromEntries(entries)))
  }
  return values
}

/** The kinds of changes after which an answer is made again, by its freshness. Reads of objects record them themselves. */
const KINDS: Readonly<Record<Read['fresh'], readonly string[]>> = {
  objects: [],
  head: ['head'],
  mempool: ['head', 'mempool'],
  live: ['head', 'mempool', 'heartbeat'],
  outside: [],
}

/** Returns a path with its arguments. */
function concrete(path: string, args: Readonly<Record<string, unknown>>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(args[name])))
}
