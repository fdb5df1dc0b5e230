import { bar, searchDialog } from '../../../design/bar.js'
import { html, type Html, scripts } from '../../../design/html.js'
import { icon } from '../../../design/icons.js'
import { type Coin, type Network, titleOf } from '../../../../pipelines/chain/networks.js'
import type { Condition } from '../../core/health/condition.js'
import type { Channel } from '../../core/feed/streams.js'
import type { ChainState } from '../../core/state/state.js'
import type { Assets } from './assets.js'
import { conditionLine } from './components/condition.js'
import { inLanguage, type Language, LANGUAGES, MESSAGES } from './language.js'
import { languageOfLocale, type Locale } from './locales.js'
import type { Messages } from './messages/en/index.js'

/** The content of a page, without the frame that all pages have. */
export interface Shown {
  readonly title: string
  readonly about?: string | undefined
  readonly body: Html
  /** The channels of the feed whose events change the page, besides its blocks. */
  readonly channels?: readonly Channel[]
  /** The path of the read that has the main figures, with its arguments. */
  readonly json?: string
  /** The path of the page whose entries a feed of Atom has. */
  readonly feed?: string
  /** True if the page shows a past state, which no event changes. */
  readonly isPast?: boolean
  /** The path of the page whose picture others show for a link to it. Not set: the first page. */
  readonly picture?: string
  /** True if the page reports that something does not exist, which only an index that is level with the node does. */
  readonly isAbsent?: boolean
  /** The transaction that the page waits for: of the mempool, it alone changes the page. */
  readonly awaited?: string
}

export interface Frame {
  readonly locale: Locale
  /** The path of the page in the first language, without the query. */
  readonly path: string
  readonly assets: Assets
  /** The state that the page shows. */
  readonly chain: Pick<ChainState, 'height' | 'view' | 'reorgs' | 'network'>
  readonly condition: Condition
  /** Seconds after which the browser requests the page again; for failures that pass. */
  readonly retrySeconds?: number | undefined
}

/** Seconds after which a page of an empty index is requested again. */
const EMPTY_RETRY = 3

/** The pages that the bar links to. */
const MAIN = [
  ['/blocks', 'blocks'],
  ['/mempool', 'mempool'],
  ['/mining', 'mining'],
  ['/supply', 'supply'],
  ['/quantum', 'quantum'],
] as const satisfies readonly (readonly [string, keyof Messages['nav']])[]

const MORE = [
  ['/large', 'large'],
  ['/op-returns', 'opReturns'],
  ['/labels', 'labels'],
  ['/wallet', 'wallet'],
  ['/send', 'send'],
  ['/watch', 'watch'],
  ['/clock', 'clock'],
  ['/reorgs', 'reorgs'],
  ['/api', 'api'],
  ['/status', 'status'],
] as const satisfies readonly (readonly [string, keyof Messages['nav']])[]

/** The path of the search results, which the search of the bar requests as you type. */
export const SUGGESTIONS = '/_explorer/suggest'
/** Redirects to what a query names, or to the page of the search. By POST the query is a form in the body. */
export const FIND = '/_explorer/find'
/** Redirects to the documentation. */
export const DOCS = '/_explorer/docs'

