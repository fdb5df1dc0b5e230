/** A text that is already HTML. */
export class Html {
  constructor(readonly text: string) {}
}

export type Part = Html | string | number | undefined | readonly Part[]

/**
 * Returns the script elements of a page: the theme's script runs before the page is shown, the main script after it is parsed.
 * Not a template: deploy/build.mjs cannot compile templates that end a script without a package of helpers.
 * @param theme URL.
 * @param main URL.
 */
export function scripts(theme: string, main: string): Html {
  return new Html(`<script src="${escapeHtml(theme)}"></script>\n${moduleScript(main).text}`)
}

/** Returns the script element of a page without a choice of the theme. */
export const moduleScript = (url: string): Html =>
  new Html(`<script src="${escapeHtml(url)}" type="module"></script>`)

/** Returns the HTML of a template. Values are escaped unless they are Html; undefined results in nothing. */
export function html(template: readonly string[], ...parts: readonly Part[]): Html {
  const strings = withoutIndentation(template)
  let text = strings[0] ?? ''
  for (let index = 1; index < strings.length; index++)
    text += htmlOf(parts[index - 1]) + (strings[index] ?? '')
  return new Html(text)
}

const compact = new WeakMap<readonly string[], readonly string[]>()

/** Returns the strings of a template without the indentation of its source, which is a quarter of a page. */
function withoutIndentation(template: readonly string[]): readonly string[] {
  let strings = compact.get(template)
  if (strings === undefined)
    compact.set(template, (strings = template.map((each) => each.replace(/\n\s+/g, '\n'))))
  return strings
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
