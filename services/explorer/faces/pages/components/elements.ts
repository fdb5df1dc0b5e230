import { html, type Html, type Part } from '../../../../design/html.js'
import { icon } from '../../../../design/icons.js'
import { FIND } from '../layout.js'
import type { PageContext } from '../page.js'

/** Returns the name of the mining pool of a block, as a link if it is known. */
export function minerLink(
  { t, to, definitions }: Pick<PageContext, 't' | 'to' | 'definitions'>,
  label: string | null,
): Html | string {
  const pool = definitions.pools.all.find(({ name }) => name === label)
  if (pool === undefined) return label ?? t.words.unknown
  return html`<a href="${to(`/mining/pool/${encodeURIComponent(pool.slug)}`)}">${pool.name}</a>`
}

/** Returns the heading of a page. */
export const heading = (title: Part, about?: Part): Html =>
  html`<header class="top">
    <h1>${title}</h1>
    ${about === undefined ? undefined : html`<p class="lead">${about}</p>`}
  </header>`

/** Returns the form of the search, which works without a script. It is sent by POST: what was typed by mistake is in no URL. */
export const searchForm = ({ t, at }: Pick<PageContext, 't' | 'at'>, query = ''): Html =>
  html`<form class="hero" method="post" action="${at(FIND)}" role="search">
    <input type="hidden" name="lang" value="${t.lang}" /><input
      name="q"
      type="search"
      value="${query}"
      aria-label="${t.bar.searchFor}"
      placeholder="${t.bar.searchFor}"
      autocomplete="off"
      spellcheck="false"
      maxlength="1000"
      required
    /><button type="submit">${t.front.searchButton}</button>
  </form>`

/** Returns a part of a page with a heading of its own. @param link to a page with more of it. */
export const section = (
  title: string,
  body: Part,
  link?: { readonly href: string; readonly text: string },
): Html =>
  html`<section class="part">
    <h2>
      ${title}${link === undefined ? undefined : html`<a class="all" href="${link.href}">${link.text}</a>`}
    </h2>
    ${body}
  </section>`

/** Returns a figure with its name. */
export const stat = (name: string, value: Part, note?: Part): Html =>
  html`<div class="stat">
    <dt>${name}</dt>
    <dd>${value}${note === undefined ? undefined : html`<small>${note}</small>`}</dd>
  </div>`

export const stats = (items: readonly (Html | undefined)[]): Html => html`<dl class="stats">${items}</dl>`

/** Returns names and values as rows; those with an undefined value are omitted. */
export const facts = (rows: readonly (readonly [name: string, value: Part])[]): Html =>
  html`<dl class="facts">
    ${rows
      .filter(([, value]) => value !== undefined)
      .map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
  </dl>`

/** Returns links to an object in other forms. @param object the path of its read. @param names with what follows that path. */
export const forms = (
  { at }: PageContext,
  object: string,
  names: readonly (readonly [name: string, path: string])[],
): Html =>
  html`<ul class="forms">
    ${names.map(([name, path]) => html`<li><a href="${at(`/api/v1${object}${path}`)}">${name}</a></li>`)}
  </ul>`

export const badge = (kind: 'quantum' | 'stale' | 'wait' | 'good' | 'plain', text: string): Html =>
  html`<span class="badge ${kind}">${kind === 'quantum' ? icon('shield') : undefined}${text}</span>`

export const quantum = ({ t }: PageContext, text = t.words.dilithium): Html => badge('quantum', text)

export const notice = (text: Part): Html => html`<p class="notice" role="note">${text}</p>`

export const empty = (text: string): Html => html`<p class="empty">${text}</p>`

/** Returns the button that copies a text, and says so. */
export const copyButton = ({ t }: Pick<PageContext, 't'>, text: string): Html =>
  html`<button
    class="copy"
    type="button"
    data-copy="${text}"
    data-copied="${t.words.copied}"
    aria-label="${t.words.copy}"
  >
    ${icon('copy')}
  </button>`

/** Returns the button that adds an object to the watch list of the browser, or removes it; a script shows it. */
export const watchButton = ({ t }: Pick<PageContext, 't'>, id: string, label = ''): Html =>
  html`<button class="watch" type="button" data-id="${id}" data-label="${label}" aria-pressed="false">
    ${t.watch.watch}
  </button>`

