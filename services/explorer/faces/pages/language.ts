import { de } from './messages/de/index.js'
import { en, type Messages } from './messages/en/index.js'
import { es } from './messages/es/index.js'
import { fr } from './messages/fr/index.js'
import { ja } from './messages/ja/index.js'
import { pt } from './messages/pt/index.js'
import { zh } from './messages/zh/index.js'

/** The languages of the pages. The first one has no prefix in URLs. */
export const LANGUAGES = ['en', 'de', 'es', 'fr', 'pt', 'ja', 'zh'] as const
export type Language = (typeof LANGUAGES)[number]

export const MESSAGES: Readonly<Record<Language, Messages>> = { en, de, es, fr, pt, ja, zh }

/** Returns the path of a page in a language. @param path in the first language. */
export const inLanguage = (language: Language, path: string): string =>
  language === 'en' ? path : `/${language}${path === '/' ? '' : path}`

/** Splits a path into its language and the path in the first language. */
export function languageOf(path: string): { readonly language: Language; readonly path: string } {
  const language = LANGUAGES.find((each) => path === `/${each}` || path.startsWith(`/${each}/`))
  if (language === undefined || language === 'en') return { language: 'en', path }
  return { language, path: path.slice(language.length + 1) || '/' }
}
