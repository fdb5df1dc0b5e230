/** A text that is already HTML. */
export class Html {
  constructor(readonly text: string) {}
}

export type Part = Html | string | number | undefined | readonly Part[]

/** Returns the HTML of a template. Values are escaped unless they are Html; undefined results in nothing. */
export function html(strings: readonly string[], ...parts: readonly Part[]): Html {
  let text = strings[0] ?? ''
  for (let index = 1; index < strings.length; index++)
    text += htmlOf(parts[index - 1]) + (strings[index] ?? '')
  return new Html(text)
}

function htmlOf(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(htmlOf).join('')
  return escapeHtml(String(part))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign) : text
}
