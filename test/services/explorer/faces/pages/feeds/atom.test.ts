import { expect, it } from 'vitest'
import { atom, type Feed } from '../../../../../../services/explorer/faces/pages/feeds/atom.js'

const FEED: Feed = {
  of: ['chain', 'blocks'],
  language: 'en',
  title: 'Blocks',
  author: 'Headwater',
  page: '/blocks',
  self: '/blocks.atom',
  since: '2026-01-01T00:00:00.000Z',
  entries: [],
}
const entry = (title: string, updated = FEED.since): Feed['entries'][number] => ({
  of: ['chain', 'block', 'ab'],
  title,
  summary: '',
  updated,
  url: '/block/ab',
})
const textsOf = (document: string, name: string): string[] =>
  [...document.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) => text)

it('contain any text of a chain, without the characters that XML does not have', () => {
  const document = atom({ ...FEED, entries: [entry(`<b>&"'\0\u001B\uD800\uFFFE 😀\n]]>`)] })
  expect(textsOf(document, 'title')[1]).toBe('&lt;b&gt;&amp;&quot;&#39;���� 😀\n]]&gt;')
})

it('are as new as the newest entry, wherever it is, and as old as the chain without one', () => {
  const [older, newer] = ['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z']
  expect(textsOf(atom(FEED), 'updated')).toEqual([FEED.since])
  expect(textsOf(atom({ ...FEED, entries: [entry('a', older), entry('b', newer)] }), 'updated')[0]).toBe(
    newer,
  )
})

it('have ids that depend on what they name alone', () => {
  const idOf = (feed: Feed): string[] => textsOf(atom(feed), 'id')
  const [feed, first] = idOf({ ...FEED, entries: [entry('unconfirmed')] })
  expect([feed, first].join(' ')).toMatch(
    /^(urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12} ?){2}$/,
  )
  const later = { ...FEED, title: 'Blöcke', self: 'https://other.example/de/blocks.atom' }
  expect(idOf({ ...later, entries: [entry('confirmed', '2026-03-01T00:00:00.000Z')] })).toEqual([feed, first])
  expect(idOf({ ...FEED, of: ['other', 'blocks'] })).not.toEqual([feed])
})
