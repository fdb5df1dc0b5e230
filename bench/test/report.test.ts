import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { asText, type Figure, judge, report } from '../report.js'

const ROOT = resolve(import.meta.dirname, '../..')
const figure = (ratio: number | undefined, more: Partial<Figure> = {}): Figure => ({
  name: 'requests',
  value: 50,
  unit: 'requests/s',
  ...(ratio === undefined ? {} : { baseline: 100, ratio }),
  ...more,
})

describe('a figure', () => {
  it('has exactly the fields of a report, with null for those that it lacks', () => {
    expect(judge(figure(undefined), {})).toEqual({
      name: 'requests',
      value: 50,
      unit: 'requests/s',
      baseline: null,
      ratio: null,
      bar: null,
      ok: true,
    })
    expect(judge(figure(0.123456), { bar: 0.1 })).toEqual({
      name: 'requests',
      value: 50,
      unit: 'requests/s',
      baseline: 100,
      ratio: 0.1235,
      bar: 0.1,
      ok: true,
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
    expect(judge(figure(0.84), { ratio: 1 })).toMatchObject({ ok: false, bar: 0.85 })
    expect(judge(figure(0.84), { ratio: 1 }, true)).toMatchObject({ ok: true, bar: null })
    expect(judge(figure(0.86), { ratio: 1 }).ok).toBe(true)
    expect(judge(figure(0.86), { bar: 0.5, ratio: 1 }).bar).toBe(0.85)
    expect(judge(figure(0.86), { bar: 0.87, ratio: 1 }).bar).toBe(0.87)
  })

  it('fails above its upper limit', () => {
    expect(judge(figure(undefined, { most: 49 }), {}).ok).toBe(false)
    expect(judge(figure(undefined, { most: 50 }), {}).ok).toBe(true)
    expect(judge(figure(3.1, { maxRatio: 3 }), {})).toMatchObject({ ok: false, bar: 3 })
    expect(judge(figure(2.9, { maxRatio: 3 }), {}).ok).toBe(true)
    expect(judge(figure(2.9, { maxRatio: 3 }), { ratio: 2 }).ok).toBe(false)
    expect(judge(figure(2.9, { maxRatio: 3 }), { ratio: 2 }, true).ok).toBe(true)
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

describe('bench/baseline.json', () => {
  const stored = JSON.parse(readFileSync(join(ROOT, 'bench/baseline.json'), 'utf8')) as Record<string, object>

  it('is about suites that exist', () => {
    const main = readFileSync(join(ROOT, 'bench/main.ts'), 'utf8')
    expect(Object.keys(stored)).not.toEqual([])
    const missing = Object.keys(stored).filter((suite) => !new RegExp(`^ {2}'?${suite}'?: `, 'm').test(main))
    expect(missing).toEqual([])
  })

  it('has only limits, and ratios that are one', () => {
    for (const [name, limits] of Object.values(stored).flatMap((figures) => Object.entries(figures))) {
      expect(['bar,least', 'bar,ratio', 'bar', 'ratio'], name).toContain(Object.keys(limits).join(','))
      const { bar = 0, ratio = Number.POSITIVE_INFINITY } = limits as { bar?: number; ratio?: number }
      expect(judge(figure(bar), limits as object).ok, `the bar of ${name} makes its ratio useless`).toBe(
        ratio === Number.POSITIVE_INFINITY,
      )
    }
  })
})
