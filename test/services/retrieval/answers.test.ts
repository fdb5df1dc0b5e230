import { describe, expect, it } from 'vitest'
import { wordsOf } from '../../../pipelines/retrieval/evidence.js'
import { PageIndexer, Snapshot } from '../../../pipelines/retrieval/index/snapshot.js'
import { questionOf } from '../../../pipelines/retrieval/words/question.js'
import { passages } from '../../../services/retrieval/answers.js'
import { pageOf } from '../../pipelines/retrieval/pages.js'

const PAGES = [
  pageOf('/viewer', {
    title: 'Viewer',
    parts: [
      ['Using the viewer', ''],
      ['Launch', 'The viewer listens at port 4983.'],
    ],
  }),
  pageOf('/leaks', {
    title: 'Leaks',
    parts: [
      ['Issue', 'The zeppelin loses gas while the zeppelin flies.'],
      ['Background', 'Old zeppelin seams.'],
      ['Solution', 'Close all seams of the zeppelin.'],
    ],
  }),
  pageOf('/balloons', { title: 'Balloons', parts: [['Issue', 'A balloon bursts.']] }),
  pageOf('/errors', { title: 'Errors', parts: [['Solution', 'Land.']] }),
  pageOf('/fuel', { title: 'Fuel', description: 'Kerosene explained.', text: 'Tanks hold it.' }),
  pageOf('/oil', { title: 'Oil', description: 'Kerosene too.', parts: [['Grades', 'Thin and thick.']] }),
]
const indexer = new PageIndexer()
const snapshot = new Snapshot('1', indexer.index(PAGES), indexer.lexicon)

function quoted(text: string, similarity?: (chunk: number) => number): ReturnType<typeof passages> {
  const question = questionOf(text, indexer.lexicon)
  const lookup = {
    snapshot,
    parsed: { question },
    ranking: 'lexical' as const,
    words: wordsOf(snapshot, question),
  }
  const measured = similarity === undefined ? lookup : { ...lookup, similarity }
  return passages(measured, 8)
}

const found = (...lookup: Parameters<typeof quoted>): string[] =>
  quoted(...lookup).map(({ pageUrl = '', headingId = '' }) => `${pageUrl}#${headingId}`)

describe('passages', () => {
  it('have text: a heading alone answers nothing', () => {
    expect(found('using the viewer')).toEqual(['/viewer#launch'])
  })

  it('are never the description of a page: the text after it is, if it has one without a heading', () => {
    const texts = quoted('kerosene').map(({ markdown }) => markdown)
    expect(texts).toContain('Tanks hold it.')
    expect(texts.join()).not.toContain('Kerosene')
  })

  it('are the solution in place of the problem that the question describes, once', () => {
    const sections = found('the zeppelin loses gas')
    expect(sections.slice(0, 2)).toEqual(['/leaks#solution', '/leaks#background'])
    expect(sections.filter((section) => section.startsWith('/leaks'))).toHaveLength(2)
  })

  it('are the problem if its page has no solution', () => {
    expect(found('a balloon bursts')[0]).toBe('/balloons#issue')
  })

  it('are sorted by similarity', () => {
    const nearest = snapshot.chunks.findIndex(({ headingId }) => headingId === 'background')
    expect(found('zeppelin', (chunk) => (chunk === nearest ? 0.9 : 0.3))[0]).toBe('/leaks#background')
  })
})
