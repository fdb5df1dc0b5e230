import { expect, it } from 'vitest'
import { linesOf, pageOf, placed } from '../folder.js'

const VITEPRESS = `---
layout: home
hero:
  name: Engine
  text: Search for people
  tagline: Fast, <b>small</b>
  image: { src: /logo.svg, alt: no text }
  actions:
    - { theme: brand, text: Get started, link: ./guide }
    - { text: no link }
features:
  - { icon: 🚀, title: Quick, details: In a millisecond., link: ./guide, linkText: Measure it }
  - { title: Small, details: In a kilobyte. }
  - { details: without a title }
---

Below.
`

it('the hero and the features of VitePress are text, and their links lead to pages', () => {
  const { pages, findings } = placed({ 'index.md': VITEPRESS, 'guide.md': '# Guide' })
  expect(linesOf(findings)).toEqual([])
  expect(pages[0]).toMatchObject({ title: 'Engine', url: '/' })
  expect(pages[0]?.markdown).toBe(
    [
      'Search for people',
      'Fast, small',
      '- [Get started](/guide)',
      '[Quick](/guide)',
      'In a millisecond.',
      '[Measure it](/guide)',
      '**Small**',
      'In a kilobyte.',
      'Below.',
    ].join('\n\n'),
  )
  expect(pages[0]?.sections[0]?.markdown).toContain('In a kilobyte.')
})

it('the hero of Starlight is text below the title of the page', () => {
  const source =
    '---\ntitle: Welcome\nhero:\n  title: Docs that shine\n  tagline: All you need\n  actions:\n    - text: Start\n      link: /start\n---\n'
  const { title, markdown } = pageOf(source, 'index.mdx')
  expect(title).toBe('Welcome')
  expect(markdown).toBe('Docs that shine\n\nAll you need\n\n- [Start](/start)')
})

it('features without a hero are those of a home page only in its layout', () => {
  const fields = 'features:\n  - { title: One }\n'
  expect(pageOf(`---\n${fields}---\ntext`, 'a.md').markdown).toBe('text')
  expect(pageOf(`---\nlayout: home\n${fields}---\ntext`, 'a.md').markdown).toBe('**One**\n\ntext')
  expect(pageOf('---\nhero: 5\nlayout: doc\n---\ntext', 'a.md').markdown).toBe('text')
})
