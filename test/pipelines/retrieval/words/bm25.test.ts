import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { analyse } from '../../../../pipelines/retrieval/words/analysis.js'
import { Bm25 } from '../../../../pipelines/retrieval/words/bm25.js'
import { bagOf, fieldOf, Lexicon } from '../../../../pipelines/retrieval/words/lexicon.js'

/** The formula as published, over lists of words. */
function naive(
  documents: readonly string[][],
  query: readonly string[],
): { document: number; score: number }[] {
  const mean = documents.reduce((sum, words) => sum + words.length, 0) / documents.length
  const scored = documents.map((words, document) => {
    let score = 0
    for (const term of query) {
      const tf = words.filter((word) => word === term).length
      const df = documents.filter((each) => each.includes(term)).length
      const idf = Math.log(1 + (documents.length - df + 0.5) / (df + 0.5))
      score += (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * words.length) / mean))
    }
    return { document, score }
  })
  return scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || a.document - b.document)
}

const WORDS = ['block', 'chain', 'fork', 'node', 'pool', 'hash', 'coin', 'tree']
const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }).map((words) => words.join(' '))

describe('Bm25', () => {
  it('ranks as the formula does', () => {
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 12 }),
        text,
        fc.integer({ min: 1, max: 12 }),
        (documents, query, most) => {
          const lexicon = new Lexicon()
          const index = new Bm25(
            documents.map((document) => bagOf([fieldOf(document, 1, lexicon)])),
            lexicon.size,
          )
          const terms = (said: string): string[] => analyse(said).map(({ term }) => term)
          const requested = terms(query).map((term) => ({ id: lexicon.find(term), weight: 1 }))
          const expected = naive(documents.map(terms), terms(query))
          const ranked = index.rank(requested, most)
          expect(ranked).toHaveLength(Math.min(most, expected.length))
          // Impacts are kept as 32-bit floats, so equal scores may come out in either order.
          for (const [rank, { document, score }] of ranked.entries()) {
            expect(score).toBeCloseTo(expected[rank]!.score, 4)
            expect(score).toBeCloseTo(expected.find((each) => each.document === document)!.score, 4)
          }
        },
      ),
      // Most documents without a word: their mean length is below 1.
      { examples: [[['coin', '', ''], 'coin', 1]] },
    )
  })

  it('counts a field of weight 3 as three copies of it', () => {
    const lexicon = new Lexicon()
    const weighted = bagOf([fieldOf('fork', 3, lexicon), fieldOf('a chain', 1, lexicon)])
    const copied = bagOf([fieldOf('fork fork fork a chain', 1, lexicon)])
    expect(weighted).toEqual(copied)
  })

  it('finds nothing in an empty index, and nothing by terms that were added later', () => {
    const lexicon = new Lexicon()
    const empty = new Bm25([], lexicon.size)
    const later = lexicon.number('later')
    expect(
      empty.rank(
        [
          { id: later, weight: 1 },
          { id: undefined, weight: 1 },
        ],
        10,
      ),
    ).toEqual([])
    expect(empty.frequency(later)).toBe(0)
  })
})
