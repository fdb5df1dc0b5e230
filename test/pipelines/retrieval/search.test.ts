import { describe, expect, it } from 'vitest'
import type { Page } from '../../../pipelines/content/page.js'
import { questionOf, unknownNames } from '../../../pipelines/retrieval/words/question.js'
import { rankPages, rankSections } from '../../../pipelines/retrieval/search.js'
import { PageIndexer, Snapshot } from '../../../pipelines/retrieval/index/snapshot.js'
import { pageOf } from './pages.js'

const PAGES = [
  pageOf('/limits', {
    title: 'Rate limits',
    text: 'Each minute has a limit. The rate limit per minute and per client, and the limit of each minute again: rate, limit, minute.',
  }),
  pageOf('/settings', {
    title: 'Settings',
    text: 'Many are there. `RATE_LIMIT_PER_MINUTE` sets what `x-limit` says.',
  }),
  pageOf('/addresses', {
    title: 'Addresses',
    text: 'An address has unspent outputs. Address by address, utxos of an address, api v1.',
  }),
  pageOf('/endpoints', {
    title: 'Endpoints',
    text: 'Ask `/api/v1/address/:address/utxos` for them, or `/api/v1/blocks`.',
  }),
  pageOf('/blocks', {
    title: 'Blocks',
    text: 'The tip of the chain: its height, its time, its hash. See `block.prev_hash` and getBlockHash.',
  }),
  pageOf('/hashes', {
    title: 'Hashes',
    text: 'A hash of a block. Get the block, hash it, get another block and hash that. The previous block hash.',
  }),
  pageOf('/curl', { title: 'Examples', text: 'Try `curl http://localhost:9000/v2/widgets/frobnicate?x=1`.' }),
  pageOf('/widgets', {
    title: 'Widgets',
    text: 'Widgets of v2: to frobnicate widgets, frobnicate a v2 widget; v2 widgets frobnicate.',
  }),
  pageOf('/ja', { title: '文書', text: 'これは日本語の文書です。ブロックチェーンの残高を確認します。' }),
  pageOf('/ja/other', { title: '高い', text: 'これは日本語の文書です。高いブロックを確認します。' }),
  pageOf('/th', { title: 'เอกสาร', text: 'ตรวจสอบยอดคงเหลือของบล็อกเชน' }),
  pageOf('/ko', { title: '문서', text: '블록체인의 잔액을 확인합니다.' }),
  pageOf('/de', { title: 'Über Brücken', text: 'Eine Brücke führt zur anderen Kette.' }),
  pageOf('/names', { title: 'Names', text: 'A zeppelin is not a configuration.' }),
  ...Array.from({ length: 30 }, (_, at) =>
    pageOf(`/filler/${String(at)}`, {
      title: `Configuration ${String(at)}`,
      text: 'The configuration of the configuration, with a limit, a block and an address.',
    }),
  ),
]

function snapshotOf(pages: readonly Page[]): Snapshot {
  const indexer = new PageIndexer()
  const indexed = indexer.index(pages)
  return new Snapshot('1', indexed, indexer.lexicon)
}

const snapshot = snapshotOf(PAGES)
/** The worst possible model: all other pages are nearer in meaning than the expected one. */
const misled = (wanted: string): { document: number; score: number }[] =>
  snapshot.chunks
    .map((_, document) => ({ document, score: 0.9 - document / 1000 }))
    .filter(({ document }) => PAGES[snapshot.pageOf(document)]?.url !== wanted)