/** Returns a text that can be copied by a button. */
export const copyable = (page: Pick<PageContext, 't'>, text: string): Html =>
  html`<span class="copyable"><code>${text}</code>${copyButton(page, text)}</span>`

/** Returns a hash or an address in full. Styles shorten what is before its end, so that a selection copies all of it. */
export const shortened = (text: string, end = 6): Html =>
  text.length <= 2 * end
    ? html`${text}`
    : html`<span class="head">${text.slice(0, -end)}</span>${text.slice(-end)}`

export const txLink = ({ to }: PageContext, txid: string): Html =>
  html`<a class="hash" href="${to(`/tx/${txid}`)}" title="${txid}">${shortened(txid)}</a>`

export const blockLink = ({ to, f }: PageContext, height: number): Html =>
  html`<a class="number" href="${to(`/block/${String(height)}`)}">${f.number(height)}</a>`

export const hashLink = ({ to }: PageContext, hash: string): Html =>
  html`<a class="hash" href="${to(`/block/${hash}`)}" title="${hash}">${shortened(hash, 12)}</a>`

/** Returns an address as a link, with its label if there is one. */
export function addressLink({ to }: PageContext, address: string, label?: string | null): Html {
  const href = to(`/address/${address}`)
  if (label !== null && label !== undefined)
    return html`<a class="label" href="${href}" title="${address}">${label}</a>`
  return html`<a class="hash" href="${href}" title="${address}">${shortened(address)}</a>`
}

/** Returns a bar that is filled to a percentage. */
export const share = (percent: number): Html =>
  html`<svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
    <rect width="100" height="4" />
    <rect class="fill" width="${Math.min(100, Math.max(0, percent)).toFixed(2)}" height="4" />
  </svg>`

/** The number of characters of a text or of hexadecimal data that a page shows. */
const MAX_PAYLOAD = 500

interface PayloadOptions {
  /** True if these are not the whole payload. */
  readonly isBeginning?: boolean
  readonly title?: string
}

/** Returns the beginning of a payload: the text if it is one, otherwise hexadecimal. */
export function payload(
  text: string | null,
  hex: string,
  { isBeginning = false, title }: PayloadOptions = {},
): Html {
  const fullText = text ?? hex
  const short = isBeginning || fullText.length > MAX_PAYLOAD ? `${fullText.slice(0, MAX_PAYLOAD)}…` : fullText
  return text === null
    ? html`<code ${title === undefined ? undefined : html` title="${title}"`}>${short}</code>`
    : html`${short}`
}

interface ListPage {
  readonly page: number
  readonly total: number
  readonly limit: number
}

/**
 * Returns a page of a list with the links to its other pages.
 * @param path the path of the first page.
 * @param none shown if the list is empty.
 */
export function paged(context: PageContext, list: ListPage, path: string, content: Part, none = ''): Html {
  const { t, f } = context
  const last = Math.ceil(list.total / list.limit)
  if (last === 0) return empty(none)
  if (list.page <= last) return html`${content}${pager(context, list, path)}`
  return html`<p class="empty">
    ${t.words.noSuchPage(f.number(list.page), f.number(last))}
    <a href="${pageUrl(context, path, last)}">${t.words.last}</a>
  </p>`
}

function pager(context: PageContext, { page, total, limit }: ListPage, path: string): Html | undefined {
  const { t, f } = context
  const last = Math.ceil(total / limit)
  if (last <= 1) return undefined
  const link = (target: number, text: string, rel?: string): Html =>
    target < 1 || target > last || target === page
      ? html`<span class="soft">${text}</span>`
      : html`<a
          href="${pageUrl(context, path, target)}"
          ${rel === undefined ? undefined : html` rel="${rel}"`}
          >${text}</a
        >`
  return html`<nav class="pager" aria-label="${t.words.page(f.number(page), f.number(last))}">
    ${link(1, t.words.first)}${link(page - 1, t.words.previous, 'prev')}<span>${t.words.page(f.number(page), f.number(last))}</span>${link(page + 1, t.words.next, 'next')}${link(last, t.words.last)}
  </nav>`
}

function pageUrl({ to }: PageContext, path: string, page: number): string {
  const [bare = '', query] = path.split('?')
  const parameters = new URLSearchParams(query)
  if (page > 1) parameters.set('page', String(page))
  const search = parameters.toString()
  return to(bare + (search === '' ? '' : `?${search}`))
}
