import { escapeHtml } from '../search/search.js'

/** A text that is already HTML. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | undefined | readonly Part[]

/** Returns the HTML of a template. Values are escaped unless they are Html; undefined results in nothing. */
export function html(strings: readonly string[], ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + htmlOf(parts[index - 1]) + string))
}

function htmlOf(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(htmlOf).join('')
  return escapeHtml(String(part))
}