/** Returns a complete document. Ids of the layout start with a colon, which ids of the content never do. */
export function layout(content: Shown, frame: Frame): Html {
  const { title, body, json, feed } = content
  const { locale, path, assets, chain } = frame
  const language = languageOfLocale(locale)
  const t = MESSAGES[language]
  const to = (page: string, of = language): string => assets.at(inLanguage(of, page))
  const words = t.bar
  const fixed = fixedParts(language, path, assets.at)
  const name = path === '/' ? `${t.site.name} · ${title}` : `${title} · ${t.site.name}`
  const about = content.about ?? aboutOf(t, chain.network)
  const url = assets.origin + to(path)
  return html`<!doctype html>
    <html lang="${locale}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${name}</title>
        <meta name="description" content="${about}" />
        ${preview({ title, about, url, picture: content.picture ?? '/' }, frame)} ${refresh(frame)}
        <meta name="color-scheme" content="light dark" />
        <link rel="canonical" href="${url}" />
        ${feed === undefined ? undefined : html`<link rel="alternate" type="application/atom+xml" title="${name}" href="${to(feedPathOf(feed))}" />`}
        ${LANGUAGES.map((each) => html`<link rel="alternate" hreflang="${each}" href="${assets.origin}${to(path, each)}" />`)}
        <link rel="alternate" hreflang="x-default" href="${assets.origin}${to(path, 'en')}" />
        <link rel="icon" href="${assets.url('icon.svg')}" type="image/svg+xml" />
        <link rel="apple-touch-icon" href="${assets.url('apple-touch-icon.png')}" />
        <link rel="stylesheet" href="${assets.url('pages.css')}" />
        ${scripts(assets.url('theme.js'), assets.url('main.js'))}
      </head>
      <body>
        <a class="skip" href="#:content">${t.nav.skip}</a>
        ${bar({ home: to('/'), name: t.site.name, note: chain.network?.isTest === true ? titleOf(chain.network) : undefined, links: fixed.navigation, actions: actions(t, { coin: chain.network?.coin, docs: assets.at(DOCS), to: (of) => to(path, of) }), words })}
        <main id=":content" tabindex="-1" ${feedOf(content, frame, t)}>${body}</main>
        <p class="announcements hidden" role="status"></p>
        <footer class="foot">
          ${conditionLine(frame.condition, { locale, network: chain.network, at: assets.at })}
          <p>
            ${t.site.footer}
            ${json === undefined ? undefined : html`<a href="${assets.at(`/api/v1${json}`)}">${t.site.json}</a>`}
            ${feed === undefined ? undefined : html`<a href="${to(feedPathOf(feed))}">${t.sharing.feed}</a>`}
            <button class="keys" type="button" aria-keyshortcuts="?" hidden>
              ${t.keys.title} <kbd>?</kbd>
            </button>
          </p>
        </footer>
        ${fixed.search} ${fixed.keys}
      </body>
    </html> `
}

/** The size of the pictures of links, as their consumers expect it, in pixels. */
export const PICTURE = { width: 1200, height: 630 } as const

/** Returns the path of the feed of a page. */
export const feedPathOf = (path: string): string => `${path}.atom`

/** Returns the path of the picture of a page. */
export const picturePathOf = (path: string): string => `${path === '/' ? '/index' : path}.png`

interface Previewed {
  readonly title: string
  readonly about: string
  readonly url: string
  /** The path of the page that the picture is of. */
  readonly picture: string
}

/** Returns what others show of a link to a page (Open Graph): no URL if the host is not known, because none may be relative. */
function preview({ title, about, url, picture }: Previewed, { locale, assets }: Frame): Html {
  const { origin, hasPictures, at } = assets
  const isLarge = origin !== '' && hasPictures
  const { width, height } = PICTURE
  const path = at(inLanguage(languageOfLocale(locale), picturePathOf(picture)))
  return html`<meta property="og:type" content="website" />
    <meta property="og:site_name" content="${MESSAGES[languageOfLocale(locale)].site.name}" />
    <meta property="og:title" content="${title}" />
    <meta property="og:description" content="${about}" />
    <meta property="og:locale" content="${locale.replace('-', '_')}" />
    ${
      origin === ''
        ? undefined
        : html`<meta property="og:url" content="${url}" />
            <meta
              property="og:image"
              content="${origin}${isLarge ? path : assets.url('apple-touch-icon.png')}"
            />`
    }
    ${
      isLarge
        ? html`<meta property="og:image:type" content="image/png" />
            <meta property="og:image:width" content="${width}" />
            <meta property="og:image:height" content="${height}" />
            <meta property="og:image:alt" content="${title}. ${about}" />`
        : undefined
    }
    <meta name="twitter:card" content="${isLarge ? 'summary_large_image' : 'summary'}" />`
}

/** Returns what the pages of a chain are about. @param network undefined before it is known. */
export const aboutOf = (t: Messages, network: Network | undefined): string =>
  t.site.about(network === undefined ? t.site.chain : titleOf(network))

/** Returns the seconds after which a page may be better; undefined if it follows the feed. */
export const secondsOf = ({ retrySeconds, chain: { view } }: Frame): number | undefined =>
  retrySeconds ?? (view === undefined ? EMPTY_RETRY : undefined)

/** Returns the element that makes a browser without scripts request a page again that may be better by then. */
function refresh(frame: Frame): Html | undefined {
  const seconds = secondsOf(frame)
  // With a script the page is replaced only when there is a better one: a reload would delete what the reader types.
  return seconds === undefined
    ? undefined
    : html`<noscript><meta http-equiv="refresh" content="${seconds}" /></noscript>`
}

