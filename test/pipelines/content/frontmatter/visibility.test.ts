import { describe, expect, it } from 'vitest'
import { linesOf, placed } from '../folder.js'

/** Returns the lists that show the page of a frontmatter. */
function shown(fields: string) {
  const { pages, unlisted } = placed({ 'a.md': `---\n${fields}\n---\n\ntext` })
  const page = [...pages, ...unlisted][0]
  if (page === undefined) return 'nowhere'
  const { isInNavigation: navigation, isInSearch: search } = page
  return { listed: pages.length === 1, navigation, search }
}

const EVERYWHERE = { listed: true, navigation: true, search: true }

describe('a page with', () => {
  it.each([
    ['draft: true', 'nowhere'],
    ['published: false', 'nowhere'],
    ['build:\n  render: never', 'nowhere'],
    ['unlisted: true', { ...EVERYWHERE, listed: false }],
    ['hidden: true', { ...EVERYWHERE, listed: false }],
    ['_build:\n  list: never', { ...EVERYWHERE, listed: false }],
    ['sidebar:\n  hidden: true', { ...EVERYWHERE, navigation: false }],
    ['nav_exclude: true', { ...EVERYWHERE, navigation: false }],
    ['toc_hide: true', { ...EVERYWHERE, navigation: false }],
    ['pagefind: false', { ...EVERYWHERE, search: false }],
    ['search: false', { ...EVERYWHERE, search: false }],
    ['search:\n  exclude: true', { ...EVERYWHERE, search: false }],
    ['searchable: false', { ...EVERYWHERE, search: false }],
    ['search_exclude: true', { ...EVERYWHERE, search: false }],
    ['draft: false\nunlisted: false\npagefind: true\nsearch: true', EVERYWHERE],
    // VitePress shows no sidebar on such a page, but lists the page in others.
    ['sidebar: false', EVERYWHERE],
  ])('%j is shown as its tool does', (fields, expected) => {
    expect(shown(fields)).toEqual(expected)
  })
})

describe('a link', () => {
  it('to a draft leads nowhere, to an unlisted page it leads there', () => {
    const { pages, findings } = placed({
      'a.md': '[draft](./b.md) [unlisted](./c.md)',
      'b.md': '---\ndraft: true\n---\n',
      'c.md': '---\nunlisted: true\n---\n',
    })
    expect(linesOf(findings)).toEqual(['a.md:1 ./b.md leads to no page'])
    expect(pages[0]?.markdown).toBe('[draft](./b.md) [unlisted](/c)')
  })
})

it('404.md is the page of missing addresses: no list has it', () => {
  const { pages, unlisted } = placed({ '404.md': 'x', 'errors/404.md': 'x' })
  expect(pages.map(({ url }) => url)).toEqual(['/errors/404'])
  expect(unlisted.map(({ url }) => url)).toEqual(['/404'])
})
