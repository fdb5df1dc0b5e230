import { html, type Html } from '../../../../../design/html.js'
import type { PageContext } from '../../page.js'
import { type Range, RANGES } from '../../series.js'

/**
 * Returns links to other time spans of the charts of a page.
 * @param path of the page, with the arguments that the links keep.
 * @param usual the span without an argument.
 */
export function spans({ t, to }: PageContext, path: string, shown: Range, usual: Range): Html {
  const [bare = '', query] = path.split('?')
  const link = (range: Range): string => {
    const params = new URLSearchParams(query)
    if (range !== usual) params.set('range', range)
    const search = params.toString()
    return `${to(bare + (search === '' ? '' : `?${search}`))}#spans`
  }
  return html`<nav class="spans" id="spans" aria-label="${t.words.span}">
    ${(Object.keys(RANGES) as Range[]).map(
      (range) =>
        html`<a href="${link(range)}" ${range === shown ? html` aria-current="true"` : undefined}
          >${t.words.spans[range]}</a
        >`,
    )}
  </nav>`
}