/** Returns what the client needs to keep the page up to date: the state, the channels, and the numbers of their last events. */
export function feedOf(
  { channels = [], awaited, isPast }: Shown,
  frame: Frame,
  t: Messages,
): Html | undefined {
  const { assets, chain } = frame
  if (isPast === true) return undefined
  const head = chain.view?.head
  const seconds = secondsOf(frame)
  if (head === undefined || seconds !== undefined) return html`data-retry="${seconds}"`
  const blocks = head.blocksBefore + head.connected.length
  return html`data-height="${chain.height}" data-since="blocks:${blocks} reorgs:${chain.reorgs}"
  data-channels="${channels.join(' ')}" ${awaited === undefined ? undefined : html`data-awaited="${awaited}"`}
  data-fresh="${t.live.fresh}" data-socket="${assets.at('/ws')}"`
}

interface FixedParts {
  readonly navigation: Html
  readonly search: Html
  readonly keys: Html
}

/** The parts that many pages have in common: an uncached page would take noticeably longer with them. */
const partsByPage = new Map<string, FixedParts>()

function fixedParts(language: Language, path: string, at: Assets['at']): FixedParts {
  const current = [...MAIN, ...MORE].some(([target]) => target === path) ? path : ''
  const key = `${language} ${at(current)}`
  const cached = partsByPage.get(key)
  if (cached !== undefined) return cached
  const t = MESSAGES[language]
  const parts = {
    navigation: navigation(t, current, { to: (page) => at(inLanguage(language, page)), docs: at(DOCS) }),
    search: html`${searchDialog(`${at(SUGGESTIONS)}?lang=${language}&q=`, t.bar)}
      <template
        class="of-wallet"
        data-url="${at(inLanguage(language, '/wallet'))}"
        data-name="${t.nav.wallet}"
        >${t.search.wallet}</template
      >`,
    keys: keysDialog(t),
  }
  partsByPage.set(key, parts)
  return parts
}

function navigation(
  t: Messages,
  path: string,
  { to, docs }: { readonly to: (page: string) => string; readonly docs: string },
): Html {
  const entry = ([target, name]: (typeof MAIN)[number] | (typeof MORE)[number]): Html =>
    html`<li>
      <a href="${to(target)}" ${target === path ? html` aria-current="page"` : undefined}>${t.nav[name]}</a>
    </li>`
  return html`<nav class="links" aria-label="${t.nav.pages}">
    <ul>
      ${MAIN.map(entry)}
      <li class="more">
        <details>
          <summary><span class="wide">${t.nav.more}</span><span class="narrow">${t.nav.menu}</span></summary>
          <ul>
            ${MAIN.map(entry)}${MORE.map(entry)}
            <li><a href="${docs}">${t.nav.docs}</a></li>
          </ul>
        </details>
      </li>
    </ul>
  </nav>`
}

/** Returns the dialog with the keys of the pages. */
function keysDialog({ keys, bar }: Messages): Html {
  const rows = [
    ['/', bar.search],
    ['←', keys.before],
    ['→', keys.after],
    ['?', keys.title],
    ['Esc', bar.close],
  ] as const
  return html`<dialog class="keys" aria-label="${keys.title}">
    <form method="dialog">
      <strong>${keys.title}</strong>
      <button class="icon" aria-label="${bar.close}">${icon('close')}</button>
    </form>
    <dl>
      ${rows.map(
        ([key, meaning]) =>
          html`<div>
            <dt><kbd>${key}</kbd></dt>
            <dd>${meaning}</dd>
          </div>`,
      )}
    </dl>
  </dialog>`
}

interface Actions {
  /** The URL of the documentation. */
  readonly docs: string
  /** Returns the URL of the page in a language. */
  readonly to: (language: Language) => string
  /** The units of amounts; undefined before the chain is known. */
  readonly coin: Coin | undefined
}

const actions = (t: Messages, { docs, to, coin }: Actions): Html =>
  html`${coin === undefined ? undefined : html`<button class="icon units" type="button" data-name="${t.nav.unit}" data-coin="${coin.unit}" data-base="${coin.baseUnit}" hidden>${coin.unit}</button>`}<a
      class="site"
      href="${docs}"
      >${icon('book')}<span>${t.nav.docs}</span></a
    >
    <details class="languages">
      <summary class="site" aria-label="${t.nav.language}: ${t.languageName}" title="${t.nav.language}">
        ${icon('globe')}<span>${t.languageName}</span>
      </summary>
      <ul>
        ${LANGUAGES.map(
          (language) =>
            html`<li>
              <a
                href="${to(language)}"
                lang="${language}"
                ${language === t.lang ? html` aria-current="true"` : undefined}
                >${MESSAGES[language].languageName}</a
              >
            </li>`,
        )}
      </ul>
    </details>`
