import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  numberTicks,
  roundNumbers,
  timeTicks,
} from '../../../../../../../services/explorer/faces/pages/components/charts/axis.js'
import { Format } from '../../../../../../../services/explorer/faces/pages/format.js'

const f = new Format('en-GB')
const at = (iso: string): number => Date.parse(iso)
const labels = (from: string, to: string, format = f): string[] =>
  timeTicks(format, at(from), at(to), 8).map(({ label }) => label)

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('ticks of times', () => {
  it.each([
    [
      '2026-02-23T10:03:00Z',
      '2026-02-23T10:09:00Z',
      ['10:03', '10:04', '10:05', '10:06', '10:07', '10:08', '10:09'],
    ],
    ['2026-02-23T01:10:00Z', '2026-02-23T13:10:00Z', ['02:00', '04:00', '06:00', '08:00', '10:00', '12:00']],
    [
      '2026-02-23T20:00:00Z',
      '2026-02-24T20:00:00Z',
      ['24 Feb, 00:00', '24 Feb, 06:00', '24 Feb, 12:00', '24 Feb, 18:00'],
    ],
    ['2026-02-23', '2026-03-01', ['23 Feb', '24 Feb', '25 Feb', '26 Feb', '27 Feb', '28 Feb', '1 Mar']],
    ['2026-02-01', '2026-03-03', ['4 Feb', '8 Feb', '12 Feb', '16 Feb', '20 Feb', '24 Feb', '28 Feb']],
    ['2025-11-20', '2026-11-20', ['Jan 2026', 'Mar 2026', 'May 2026', 'Jul 2026', 'Sept 2026', 'Nov 2026']],
    ['2009-01-03', '2026-11-20', ['2010', '2015', '2020', '2025']],
  ])('from %s to %s', (from, to, expected) => {
    expect(labels(from, to)).toEqual(expected)
  })

  it('are in the language of the page', () => {
    expect(labels('2026-02-27', '2026-03-02', new Format('de-DE'))).toEqual([
      '27. Feb.',
      '28. Feb.',
      '1. März',
      '2. März',
    ])
  })

  it('are within any span, at even distances of at least a ninth of it, and have different labels', () => {
    const spans = fc.integer({ min: 5 * 60_000, max: 60 * 365 * DAY })
    const begins = fc.integer({ min: at('2009-01-03'), max: at('2040-01-01') })
    fc.assert(
      fc.property(begins, spans, (from, span) => {
        const ticks = timeTicks(f, from, from + span, 8)
        expect(new Set(ticks.map(({ label }) => label)).size).toBe(ticks.length)
        expect(ticks.length).toBeGreaterThanOrEqual(1)
        expect(ticks.length).toBeLessThanOrEqual(10)
        for (const { value } of ticks) {
          expect(value).toBeGreaterThanOrEqual(from)
          expect(value).toBeLessThanOrEqual(from + span)
        }
        const gaps = ticks.slice(1).map(({ value }, index) => value - ticks[index]!.value)
        // Months and leap years differ by a tenth at most.
        if (gaps.length > 0) expect(Math.max(...gaps) / Math.min(...gaps)).toBeLessThan(1.11)
      }),
    )
  })
})

describe('ticks of numbers', () => {
  it('are round, within the span, and whole for heights', () => {
    expect(roundNumbers(0, 1, 4)).toEqual([0, 0.5, 1])
    expect(roundNumbers(0, 0.3, 3)).toEqual([0, 0.1, 0.2, 0.3])
    expect(numberTicks(f, 5_761, 7_201, 8).map(({ label }) => label)).toEqual([
      '5,800',
      '6,000',
      '6,200',
      '6,400',
      '6,600',
      '6,800',
      '7,000',
      '7,200',
    ])
    expect(numberTicks(f, 3, 5, 8).map(({ value }) => value)).toEqual([3, 4, 5])
    expect(numberTicks(f, 3, 3, 8).map(({ value }) => value)).toEqual([3])
  })
})
