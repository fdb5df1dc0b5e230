import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { analyse } from '../../../../pipelines/retrieval/words/analysis.js'

const terms = (text: string): string[] => analyse(text).map(({ term }) => term)

describe('analyse', () => {
  it.each([
    ['Mining pools mined blocks', ['mine', 'pool', 'mine', 'block']],
    ['RATE_LIMIT_PER_MINUTE', ['rate', 'limit', 'per', 'minut', 'rate_limit_per_minute']],
    ['getBlockHash', ['get', 'block', 'hash', 'getblockhash']],
    ['ClickHouse', ['click', 'hous', 'clickhous']],
    ['P2MR', ['p2mr']],
    ['x-chain-height', ['x', 'chain', 'height', 'x-chain-height']],
    ['`process.env.RATE_LIMIT`', ['process', 'env', 'rate', 'limit', 'rate_limit', 'process.env.rate_limit']],
    [
      'GET /api/v1/address/:address/utxos?limit=5',
      [
        'get',
        'api',
        'v1',
        'address',
        'address',
        'utxo',
        'api/v1/address/:address/utxos',
        'v1/address/:address/utxos',
        'address/:address/utxos',
        'address/utxos',
        'limit',
        '5',
      ],
    ],
    [
      "curl 'http://localhost:8081/api/search?query=x'",
      [
        'curl',
        'http',
        'localhost',
        '8081',
        'api',
        'search',
        'http://localhost:8081/api/search',
        'localhost:8081/api/search',
        'localhost:8081',
        'api/search',
        'queri',
        'x',
      ],
    ],
    [
      'https://docs.example.org:8443/api/op-returns/latest',
      [
        'http',
        'doc',
        'exampl',
        'org',
        '8443',
        'api',
        'op',
        'return',
        'latest',
        'https://docs.example.org:8443/api/op-returns/latest',
        'docs.example.org:8443/api/op-returns/latest',
        'docs.example.org:8443',
        'docs.example.org',
        'api/op-returns/latest',
        'op-returns/latest',
        'op-returns',
      ],
    ],
    ['log/tx_index', ['log', 'tx', 'index', 'tx_index', 'log/tx_index']],
    ['残高を確認。', ['残', '残高', '高', '高を', 'を', 'を確', '確', '確認', '認']],
    ['Bitcoinの残', ['bitcoin', 'の', 'の残', '残']],
    ['/api/v1/残', ['api', 'v1', 'api/v1', '残']],
    ['한글 ที่นี่', ['한', '한글', '글', 'ที่', 'ที่นี่', 'นี่']],
    ['한글'.normalize('NFD'), ['한', '한글', '글']],
    ['ガ ｶﾞ', ['ガ', 'ガ']],
    ['ＡＰＩ ﬁles', ['api', 'file']],
    ['Brücke Bru\u0308cke, Ǻngström-É', ['bruck', 'bruck', 'angstrom', 'e', 'angstrom-e']],
    ['ब्लॉक', ['ब्लॉक']],
    ['', []],
    ['— … 🙂', []],
  ])('%s', (text, expected) => {
    expect(terms(text)).toEqual(expected)
  })

  it('returns the position of each term', () => {
    const text = 'See tx_index, then tx_index again: naïve.'
    for (const { term, start, end, parts } of analyse(text)) {
      if (parts > 1) expect(text.slice(start, end)).toBe(term)
    }
    expect(
      analyse(text)
        .filter(({ term }) => term === 'tx_index')
        .map(({ start }) => start),
    ).toEqual([4, 19])
  })

  it('splits a compound into all its parts, and treats no prose as an identifier', () => {
    const compounds = analyse('two-dimensional block.height tx_index /api/v1').filter(
      ({ parts }) => parts > 1,
    )
    expect(compounds.map(({ term, parts, identifier }) => [term, parts, identifier])).toEqual([
      ['two-dimensional', 2, false],
      ['block.height', 2, true],
      ['tx_index', 2, true],
      ['api/v1', 2, true],
    ])
  })

  it('treats data as no path: what is longer than a name has neither a whole nor ends', () => {
    expect(terms('ab/'.repeat(80)).every((term) => term === 'ab')).toBe(true)
  })

  it('returns positions inside the text, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        for (const { start, end } of analyse(text)) {
          expect(start).toBeGreaterThanOrEqual(0)
          expect(end).toBeGreaterThan(start)
          expect(end).toBeLessThanOrEqual(text.length)
        }
      }),
    )
  })
})
