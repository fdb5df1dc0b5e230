import { Type } from '@sinclair/typebox'
import { html } from '../../../../design/html.js'
import { isWalletText } from '../../../core/wallets/wallet-text.js'
import { empty, heading, searchForm } from '../components/elements.js'
import { declarePage } from '../page.js'
import { suggestions } from '../suggestions.js'

/** The results of the search, for readers without JavaScript. */
export const search = declarePage({
  name: 'search',
  path: '/search',
  args: { q: Type.String({ maxLength: 1000, default: '' }) },
  async view(page, { q }) {
    const { t, locale, at, read } = page
    const found = await read(suggestions, { q, locale, base: at('') })
    const items = found.filter(({ type }) => type === 'page')
    const note = found.find(({ type }) => type === 'note')?.content ?? t.search.examples
    const body = html`${heading(t.search.title)} ${searchForm(page, isWalletText(q) ? '' : q)} ${empty(note)}
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
