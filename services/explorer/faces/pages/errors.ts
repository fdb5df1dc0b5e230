import { html, type Html, type Part } from '../../../design/html.js'
import { NO_BLOCK } from '../../core/reads/read.js'
import type { Failure } from '../../core/answering/failure.js'
import type { Condition } from '../../core/health/condition.js'
import type { ChainState } from '../../core/state/state.js'
import type { Assets } from './assets.js'
import { heading, searchForm } from './components/elements.js'
import { inLanguage, MESSAGES } from './language.js'
import { filled, type Format } from './format.js'
import { layout } from './layout.js'
import type { Messages } from './messages/en/index.js'
import { formatOf, languageOfLocale, type Locale } from './locales.js'
import { explain } from './query.js'

/** The longest wait before the client requests a page again, in seconds. */
const MAX_RETRY = 60
const RETRY = 3

export interface ErrorPage {
  readonly locale: Locale
  /** In the first language, without the query. */
  readonly path: string
  readonly assets: Assets
  readonly chain: ChainState
  readonly condition: Condition
}

/** Returns the page for a failure: what is wrong, and what to do. */
export function errorPage(failure: Failure, page: ErrorPage, document = layout): Html {
  const { locale, path, assets, chain } = page
  const language = languageOfLocale(locale)
  const t = MESSAGES[language]
  const f = formatOf(locale, chain.network)
  const { title, text, passes, links = [], awaited } = wordsOf(failure, { locale, path, chain })
  const retryMs = failure.retryMs ?? RETRY * 1000
  const retrySeconds = passes ? Math.min(MAX_RETRY, Math.ceil(retryMs / 1000)) : undefined
  const body = html`<div class="failure">
    ${heading(title)}
    <p class="lead">${text}</p>
    ${links.map(({ path, text }) => html`<p><a href="${assets.at(inLanguage(language, path))}">${text}</a></p>`)}
    ${searchForm({ t, at: assets.at })}
    <p>
      <a href="${assets.at(inLanguage(language, '/'))}">${t.errors.back}</a> ·
      <a href="${assets.at(inLanguage(language, '/status'))}">${t.nav.status}</a>
    </p>
    <p class="soft">
      <small
        >${failure.code}${failure.chain === undefined ? undefined : html` · ${t.words.height} ${f.number(failure.chain.height)}`}</small
      >
    </p>
  </div>`
  const following = awaited === undefined ? {} : { channels: ['mempool' as const], awaited }
  return document({ title, body, ...following }, { ...page, retrySeconds })
}

interface Words {
  readonly title: string
  readonly text: Part
  /** True if the request may succeed later. */
  readonly passes: boolean
  /** The transaction that may appear. */
  readonly awaited?: string
  /** Links to pages with more, by their path in the first language. */
  readonly links?: readonly { readonly path: string; readonly text: string }[]
}

function wordsOf(
  { code, message, details, retryMs = 1000 }: Failure,
  { locale, path, chain }: Pick<ErrorPage, 'locale' | 'path' | 'chain'>,
): Words {
  const t = MESSAGES[languageOfLocale(locale)]
  const f = formatOf(locale, chain.network)
  const e = t.errors
  const [, kind, query = ''] = path.split('/')
  switch (code) {
    case 'HW_ADDRESS_NOT_FOUND':
      return { title: e.notFound, text: e.noAddress, passes: false }
    case 'HW_NOT_FOUND': {
      const { left, reason, replaced_by: by } = details ?? {}
      if (typeof left === 'string') {
        const links = [{ path: `/tx/${query}/replaced`, text: e.asItWas }]
        if (typeof by === 'string') links.unshift({ path: `/tx/${by}`, text: e.replacement })
        return {
          title: e.noLonger,
          text: filled(e.left[reason as keyof typeof e.left], f.time(left)),
          passes: false,
          links,
        }
      }
      return {
        title: e.notFound,
        text: missing(kind),
        passes: false,
        ...(kind === 'tx' ? { awaited: query } : {}),
      }
    }
    case 'HW_INVALID_ARGUMENT': {
      const argument = argumentOf(message, t, f)
      if (argument !== undefined)
        return { title: e.invalid, text: argument, passes: false, links: [{ path, text: e.without }] }
      const text = decoded(query)
      const context = { t, f, height: chain.height, network: chain.network }
      const isShort = kind === 'tx' && /^[0-9a-f]+$/i.test(text)
      const why = isShort ? t.search.hashLength(f.number(text.length)) : explain(text, context)
      return { title: e.invalid, text: why, passes: false }
    }
    case 'HW_SYNCING': {
      const [indexed, node] = [details?.['indexedHeight'], details?.['nodeHeight']]
      const heightText = (height: typeof indexed): string =>
        typeof height === 'number' ? f.number(height) : '?'
      return { title: e.syncing, text: e.syncingText(heightText(indexed), heightText(node)), passes: true }
    }
    case 'HW_DATABASE_UNAVAILABLE':
      return { title: e.database, text: e.databaseText, passes: true }
    case 'HW_NOT_READY':
      return { title: e.starting, text: e.startingText, passes: true }
    case 'HW_OVERLOADED':
      return { title: e.overloaded, text: e.overloadedText, passes: true }
    case 'HW_RATE_LIMITED':
      return { title: e.limited, text: e.limitedText(f.number(Math.ceil(retryMs / 1000))), passes: true }
    default:
      return { title: e.defect, text: e.defectText, passes: false }
  }
  function missing(of: string | undefined): string {
    if (message === NO_BLOCK && of !== 'block') return t.past.noBlock(f.number(chain.height))
    if (of === 'block')
      return /^\d+$/.test(query) ? t.search.future(f.number(query), f.number(chain.height)) : e.noBlock
    return of === 'tx' ? e.noTransaction : e.noPage
  }
}

/** The arguments that are a part of the path. */
const IN_PATH = new Set(['txid', 'heightOrHash', 'address'])
/** A maximum above this is none for a reader. */
const MANY = 1e9

/** Returns what is wrong with an argument in the query; undefined if the failure is about the path. @param message of `badArgument` */
function argumentOf(message: string, t: Messages, f: Format): string | undefined {
  const [, name = '', range = ''] = /^(\w+) must be (.*)$/.exec(message) ?? []
  if (name === '' || IN_PATH.has(name)) return undefined
  const [, from, to] = /^an integer from (\d+) to (\d+)$/.exec(range) ?? []
  if (from !== undefined && to !== undefined)
    return t.errors.badNumber(name, f.number(from), Number(to) > MANY ? undefined : f.number(to))
  const choices = range.split(' or ')
  return choices.length > 1 ? t.errors.badChoice(name, choices) : t.errors.badArgument(name)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
