import { describe, expect, it } from 'vitest'
import {
  type Chart,
  chart,
  type Point,
  thinned,
} from '../../../../../../../services/explorer/faces/pages/components/charts/chart.js'
import { Format } from '../../../../../../../services/explorer/faces/pages/format.js'
import { MESSAGES } from '../../../../../../../services/explorer/faces/pages/language.js'
import type { PageContext } from '../../../../../../../services/explorer/faces/pages/page.js'

const page = { t: MESSAGES.en, f: new Format('en-GB') } as PageContext
const HEIGHT = 240
const TOP = 8

function drawn(points: readonly Point[], options: Partial<Chart> = {}) {
  const lines = points[0]!.slice(1).map((_, at) => `figure ${String(at)}`)
  const { text } = chart(page, { id: 'test', title: 'Test', x: 'Height', lines, points, ...options })
  const pathOf = (name: string): number[][] | undefined =>
    new RegExp(`class="${name}" d="M([^"]*)"`)
      .exec(text)?.[1]
      ?.replace('Z', '')
      .split('L')
      .map((pair) => pair.split(' ').map(Number))
  const values = /<svg class="values".*?<\/svg>/s.exec(text)?.[0] ?? ''
  const ticks = [...values.matchAll(/>([^<>]+)<\/text>/g)].map(([, label]) => label!.trim())
  return { text, pathOf, ticks }
}

describe('a chart', () => {
  it('has its axis and its area from 0', () => {
    const { pathOf, ticks } = drawn([
      [10, 0],
      [11, 50],
      [13, 100],
    ])
    expect(ticks).toEqual(['0', '50', '100'])
    // 12 has no block: the distances are those of the heights.
    expect(pathOf('line-0')).toEqual([
      [0, HEIGHT],
      [333.3, (HEIGHT + TOP) / 2],
      [1000, TOP],
    ])
    expect(pathOf('under')!.slice(3)).toEqual([
      [1000, HEIGHT],
      [0, HEIGHT],
    ])
  })

  it('whose figures hardly differ is a line without an area, on an axis that does not begin at 0', () => {
    const { pathOf, ticks } = drawn([
      [1, '1000000'],
      [2, '1003000'],
    ])
    expect(ticks).toEqual(['1.000M', '1.001M', '1.002M', '1.003M'])
    expect(pathOf('under')).toBeUndefined()
    expect(pathOf('line-0')).toEqual([
      [0, HEIGHT],
      [1000, TOP],
    ])
  })

  it('of figures that are all equal, or 0, has an axis too', () => {
    const { pathOf, ticks } = drawn([
      [1, 0, '0.0000000004656542373906925'],
      [2, 0, '0.0000000004656542373906925'],
    ])
    expect(ticks).toEqual(['0', '2 × 10⁻¹⁰', '4 × 10⁻¹⁰', '6 × 10⁻¹⁰'])
    expect(pathOf('line-0')).toEqual([
      [0, HEIGHT],
      [1000, HEIGHT],
    ])
    expect(
      drawn([
        [1, 0],
        [2, 0],
      ]).text,
    ).not.toContain('NaN')
  })

  it('draws each of three lines, and refuses more than it can distinguish', () => {
    const { text, pathOf } = drawn([
      [1, 1, 2, 3],
      [2, 4, 5, 6],
    ])
    for (const line of ['line-0', 'line-1', 'line-2']) expect(pathOf(line), line).toHaveLength(2)
    expect(text.match(/<dt>/g)).toHaveLength(4)
    expect(() =>
      drawn([
        [1, 1, 2, 3, 4],
        [2, 1, 2, 3, 4],
      ]),
    ).toThrow('the chart test has 4 lines')
  })

  it('of bands has each on top of those before it', () => {
    const { pathOf, ticks } = drawn(
      [
        [1, 10, 30],
        [2, 20, 0],
      ],
      { isStacked: true },
    )
    expect(ticks).toEqual(['0', '10', '20', '30', '40'])
    const yOf = (value: number): number => HEIGHT - (value / 40) * (HEIGHT - TOP)
    expect(pathOf('band-1')).toEqual([
      [0, yOf(40)],
      [1000, yOf(20)],
      [1000, yOf(20)],
      [0, yOf(10)],
    ])
  })

  it('of one point is a table', () => {
    expect(drawn([[1, 5]]).text).not.toContain('<svg')
  })

  it('of a long series has at most 360 of its points, among them the extremes and the last', () => {
    const points = Array.from({ length: 10_080 }, (_, at): Point => [at, (at * 7919) % 4001])
    const kept = thinned(points)
    expect(kept.length).toBeLessThanOrEqual(361)
    expect(kept.every((point) => points.includes(point))).toBe(true)
    expect([...kept].sort((one, other) => Number(one[0]) - Number(other[0]))).toEqual(kept)
    expect(kept.at(-1)).toBe(points.at(-1))
    const values = points.map(([, value]) => Number(value))
    const shown = kept.map(([, value]) => Number(value))
    expect(Math.max(...shown)).toBe(Math.max(...values))
    expect(Math.min(...shown)).toBe(Math.min(...values))
    expect(thinned(points.slice(0, 300))).toHaveLength(300)
  })
})
