import { describe, expect, it } from 'vitest'
import { linesOf, placed } from '../folder.js'

const paths = (languages: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(
    Object.entries(languages).flatMap(([folder, names]) =>
      names.map((name) => [`${folder === '' ? '' : `${folder}/`}${name}.md`, `# ${name} ${folder}`]),
    ),
  )
/** The language of each page, by URL. */
const langs = (files: Readonly<Record<string, string>>, declared?: readonly string[]) =>
  Object.fromEntries(placed(files, declared).pages.map(({ url, lang }) => [url, lang]))

describe('the languages of a site', () => {
  it('are those of folders beside the main language, as of Starlight', () => {
    const { pages, defaultLanguage } = placed(
      paths({
        '': ['index', 'guide/a', 'guide/b'],
        de: ['index', 'guide/a'],
        'zh-cn': ['guide/a', 'guide/b'],
      }),
    )
    expect(defaultLanguage).toBe('en')
    expect(
      pages.map(({ url, lang, place, breadcrumbs }) => [url, lang, place.join(' '), breadcrumbs.join()]),
    ).toEqual([
      ['/', 'en', '', ''],
      ['/guide/a', 'en', 'guide a', 'Guide'],
      ['/guide/b', 'en', 'guide b', 'Guide'],
      ['/de', 'de', '', ''],
      ['/de/guide/a', 'de', 'guide a', 'Guide'],
      ['/zh-cn/guide/a', 'zh-CN', 'guide a', 'Guide'],
      ['/zh-cn/guide/b', 'zh-CN', 'guide b', 'Guide'],
    ])
    expect(pages[1]?.translations).toEqual([
      { lang: 'en', url: '/guide/a' },
      { lang: 'de', url: '/de/guide/a' },
      { lang: 'zh-CN', url: '/zh-cn/guide/a' },
    ])
    expect(pages[3]?.translations.map(({ url }) => url)).toEqual(['/', '/de'])
  })

  it('are those of folders that have all pages, as of Nextra', () => {
    const { pages, defaultLanguage } = placed(
      paths({ es: ['index', 'a'], en: ['index', 'a', 'b'], ru: ['a'] }),
    )
    expect(defaultLanguage).toBe('en')
    expect(pages.map(({ url }) => url)).toEqual(['/en', '/en/a', '/en/b', '/es', '/es/a', '/ru/a'])
  })

  it('are not folders that only have such a name', () => {
    expect(
      new Set(
        Object.values(
          langs(paths({ '': ['index', 'a'], ml: ['index', 'training'], api: ['a'], os: ['linux'] })),
        ),
      ),
    ).toEqual(new Set([undefined]))
  })

  it('are those of the configuration, if it has any', () => {
    const files = paths({ '': ['index'], fr: ['other'], 'pt-br': ['x'], it: ['index', 'a'] })
    expect(langs(files, ['de', 'fr', 'pt-BR'])).toEqual({
      '/': 'de',
      '/fr/other': 'fr',
      '/pt-br/x': 'pt-BR',
      '/it': 'de',
      '/it/a': 'de',
    })
    expect(langs({ 'a.md': '---\nlang: ar\n---\n' }, ['de'])).toEqual({ '/a': 'ar' })
  })

  it('have a 404 page each that no list shows, and links within them', () => {
    const { pages, unlisted, findings } = placed({
      ...paths({ '': ['a', '404'], de: ['a', '404', 'b'] }),
      'de/c.md': '[a](./a.md) [a](/de/a/)',
      'c.md': '[a](./a.md)',
      'de/d.md': '[only here](/b)',
    })
    expect(linesOf(findings)).toEqual([])
    expect(unlisted.map(({ url }) => url)).toEqual(['/404', '/de/404'])
    expect(pages.find(({ url }) => url === '/de/c')?.markdown).toBe('[a](/de/a) [a](/de/a)')
  })
})
