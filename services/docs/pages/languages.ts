import type { Page } from '../../../pipelines/content/page.js'
import { html, type Html } from '../../design/html.js'

const RIGHT_TO_LEFT = /^(?:ar|arc|ckb|dv|fa|he|iw|ks|nqo|ps|sd|syr|ug|ur|yi)(?:-|$)/i

/** Returns whether a language is written from right to left. @param lang a BCP 47 tag. */
export const isRightToLeft = (lang: string | undefined): boolean =>
  lang !== undefined && (RIGHT_TO_LEFT.test(lang) || /-(?:arab|hebr)\b/i.test(lang)) && !/-latn\b/i.test(lang)

/** Returns the root page of a language; undefined if it has none. @param pages of the language. */
export const homeOf = (pages: readonly Page[]): Page | undefined =>
  pages.find(({ place }) => place.length === 0)

/** Returns the links to a page in its other languages; undefined if there are none. */
export function switchOf(page: Page | undefined): Html | undefined {
  const { lang, translations } = page ?? { lang: undefined, translations: [] }
  if (translations.length < 2) return undefined
  const others = translations.filter((each) => each.lang !== lang)
  return html`<details class="open languages">
    <summary aria-label="${nameOf(lang ?? 'en')}">${(lang ?? 'en').toUpperCase()}</summary>
    <div>
      ${others.map(
        (other) =>
          html`<a href="${other.url}" hreflang="${other.lang}" lang="${other.lang}" rel="alternate"
            >${nameOf(other.lang)}</a
          >`,
      )}
    </div>
  </details>`
}

/** Returns the name of a language in the language itself. @param tag a BCP 47 tag. */
function nameOf(tag: string): string {
  try {
    const name = new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag
    return name.charAt(0).toLocaleUpperCase(tag) + name.slice(1)
  } catch {
    return tag
  }
}
