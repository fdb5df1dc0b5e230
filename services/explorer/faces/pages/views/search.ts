import { Type } from '@sinclair/typebox'
import { html } from '../../../../design/html.js'
import { empty, heading, searchForm } from '../components/elements.js'
import { declarePage } from '../page.js'
import { explain } from '../query.js'
import { suggestions } from '../suggestions.js'

/** The results of the search, for readers without JavaScript. */
export const search = declarePage({
  name: 'search',
  path: '/search',
  args: { q: Type.String({ maxLength: 1000, default: '' }) },
  async view(page, { q }) {
    const { t, f, chain, network, locale, at, read } = page
    const items = (await read(suggestions, { q, locale, base: at('') })).filter(({ type }) => type === 'page')
    const note =
      items.length > 0 || q.trim() === ''
        ? t.search.examples
        : explain(q, { t, f, height: chain.height, network })
    const body = html`${heading(t.search.title)} ${searchForm(page, q)} ${empty(note)}
      <ul class="found">
        ${items.map(({ url, content, breadcrumbs }) => html`<li><small>${breadcrumbs?.[0]}</small> <a href="${url}">${unescaped(content)}</a></li>`)}
      </ul>`
    return { title: t.search.title, body }
  },
})

/** Returns the text of an item, whose content has no marks here. */
const unescaped = (content: string): string =>
  content
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
