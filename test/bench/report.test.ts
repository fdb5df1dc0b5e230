import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { asText, type Figure, judge, report, type Stored } from '../../bench/report.js'
import { withEarlier, withMeasured } from '../../bench/stored-figures.js'

const ROOT = resolve(import.meta.dirname, '../..')
const figure = (ratio: number | undefined, more: Partial<Figure> = {}): Figure => ({
  ...{ name: 'requests', value: 50, unit: 'requests/s' },
  ...(ratio === undefined ? {} : { baseline: 100, ratio }),
  ...more,
})
const measured = (ratio: number): NonNullable<Stored['measured']> => ({ value: 1, ratio, date: '2026-11-22' })

describe('a figure', () => {
  it('has exactly the fields of a report, with null for those that it lacks', () => {
    expect(judge(figure(undefined), {})).toEqual({
      ...{
        name: 'requests',
        value: 50,
        unit: 'requests/s',
        baseline: null,
        ratio: null,
        bar: null,
        ok: true,
      },
    })
    expect(judge(figure(0.123456), { bar: 0.1 })).toEqual({
      ...{
        name: 'requests',
        value: 50,
        unit: 'requests/s',
        baseline: 100,
        ratio: 0.1235,
        bar: 0.1,
        ok: true,
      },
    })
  })

  it('fails below its bar, and without a ratio if its value is below it', () => {
    expect(judge(figure(0.749), { bar: 0.75 }).ok).toBe(false)
    expect(judge(figure(0.75), { bar: 0.75 }).ok).toBe(true)
    expect(judge(figure(undefined), { bar: 50.1 }).ok).toBe(false)
    expect(judge(figure(undefined), { bar: 50 }).ok).toBe(true)
    expect(judge(figure(1), { bar: 0.9, least: 50 }).ok).toBe(true)
    expect(judge(figure(1), { bar: 0.9, least: 50.1 }).ok).toBe(false)
  })

  it('fails if its ratio is 15 % below the last measurement, except in a quick run', () => {
    expect(judge(figure(0.84), { measured: measured(1) })).toMatchObject({ ok: false, bar: 0.85 })
    expect(judge(figure(0.84), { measured: measured(1) }, true)).toMatchObject({ ok: true, bar: null })
    expect(judge(figure(0.86), { measured: measured(1) }).ok).toBe(true)
    expect(judge(figure(0.86), { bar: 0.5, measured: measured(1) }).bar).toBe(0.85)
    expect(judge(figure(0.86), { bar: 0.87, measured: measured(1) }).bar).toBe(0.87)
  })

  it('fails above its upper limit', () => {
    expect(judge(figure(undefined, { most: 49 }), {}).ok).toBe(false)
    expect(judge(figure(undefined, { most: 50 }), {}).ok).toBe(true)
    expect(judge(figure(3.1, { maxRatio: 3 }), {})).toMatchObject({ ok: false, bar: 3 })
    expect(judge(figure(2.9, { maxRatio: 3 }), {}).ok).toBe(true)
    expect(judge(figure(2.9, { maxRatio: 3 }), { measured: measured(2) }).ok).toBe(false)
    expect(judge(figure(2.9, { maxRatio: 3 }), { measured: measured(2) }, true).ok).toBe(true)
  })

  it('that must be a multiple of an earlier ratio fails as long as that ratio is not known', () => {
    expect(judge(figure(9), { timesEarlier: 4 })).toMatchObject({ ok: false, bar: null })
    const earlier = { ratio: 2, commit: '4428b4b' }
    expect(judge(figure(7.9), { timesEarlier: 4, earlier })).toMatchObject({ ok: false, bar: 8 })
    expect(judge(figure(8), { timesEarlier: 4, earlier }).ok).toBe(true)
  })

  it('that is no number fails a limit', () => {
    expect(judge(figure(Number.NaN), { bar: 0 }).ok).toBe(false)
    expect(judge(figure(Number.NaN, { maxRatio: 3 }), {}).ok).toBe(false)
    expect(judge(figure(undefined, { most: 3, value: Number.NaN }), {}).ok).toBe(false)
  })
})

describe('a report', () => {
  it('is the JSON of the instructions', () => {
    const result = report(
      'ingest',
      [figure(0.5), figure(0.5, { name: 'others' })],
      { requests: { bar: 0.6 } },
      true,
    )
    const json = JSON.parse(JSON.stringify(result)) as typeof result
    expect(Object.keys(json)).toEqual(['suite', 'machine', 'figures'])
    expect(json.suite).toBe('ingest')
    expect(json.figures.map(({ name, ok }) => `${name} ${String(ok)}`)).toEqual([
      'requests false',
      'others true',
    ])
    for (const each of json.figures)
      expect(Object.keys(each)).toEqual(['name', 'value', 'unit', 'baseline', 'ratio', 'bar', 'ok'])
  })

  it('marks missed bars in its text', () => {
    const figures = [judge(figure(0.5), { bar: 0.6 }), judge(figure(undefined), {})]
    expect(asText({ suite: 'ingest', machine: 'test', figures }).split('\n')).toEqual([
      'ingest on test',
      'MISS requests: 50 requests/s, 0.5 of the baseline (bar 0.6)',
      'ok   requests: 50 requests/s',
    ])
  })
})

describe('stored figures', () => {
  const result = report('ingest', [figure(0.5), figure(undefined, { name: 'size' })], {}, false)

  it('keep their bars when a measurement is stored', () => {
    const stored = {
      ingest: { requests: { bar: 0.4, measured: measured(9) } },
      other: { requests: { bar: 1 } },
    }
    expect(withMeasured(stored, result, '2026-12-01')).toEqual({
      ingest: { requests: { bar: 0.4, measured: { value: 50, ratio: 0.5, date: '2026-12-01' } } },
      other: { requests: { bar: 1 } },
    })
    expect(withMeasured({ ingest: { size: {} } }, result, '2026-12-01')['ingest']).toMatchObject({
      size: { measured: { value: 50, date: '2026-12-01' } },
    })
  })

  it('take the ratio of an earlier version where a bar is a multiple of it', () => {
    const stored = { ingest: { requests: { timesEarlier: 4 }, size: { bar: 1 } } }
    expect(withEarlier(stored, result, '4428b4b')).toEqual({
      ingest: { requests: { timesEarlier: 4, earlier: { ratio: 0.5, commit: '4428b4b' } }, size: { bar: 1 } },
    })
  })
})

describe('bench/baseline.json', () => {
  it('is about suites that exist', () => {
    const stored = JSON.parse(readFileSync(join(ROOT, 'bench/baseline.json'), 'utf8')) as object
    const main = readFileSync(join(ROOT, 'bench/main.ts'), 'utf8')
    expect(Object.keys(stored)).not.toEqual([])
    const missing = Object.keys(stored).filter((suite) => !new RegExp(`^ {2}'?${suite}'?: `, 'm').test(main))
    expect(missing).toEqual([])
  })
})
