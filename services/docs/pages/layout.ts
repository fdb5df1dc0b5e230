import type { Page } from '../../../pipelines/content/page.js'
import type { Assets } from '../http/assets.js'
import { bar, ENGLISH, searchDialog } from '../../design/bar.js'
import { html, type Html, scripts } from '../../design/html.js'
import { icon } from '../../design/icons.js'
import { navigation } from './navigation.js'
import { homeOf, isRightToLeft, switchOf } from './languages.js'
import { markdownUrl } from './page-api.js'
import { isTitled } from './titled.js'

/** The data that all pages of the site share. */
export interface Frame {
  readonly pages: readonly Page[]
  readonly assets: Assets
  /** Scheme and host, as the reader sees them. */
  readonly base: string
  readonly sourceUrl: string | undefined
  /** The address of the explorer, as the reader reaches it; undefined if it is not known. */
  readonly explorerUrl: string | undefined
  /** The language of documents that are no pages, as a BCP 47 tag; undefined if the site does not say. */
  readonly lang: string | undefined
}

/** Returns the URL of the search results in a language, without the query. */
const searchUrl = (lang: string | undefined): string =>
  `/api/search?limit=30&${lang === undefined ? '' : `lang=${encodeURIComponent(lang)}&`}query=`

export interface Shown {
  /** Undefined for a document that is not a page of the documentation. */
  readonly page?: Page
  readonly title: string
  readonly body: Html
}

/** Returns a complete HTML document. Ids of the layout start with a colon, which ids of headings never do. */
export function layout(frame: Frame, { page, title, body }: Shown): string {
  const about = page?.description ?? undefined
  const { assets, base } = frame
  const lang = page === undefined ? frame.lang : page.lang
  const pages = frame.pages.filter((each) => each.lang === lang)
  const home = homeOf(pages)
  const site = home?.title ?? 'Documentation'
  const document = html`<!doctype html>
<html lang="${lang ?? 'en'}"${isRightToLeft(lang) ? html` dir="rtl"` : undefined}${lang === undefined ? undefined : html` data-lang="${lang}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title === site ? title : `${title} · ${site}`}</title>
${about === undefined ? undefined : html`<meta name="description" content="${about}" />`}
<meta name="color-scheme" content="light dark">
${
  page === undefined || page.isUnlisted
    ? html`<meta name="robots" content="noindex" />`
    : html`<link rel="canonical" href="${base}${page.url}" />
        <link rel="alternate" type="text/markdown" href="${markdownUrl(page)}" />`
}
<link rel="icon" href="${assets.url('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.url('design.css')}">
<link rel="stylesheet" href="${assets.url('docs.css')}">
${scripts(assets.url('theme.js'), assets.url('docs.js'))}
</head>
<body>
<a class="skip" href="#:content">Skip to the content</a>
${bar({ before: menu(), home: home?.url ?? '/', name: site, links: html`${switchOf(page)}${explorerLink(frame)}`, actions: askButton(), words: ENGLISH })}
<div class="frame">
<nav class="pages" id=":pages" aria-label="Pages">${navigation(pages, page)}</nav>
<main id=":content" tabindex="-1">
<article>
${page === undefined ? undefined : crumbs(page)}
<h1${titleId(page)}>${title}</h1>
${about === undefined ? undefined : html`<p class="lead">${about}</p>`}
${page === undefined ? undefined : actions(page, frame)}
<div class="prose">${body}</div>
</article>
${page === undefined ? undefined : neighbours(page, pages)}
</main>
${page === undefined ? undefined : contents(page)}
</div>
${searchDialog(searchUrl(lang), ENGLISH)}
${chatPanel()}
</body>
</html>
`
  return document.text
}

/** Returns the id of the title: the id of the page's first heading, if the heading is the title, so that links to it work. */
function titleId(page: Page | undefined): Html | undefined {
  if (page === undefined || !isTitled(page)) return undefined
  return html` id="${page.toc[0]?.url.slice(1)}"`
}

function crumbs({ breadcrumbs }: Page): Html | undefined {
  if (breadcrumbs.length === 0) return undefined
  return html`<p class="crumbs">${breadcrumbs.map((crumb) => html`<span>${crumb}</span>`)}</p>`
}

/** Returns the three buttons of the contract: copy the page as Markdown, open it in an external assistant, view its source. */
function actions(page: Page, { base, sourceUrl }: Frame): Html {
  const markdown = markdownUrl(page)
  const request = `Read ${base}${page.url} so that I can ask questions about it.`
  const chatgpt = `https://chatgpt.com/?${new URLSearchParams({ hints: 'search', q: request }).toString()}`
  const claude = `https://claude.ai/new?${new URLSearchParams({ q: request }).toString()}`
  const source =
    sourceUrl === undefined
      ? markdown
      : `${sourceUrl}/${page.file.split('/').map(encodeURIComponent).join('/')}`
  return html`<div class="actions">
    <button class="copy" type="button" data-markdown="${markdown}">
      ${icon('copy')}<span role="status">Copy as Markdown</span>
    </button>
    <details class="open">
      <summary>${icon('spark')}Open in an assistant</summary>
      <div>
        <a href="${chatgpt}" rel="noopener noreferrer" target="_blank">ChatGPT</a>
        <a href="${claude}" rel="noopener noreferrer" target="_blank">Claude</a>
      </div>
    </details>
    <a class="source" href="${source}" rel="noopener">${icon('code')}View source</a>
  </div>`
}

