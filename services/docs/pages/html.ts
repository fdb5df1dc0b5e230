import { escapeHtml } from '../search/search.js'

/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | undefined | readonly Part[]

/** HTML of a template: what is put into it is escaped, unless it is Html itself; undefined is nothing. */
export function html(strings: readonly string[], ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + htmlOf(parts[index - 1]) + string))
}

function htmlOf(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(htmlOf).join('')
  return escapeHtml(String(part))
}
