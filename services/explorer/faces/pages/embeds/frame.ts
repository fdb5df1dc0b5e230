import { Type } from '@sinclair/typebox'
import { html, type Html, moduleScript, scripts } from '../../../../design/html.js'
import { inLanguage, MESSAGES } from '../language.js'
import { feedOf, type Frame, secondsOf, type Shown } from '../layout.js'
import { languageOfLocale } from '../locales.js'

/** The seconds after which a browser without scripts requests the page again. */
const REFRESH = 30

/** The path below which pages are for frames of other sites. */
export const EMBEDS = '/embed'

/** The argument of pages without the bar, in which readers choose the theme. Not set: that of the system. */
export const theme = Type.Optional(Type.Union([Type.Literal('light'), Type.Literal('dark')]))

/** Returns a complete document without bar and foot. @param isEmbedded true if it is shown in a frame: links open pages of their own. */
export function bareLayout(
  content: Shown,
  frame: Frame,
  { theme, isEmbedded }: { readonly theme?: 'light' | 'dark' | undefined; readonly isEmbedded: boolean },
): Html {
  const { title, body } = content
  const { locale, path, assets } = frame
  const language = languageOfLocale(locale)
  const t = MESSAGES[language]
  return html`<!doctype html>
    <html lang="${locale}" ${theme === undefined ? undefined : html`data-theme="${theme}"`}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · ${t.site.name}</title>
        <meta name="robots" content="noindex" />
        <noscript><meta http-equiv="refresh" content="${secondsOf(frame) ?? REFRESH}" /></noscript>
        <meta name="color-scheme" content="light dark" />
        <link rel="canonical" href="${assets.origin}${assets.at(inLanguage(language, path))}" />
        ${isEmbedded ? html`<base target="_blank" />` : undefined}
        <link rel="icon" href="${assets.url('icon.svg')}" type="image/svg+xml" />
        <link rel="stylesheet" href="${assets.url('pages.css')}" />
        ${isEmbedded || theme !== undefined ? moduleScript(assets.url('main.js')) : scripts(assets.url('theme.js'), assets.url('main.js'))}
      </head>
      <body class="bare">
        <main id=":content" ${feedOf(content, frame, t)}>${body}</main>
        <p class="announcements hidden" role="status"></p>
      </body>
    </html> `
}
