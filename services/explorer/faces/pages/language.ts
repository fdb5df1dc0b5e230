import { de } from './messages/de/index.js'
import { en, type Messages } from './messages/en/index.js'

/** The languages of the pages. The first one has no prefix in URLs. */
export const LANGUAGES = ['en', 'de'] as const
export type Language = (typeof LANGUAGES)[number]

export const MESSAGES: Readonly<Record<Language, Messages>> = { en, de }

/** Returns the path of a page in a language. @param path in the first language. */
export const inLanguage = (language: Language, path: string): string =>
  language === 'en' ? path : `/${language}${path === '/' ? '' : path}`

/** Splits a path into its language and the path in the first language. */
export function languageOf(path: string): { readonly language: Language; readonly path: string } {
  const language = LANGUAGES.find((each) => path === `/${each}` || path.startsWith(`/${each}/`))
  if (language === undefined || language === 'en') return { language: 'en', path }
  return { language, path: path.slice(language.length + 1) || '/' }
}