function contents({ toc }: Page): Html | undefined {
  const entries = toc.filter(({ depth }) => depth === 2 || depth === 3)
  if (entries.length < 2) return undefined
  return html`<aside class="toc" aria-labelledby=":toc">
    <h2 id=":toc">On this page</h2>
    <ul>
      ${entries.map(({ title, url, depth }) => html`<li class="depth-${depth}"><a href="${url}">${title}</a></li>`)}
    </ul>
  </aside>`
}

function neighbours({ url }: Page, pages: readonly Page[]): Html | undefined {
  const shown = pages.filter(({ isInNavigation }) => isInNavigation)
  const at = shown.findIndex((page) => page.url === url)
  const before = at < 1 ? undefined : shown[at - 1]
  const after = at < 0 ? undefined : shown[at + 1]
  if (before === undefined && after === undefined) return undefined
  const link = (page: Page | undefined, rel: string, label: string): Html =>
    page === undefined
      ? html`<span></span>`
      : html`<a rel="${rel}" href="${page.url}"><small>${label}</small>${page.label}</a>`
  return html`<nav class="neighbours" aria-label="Neighbouring pages">
    ${link(before, 'prev', 'Previous')}${link(after, 'next', 'Next')}
  </nav>`
}

const menu = (): Html =>
  html`<button
    class="icon menu"
    type="button"
    aria-label="Pages"
    aria-expanded="false"
    aria-controls=":pages"
  >
    ${icon('menu')}
  </button>`

const explorerLink = ({ explorerUrl }: Frame): Html | undefined =>
  explorerUrl === undefined ? undefined : html`<a class="site" href="${explorerUrl}">Explorer</a>`

const askButton = (): Html =>
  html`<button class="ask" type="button" aria-expanded="false" aria-controls=":chat">
    ${icon('chat')}<span>Ask</span>
  </button>`

const chatPanel = (): Html =>
  html`<section class="chat" id=":chat" aria-label="Ask the documentation" hidden>
    <header>
      <strong>Ask the documentation</strong
      ><button class="icon again" type="button" aria-label="Start over">${icon('again')}</button
      ><button class="icon close" type="button" aria-label="Close">${icon('close')}</button>
    </header>
    <div class="messages" role="log" aria-live="polite" tabindex="0">
      <p class="hint">
        Answers are generated from these pages, and cite them. They may be wrong: check the sources.
      </p>
    </div>
    <form>
      <textarea
        rows="2"
        placeholder="How do I …?"
        aria-label="Your question"
        maxlength="1000"
        required
      ></textarea
      ><button type="submit" aria-label="Send">${icon('send')}</button>
    </form>
  </section>`