describe.each([
  ['RATE_LIMIT_PER_MINUTE', '/settings', 'a variable, against the page that has all its words, often'],
  ['what does RATE_LIMIT_PER_MINUTE limit per minute?', '/settings', 'a variable in a sentence'],
  ['/api/v1/address/:address/utxos', '/endpoints', 'a path'],
  ['how do I call /api/v1/address/:address/utxos', '/endpoints', 'a path in a sentence'],
  ['/v2/widgets/frobnicate', '/curl', 'the path of a URL'],
  ['/widgets/frobnicate', '/curl', 'the end of a path'],
  ['https://example.org/v2/widgets/frobnicate?x=2', '/curl', 'a path on another host'],
  ['残高', '/ja', 'a word of a text without spaces'],
  ['残高の確認', '/ja', 'words in another order'],
  ['残', '/ja', 'a single letter'],
  ['ยอด', '/th', 'a word of Thai'],
  ['잔액', '/ko', 'a word without its particle'],
  ['brucke', '/de', 'a word without its diacritics'],
  ['getBlockHash', '/blocks', 'a name in camel case'],
  ['block.prev_hash', '/blocks', 'a dotted name'],
  ['prev_hash', '/blocks', 'the last part of a dotted name'],
  ['x-limit', '/settings', 'a header'],
  ['zeppelin', '/names', 'a rare word'],
  ['zeppelin configuration', '/names', 'a rare word beside a frequent one'],
])('%s finds %s', (question, url, _reason) => {
  it('by words alone', () => {
    expect(PAGES[rankPages(snapshot, { question: questionOf(question) })[0]!.document]?.url).toBe(url)
  })

  it('with any model', () => {
    const requested = { question: questionOf(question), dense: misled(url) }
    expect(PAGES[rankPages(snapshot, requested)[0]!.document]?.url).toBe(url)
    expect(PAGES[snapshot.pageOf(rankSections(snapshot, requested)[0]!.document)]?.url).toBe(url)
  })
})

describe('rankPages', () => {
  it('uses the model if words decide nothing', () => {
    const wanted = PAGES.findIndex(({ url }) => url === '/limits')
    const dense = [{ document: wanted, score: 0.6 }]
    expect(
      rankPages(snapshot, { question: questionOf('throttling of greedy visitors'), dense })[0]?.document,
    ).toBe(wanted)
  })

  it('finds a word of a page that the question has as two', () => {
    const pages = ['Look back.', 'Backups save time.'].map((text, at) => pageOf(`/${String(at)}`, { text }))
    const small = snapshotOf(pages)
    const [both, other] = ['back up', 'back out'].map((words) =>
      questionOf(`what should I ${words}?`, small.lexicon),
    )
    expect(rankPages(small, { question: both! })[0]?.document).toBe(1)
    expect(rankPages(small, { question: other! }).map(({ document }) => document)).toEqual([0])
  })

  it('does not find a page because it shares a stop word with the page that was found', () => {
    const pages = ['A zeppelin is there.', 'A page is there.'].map((text, at) =>
      pageOf(`/${String(at)}`, { text }),
    )
    const found = rankPages(snapshotOf(pages), { question: questionOf('zeppelin') })
    expect(found.map(({ document }) => document)).toEqual([0])
  })

  it('does not treat distant passages as near', () => {
    const dense = [{ document: 0, score: 0.1 }]
    expect(rankPages(snapshot, { question: questionOf('qwertz'), dense })).toEqual([])
  })

  it('excludes pages that may not be among the results', () => {
    const dense = misled('')
    const ranked = rankPages(snapshot, { question: questionOf('limit'), dense, accept: (page) => page === 0 })
    expect(ranked.map(({ document }) => document)).toEqual([0])
  })

  it('finds nothing in an empty index', () => {
    expect(rankPages(snapshotOf([]), { question: questionOf('anything') })).toEqual([])
    expect(rankPages(snapshot, { question: questionOf('') })).toEqual([])
  })
})

