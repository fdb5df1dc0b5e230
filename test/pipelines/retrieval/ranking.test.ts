import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { best, fuse, groups } from '../../../pipelines/retrieval/ranking.js'

const ranked = (...documents: number[]): { document: number; score: number }[] =>
  documents.map((document, index) => ({ document, score: 1 / (index + 1) }))

describe('best', () => {
  it('is the head of the sorted list', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -2, max: 9 })),
        fc.integer({ min: 0, max: 12 }),
        (scores, most) => {
          const sorted = scores
            .map((score, document) => ({ document, score }))
            .filter(({ score }) => score > 0)
            .sort((a, b) => b.score - a.score || a.document - b.document)
          expect(best(Float64Array.from(scores), most)).toEqual(sorted.slice(0, most))
          const even = sorted.filter(({ document }) => document % 2 === 0)
          expect(best(Float64Array.from(scores), most, (document) => document % 2 === 0)).toEqual(
            even.slice(0, most),
          )
        },
      ),
    )
  })
})

describe('fuse', () => {
  it('adds reciprocal ranks', () => {
    const fused = fuse([
      { ranked: ranked(7, 8), weight: 1 },
      { ranked: ranked(8, 9), weight: 2 },
    ])
    expect(fused.map(({ document }) => document)).toEqual([8, 9, 7])
    expect(fused[0]?.score).toBeCloseTo(1 / 12 + 2 / 11)
    expect(fused[2]?.score).toBeCloseTo(1 / 11)
  })

  it('returns one leg if the others are empty, and nothing if all are', () => {
    expect(
      fuse([
        { ranked: ranked(3, 1, 2), weight: 1 },
        { ranked: [], weight: 1 },
      ]).map(({ document }) => document),
    ).toEqual([3, 1, 2])
    expect(fuse([])).toEqual([])
  })
})

it('sorts groups by their best member', () => {
  expect(groups(ranked(5, 4, 11, 10), (document) => document >> 1).map(({ document }) => document)).toEqual([
    2, 5,
  ])
})
