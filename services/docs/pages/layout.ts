import type { Page } from '../../../pipelines/content/page.js'
import type { Assets } from '../http/assets.js'
import { bar, ENGLISH, searchDialog } from '../../design/bar.js'
import { html, type Html, scripts } from '../../design/html.js'
import { icon } from '../../design/icons.js'
import { heroOf } from './hero.js'
import { navigation } from './navigation.js'
import { homeOf, isRightToLeft, switchOf } from './languages.js'
import { markdownUrl } from './page-api.js'
import type { Picture } from './picture.js'
import { suggestedQuestions } from './suggestions.js'
import { isTitled } from './titled.js'

/** The data that all pages of the site share. */
export interface Frame {
  readonly pages: readonly Page[]
  readonly assets: Assets
  /** Scheme and host, as the reader sees them. */
  readonly base: string
  /** Value of SITE_NAME. */
  readonly name: string | undefined
  readonly sourceUrl: string | undefined
  /** The address of the explorer, as the reader reaches it; undefined if it is not known. */
  readonly explorerUrl: string | undefined
  readonly answersAre: AnswersAre
  /** The language of documents that are no pages, as a BCP 47 tag; undefined if the site does not say. */
  readonly lang: string | undefined
}

/** The way in which answers are made: quotes of the pages, or text of a language model. */
export type AnswersAre = 'quoted' | 'generated'

/** Returns the URL of the search results in a language, without the query. */
const searchUrl = (lang: string | undefined): string =>
  `/api/search?limit=30&${lang === undefined ? '' : `lang=${encodeURIComponent(lang)}&`}query=`

export interface Shown {
  /** Undefined for a document that is not a page of the documentation. */
  readonly page?: Page
  readonly title: string
  readonly body: Html
  /** The picture of the root page. */
  readonly picture?: Picture | undefined
}

/** Returns a complete HTML document. Ids of the layout start with a colon, which ids of headings never do. */
export function layout(site: Frame, shown: Shown): string {
  const { page, title } = shown
  const { assets } = site
  const lang = page === undefined ? site.lang : page.lang
  const frame = { ...site, pages: site.pages.filter((each) => each.lang === lang) }
  const home = homeOf(frame.pages)
  const name = frame.name ?? home?.title ?? 'Documentation'
  const isFront = page !== undefined && page.url === home?.url
  const document = html`<!doctype html>
    <html
      lang="${lang ?? 'en'}"
      ${isRightToLeft(lang) ? html`dir="rtl"` : undefined}
      ${lang === undefined ? undefined : html`data-lang="${lang}"`}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title === name ? title : `${title} · ${name}`}</title>
        ${head(frame, shown, name)}
        <meta name="color-scheme" content="light dark" />
        ${iconOf(frame)}
        <link rel="stylesheet" href="${assets.url('design.css')}" />
        <link rel="stylesheet" href="${assets.url('docs.css')}" />
        ${scripts(assets.url('theme.js'), assets.url('docs.js'))}
      </head>
      <body>
        <a class="skip" href="#:content">Skip to the content</a>
        ${bar({
          before: menu(),
          home: home?.url ?? '/',
          name,
          logo: logoOf(frame),
          links: html`${switchOf(page)}${explorerLink(frame)}`,
          actions: askButton(),
          words: ENGLISH,
        })}
        ${isFront ? front(frame, shown) : inner(frame, shown)} ${searchDialog(searchUrl(lang), ENGLISH)}
        ${chatPanel(frame, page)}
      </body>
    </html> `
  return document.text
}

/** Returns the list of pages. On phones it also has the link to the explorer, for which their bar has no room. */
const listOfPages = (frame: Frame, page: Page | undefined): Html =>
  html`<nav class="pages" id=":pages" aria-label="Pages">
    ${navigation(frame.pages, page)}${explorerLink(frame)}
  </nav>`

/** Returns the frame of a page: the list of pages, the page, and its contents. */
function inner(frame: Frame, { page, title, body }: Shown): Html {
  const { pages } = frame
  const id = titleId(page)
  return html`<div class="frame">
${listOfPages(frame, page)}
<main id=":content" tabindex="-1">
<article>
${page === undefined ? undefined : crumbs(page)}
<h1${id === undefined ? undefined : html` id="${id}"`}>${title}</h1>
${lead(page)}
${page === undefined ? undefined : actions(page, frame)}
<div class="prose">${body}</div>
</article>
${page === undefined ? undefined : neighbours(page, pages)}
</main>
${page === undefined ? undefined : contents(page)}
</div>`
}