describe('unknownNames', () => {
  it.each([
    ['What is the limit of REDIS_CACHE_TTL?', ['REDIS_CACHE_TTL']],
    ['what does getBlockColour return', ['getBlockColour']],
    ['Does it run on Windows with PowerShell?', ['Windows', 'PowerShell']],
    ['an index of ERC-20 tokens', ['ERC-20']],
    ['what does --frobnicate-all do', ['frobnicate-all']],
    ['Does /api/v1/swap exist?', ['swap']],
  ])('%s', (text, names) => {
    expect(unknownNames(questionOf(text), snapshot)).toEqual(names)
  })

  it.each([
    ['what RATE_LIMIT_PER_MINUTE and getBlockHash do', 'what is there'],
    ['throttling of greedy visitors', 'words that are on no page'],
    ['Throttling is what? Greedy visitors.', 'words at the beginning of a sentence'],
    ['Throttling Of Greedy Visitors', 'words of a title'],
    ['a 24-hour limit for self-made clients', 'numbers with units, and joined prose'],
    ['/api/v1/address/bc1qw508/utxos', 'what stands in the place of a parameter'],
    ['/api/v1/blocks/840000', 'a number in the place of a parameter'],
  ])('finds none in %j: %s', (text) => {
    expect(unknownNames(questionOf(text), snapshot)).toEqual([])
  })
})

describe('a question that is the whole title or heading of one page', () => {
  const about =
    'the port of the service, set the port, change the port of a service: port, service, set, change'
  const pages = [
    pageOf('/ports', { title: 'Ports', text: `${about}. ${about}.` }),
    pageOf('/more', { title: 'Ports and services', text: about, parts: [['Setting ports', about]] }),
    pageOf('/faq', {
      title: 'Questions',
      parts: [
        ['Other', about],
        ['Set the port of a service', 'Use `-p`.'],
      ],
    }),
    pageOf('/old', {
      title: 'Old',
      parts: [
        ['Shared by two', 'x'],
        ['Setting ports', 'x'],
        ['Ports', 'x'],
      ],
    }),
    pageOf('/new', {
      title: 'New',
      tags: ['t'],
      parts: [
        ['Shared by two', 'x'],
        ['Set the port', 'x'],
      ],
    }),
  ]
  const small = snapshotOf(pages)
  const wrong = small.chunks.map((_, document) => ({ document, score: 0.9 })).slice(0, 2)
  const first = (text: string, accept?: (page: number) => boolean): string | undefined => {
    const parsed = { question: questionOf(text, small.lexicon), dense: wrong, accept }
    const [page] = rankPages(small, parsed)
    const [section] = rankSections(small, parsed)
    const heading = small.chunks[section?.document ?? -1]?.path.at(-1) ?? ''
    return page && `${pages[page.document]?.url ?? ''} ${heading}`
  }

  it('finds that page and section first, in any case', () => {
    expect(first('Set the port of a service')).toBe('/faq Set the port of a service')
    expect(first('set the PORT of a service?')).toBe('/faq Set the port of a service')
    expect(first('Set the port')).toBe('/new Set the port')
  })

  it('finds the title before a heading of another page', () => {
    expect(first('ports')).toBe('/ports ')
  })

  it('changes nothing if several pages have it, if it is part of a heading, or if its page is left out', () => {
    expect(small.chunkHeaded('shared by two')).toBeUndefined()
    expect(small.chunkHeaded('setting ports')).toBeUndefined()
    expect(small.chunkHeaded('port of a service')).toBeUndefined()
    expect(small.chunkHeaded('')).toBeUndefined()
    expect(first('Set the port', (page) => page !== 4)).not.toContain('/new')
  })
})

describe('the description of a page', () => {
  const described = snapshotOf([
    pageOf('/a', { title: 'A', description: 'Explains zeppelins.', text: 'Nothing more.' }),
    pageOf('/b', { title: 'B', description: 'Explains dirigibles.', parts: [['Part', 'Words.']] }),
    pageOf('/c', { title: 'C', text: 'Words of another page.' }),
  ])

  it.each([
    ['zeppelins', '/a', 'Explains zeppelins.'],
    ['dirigibles', '/b', 'Explains dirigibles.'],
  ])('is found in passages: %s', (word, url, text) => {
    const [best] = rankSections(described, { question: questionOf(word, described.lexicon) })
    expect(described.pages[described.pageOf(best?.document ?? -1)]?.page.url).toBe(url)
    expect(described.chunks[best?.document ?? -1]).toMatchObject({ headingId: '' })
    expect(described.chunks[best?.document ?? -1]?.markdown).toContain(text)
  })
})
