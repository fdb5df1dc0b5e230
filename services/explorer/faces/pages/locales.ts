import type { Network } from '../../../../pipelines/chain/networks.js'
import { Format } from './format.js'
import { type Language, LANGUAGES } from './language.js'

/**
 * The regions of each language in which numbers or times are written differently. Readers of another region have the first one that
 * writes numbers as theirs does; the client shows times as any region does.
 */
const LOCALES = {
  en: ['en-GB', 'en-US', 'en-IN', 'en-ZA'],
  de: ['de-DE', 'de-AT', 'de-CH'],
  es: ['es-ES', 'es-419', 'es-AR'],
  fr: ['fr-FR', 'fr-CA'],
  pt: ['pt-BR', 'pt-PT'],
  ja: ['ja-JP'],
  zh: ['zh-CN'],
} as const satisfies Readonly<Record<Language, readonly string[]>>
export type Locale = (typeof LOCALES)[Language][number]

export const ALL_LOCALES: readonly Locale[] = LANGUAGES.flatMap((language) => [...LOCALES[language]])

const formats = new Map<string, Format>()

/** Returns how figures are written in a locale. @param network the chain whose units amounts have; undefined before it is known. */
export function formatOf(locale: Locale, network: Pick<Network, 'coin'> | undefined): Format {
  const coin = network?.coin
  const key = `${locale} ${coin?.unit ?? ''}`
  let format = formats.get(key)
  if (format === undefined) formats.set(key, (format = new Format(locale, coin)))
  return format
}

export const languageOfLocale = (locale: Locale): Language =>
  LANGUAGES.find((language) => locale.startsWith(language)) ?? 'en'

/** The number of remembered headers: browsers send a few different headers. */
const MAX_HEADERS = 256
const localesByHeader = new Map<string, Locale>()

/**
 * Returns the locale of a page in a language for a reader with this Accept-Language header: the locale of the first region that the
 * header names for the language. Browsers write the preferred region first.
 */
export function localeOf(language: Language, header: string): Locale {
  const key = `${language} ${header}`
  const cached = localesByHeader.get(key)
  if (cached !== undefined) return cached
  const locale = choose(language, header)
  if (localesByHeader.size >= MAX_HEADERS) localesByHeader.clear()
  localesByHeader.set(key, locale)
  return locale
}

function choose(language: Language, header: string): Locale {
  const locales: readonly Locale[] = LOCALES[language]
  const tags = header.split(',').map((part) => part.split(';', 1)[0]?.trim().toLowerCase() ?? '')
  const first = tags.find((tag) => tag.startsWith(`${language}-`))
  const written = numberIn(first)
  return (
    locales.find((locale) => locale.toLowerCase() === first) ??
    locales.find((locale) => numberIn(locale) === written) ??
    LOCALES[language][0]
  )
}

/** Returns a number as a region writes it; undefined for a text that is not the tag of a language. */
function numberIn(tag: string | undefined): string | undefined {
  try {
    return tag && new Intl.NumberFormat(tag).format(1_234_567.8)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
