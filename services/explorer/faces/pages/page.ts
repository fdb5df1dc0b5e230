import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { Network } from '../../../../pipelines/chain/networks.js'
import type { Condition } from '../../core/health/condition.js'
import type { Arguments, Declaration, Read, ReadContext, TxDetail } from '../../core/reads/read.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import type { Assets } from './assets.js'
import type { Format } from './format.js'
import { inLanguage, type Language, MESSAGES } from './language.js'
import { layout, type Shown } from './layout.js'
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
  /** Returns the URL of a page in the language of the current page. */
  readonly to: (path: string) => string
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
export function declarePage<A extends Arguments>(
  declared: PageDeclaration<A>,
): (sources: Surroundings) => Page {
  const { view, ...rest } = declared
  return ({ assets, condition }) =>
    pageOf({
      ...rest,
      at: assets.at,
      async make(page, args) {
        const { locale, chain, validity } = page
        const shown = await view(page, args)
        // The page has no object of its own: it changes as the chain does.
        if (validity.objects.size === 0) for (const kind of KINDS.mempool) validity.dependsOn(kind)
        validity.dependsOn('condition')
        const path = concrete(rest.path, args)
        const document = layout(shown, { locale, path, assets, chain, condition: condition() })
        if (shown.isAbsent === true) absent.add(document)
        return document
      },
    })
}

/** Declares a file, such as CSV. */
export function declareText<A extends Arguments>({
  text,
  at = (path) => path,
  ...rest
}: Omit<PageDeclaration<A>, 'view'> & {
  readonly text: (page: PageContext, args: Args<A>) => Promise<string>
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
    resolve: (context: ReadContext, values: Args<A> & { readonly locale: Locale }) => {
      // The frame of a page changes with every version, even if its block is final.
      context.validity.finalFrom(Number.POSITIVE_INFINITY)
      return make(contextOf(context, values.locale, at), values)
    },
  }
}

function contextOf(context: ReadContext, locale: Locale, at: Assets['at']): PageContext {
  const language = languageOfLocale(locale)
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
    to: (path) => at(inLanguage(language, path)),
    at,
  }
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
