import { expect, it } from 'vitest'
import type { Page } from '../../../../pipelines/content/page.js'
import { suggestedQuestions } from '../../../../services/docs/pages/suggestions.js'

const page = (slug: string, ...titles: string[]): Page =>
  ({
    slug,
    isInSearch: true,
    isUnlisted: false,
    toc: titles.map((title) => ({ title, url: `#${title}`, depth: 2 })),
  }) as unknown as Page

it('suggests what the headings of the page answer, then those of its folder, then any', () => {
  const own = page('guide/a', 'Overview', 'Installing the `hw` client')
  const beside = page('guide/b', 'Set your port', 'Why two ports?')
  const other = page('other/c', 'Can I pay?', 'Is it free?')
  const pages = [other, own, beside]
  expect(suggestedQuestions(pages, own)).toEqual([
    'How do I install the hw client?',
    'Why two ports?',
    'How do I set my port?',
  ])
  expect(suggestedQuestions(pages, other)).toEqual(['Can I pay?', 'Is it free?', 'Why two ports?'])
})

it('suggests no question of a heading that is no instruction, and none twice', () => {
  const nouns = page(
    'a',
    'Test suites',
    'Running',
    'Build and test',
    'Add: a list',
    'String lists',
    'x?',
    `Add ${'a'.repeat(80)}`,
  )
  expect(suggestedQuestions([nouns, page('b', 'Running it'), page('c', 'Run it')], nouns)).toEqual([
    'How do I run it?',
  ])
  expect(suggestedQuestions([nouns], undefined)).toEqual([])
})

it('suggests nothing of pages that have no answers', () => {
  const pages = [page('a', 'Is it free?'), page('b', 'Is it fast?')] as const
  const hidden = [
    { ...pages[0], isUnlisted: true },
    { ...pages[1], isInSearch: false },
  ]
  expect(suggestedQuestions(hidden, hidden[0])).toEqual([])
})