/** Returns the frame of the root page, whose title, first links and picture stand above it at full width. */
function front(frame: Frame, { page, title, body, picture }: Shown): Html {
  const links = page === undefined ? [] : heroOf(page).links
  const id = titleId(page) ?? ':title'
  return html`<main class="front" id=":content" tabindex="-1">
    <section class="hero" aria-labelledby="${id}">
      <div>
        <h1 id="${id}">${title}</h1>
        ${lead(page)}
        ${links.length === 0 ? undefined : html`<p class="start">${links.map(({ url, text }) => html`<a href="${url}">${text}</a>`)}</p>`}
      </div>
      ${picture && html`<img src="${picture.url}" alt="${picture.alt}" />`}
    </section>
    <div class="frame">
      ${listOfPages(frame, page)}
      <article>
        <div class="prose">${body}</div>
        ${page && actions(page, frame)} ${page && neighbours(page, frame.pages)}
      </article>
      ${page && contents(page)}
    </div>
  </main>`
}

const lead = (page: Page | undefined): Html | undefined =>
  page === undefined || page.description === null ? undefined : html`<p class="lead">${page.description}</p>`

/** Returns what the head says about a page to search engines, and to programs that show a preview of a link to it. */
function head({ base, assets, name }: Frame, { page, title, picture }: Shown, site: string): Html {
  if (page === undefined || page.isUnlisted) return html`<meta name="robots" content="noindex" />`
  const { description } = page
  // Consumers of previews refuse SVG.
  const raster = [
    picture?.url,
    logoUrl(assets),
    name === undefined ? assets.url('apple-touch-icon.png') : undefined,
  ].find((url) => url !== undefined && !url.includes('.svg?'))
  const isLarge = raster !== undefined && raster === picture?.url
  return html`${description === null ? undefined : html`<meta name="description" content="${description}" />`}
    <link rel="canonical" href="${base}${page.url}" />
    <link rel="alternate" type="text/markdown" href="${markdownUrl(page)}" />
    <meta property="og:type" content="${page.url === '/' ? 'website' : 'article'}" />
    <meta property="og:site_name" content="${site}" />
    <meta property="og:title" content="${title}" />
    <meta property="og:url" content="${base}${page.url}" />
    ${description === null ? undefined : html`<meta property="og:description" content="${description}" />`}
    ${raster === undefined ? undefined : html`<meta property="og:image" content="${base}${raster}" />`}
    <meta name="twitter:card" content="${isLarge ? 'summary_large_image' : 'summary'}" />`
}

const logoUrl = (assets: Assets): string | undefined =>
  assets.logo === undefined ? undefined : assets.url(assets.logo)

/** Returns the icon of the site: its logo, or Headwater's if it has no name of its own. */
function iconOf({ assets, name }: Frame): Html | undefined {
  const url = logoUrl(assets) ?? (name === undefined ? assets.url('icon.svg') : undefined)
  return url === undefined ? undefined : html`<link rel="icon" href="${url}" />`
}

/** Returns the logo of the bar; undefined for Headwater's mark, which a site with a name of its own does not show. */
function logoOf({ assets, name }: Frame): Html | undefined {
  const url = logoUrl(assets)
  if (url !== undefined) return html`<img src="${url}" alt="" />`
  return name === undefined ? undefined : html``
}

/** Returns the id of the title: the id of the page's first heading, if the heading is the title, so that links to it work. */
const titleId = (page: Page | undefined): string | undefined =>
  page !== undefined && isTitled(page) ? page.toc[0]?.url.slice(1) : undefined

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

const HINTS: Readonly<Record<AnswersAre, string>> = {
  quoted: 'Answers quote these pages word for word, and link to the sections that they quote.',
  generated:
    'Answers are generated from these pages, and cite their sections. They may be wrong: check the sources.',
}

function chatPanel({ pages, answersAre }: Frame, page: Page | undefined): Html {
  const suggestions = suggestedQuestions(pages, page)
  return html`<section class="chat" id=":chat" aria-label="Ask the documentation" hidden>
    <header>
      <strong>Ask the documentation</strong
      ><button class="icon again" type="button" aria-label="Start over">${icon('again')}</button
      ><button class="icon close" type="button" aria-label="Close">${icon('close')}</button>
    </header>
    <div class="messages" role="log" aria-live="polite" aria-label="Conversation" tabindex="0">
      <div class="hint">
        <p>${HINTS[answersAre]}</p>
        ${
          suggestions.length === 0
            ? undefined
            : html`<ul>
                ${suggestions.map((question) => html`<li><button type="button">${question}</button></li>`)}
              </ul>`
        }
      </div>
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
}
