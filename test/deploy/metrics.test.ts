import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_STATE } from '../../pipelines/poll/poller.js'
import { MaterializerMetrics } from '../../services/materializer/metrics.js'
import { PollerMetrics } from '../../services/poller/metrics.js'
import { WebhooksMetrics } from '../../services/webhooks/metrics.js'
import { useEngine } from '../harness/engine.js'
import { Pipeline } from '../harness/pipeline.js'
import { metricsIn, seriesIn } from './promql.js'
import { type Document, documents, ran, text, tool } from './tools.js'

/** Metrics of Prometheus itself, and of the node exporter that compose.yaml runs and prometheus.yml scrapes. */
const OF_OTHERS = new Set(['up', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes'])

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly annotations?: { readonly summary: string }
}

const [{ groups }] = documents('deploy/prometheus/rules.yml') as [{ groups: { rules: Rule[] }[] }]
const rules = groups.flatMap((group) => group.rules)
const alerts = rules.flatMap(({ alert }) => (alert === undefined ? [] : [alert]))
const recorded = rules.flatMap(({ record }) => (record === undefined ? [] : [record]))
const [tests] = documents('deploy/prometheus/rules.test.yml') as [Document]
const dashboard = JSON.parse(text('deploy/grafana/headwater.json'))
const queries: string[] = dashboard.panels.flatMap(({ targets }: Document) =>
  targets.map(({ expr }: Document) => expr),
)
const promtool = tool('promtool')

describe('PromQL', () => {
  it('is parsed for metrics, not for labels and functions', () => {
    expect(
      metricsIn('histogram_quantile(0.9, sum by (le, route) (rate(a_bucket{status=~"5.."}[5m]))) > b'),
    ).toEqual(['a_bucket', 'b'])
    expect(() => metricsIn('sum(rate(a[5m])')).toThrow(/not PromQL/)
  })
})

describe('alerts and the dashboard', () => {
  let pipeline: Pipeline
  let reported: Set<string>

  beforeAll(async () => {
    pipeline = await Pipeline.start({ engineUrl: useEngine(), nodeUrl: 'http://127.0.0.1:1' })
    const answer = await fetch(`${pipeline.url}/metrics`)
    const poller = new PollerMetrics(() => NO_STATE, 1000)
    const materializer = new MaterializerMetrics({
      head: () => undefined,
      logEnd: () => Promise.resolve(undefined),
    })
    const webhooks = new WebhooksMetrics({
      height: () => 0,
      queue: () => ({ waiting: 0, dead: 0, oldest: undefined }),
      isFileRefused: () => false,
    })
    const texts = [await answer.text()]
    for (const each of [poller, materializer, webhooks]) texts.push((await each.text()).text)
    reported = new Set(texts.flatMap((each) => [...seriesIn(each)]))
  })
  afterAll(() => pipeline.close())

  it('name only metrics that explorer, poller, materializer and webhooks export', () => {
    expect(reported.size).toBeGreaterThan(30)
    const named = [...rules.map(({ expr }) => expr), ...queries].flatMap(metricsIn)
    expect(named.length).toBeGreaterThan(50)
    const unknown = named.filter(
      (name) => !reported.has(name) && !OF_OTHERS.has(name) && !recorded.includes(name),
    )
    expect(unknown).toEqual([])
  })

  it('cover every metric that these processes declare themselves', () => {
    const named = new Set([...rules.map(({ expr }) => expr), ...queries].flatMap(metricsIn))
    const own = [...reported].filter((name) => !/^headwater_(\w+(er|ks)_)?(nodejs|process)_/.test(name))
    for (const prefix of ['headwater_poller_', 'headwater_materializer_'])
      expect(own.filter((name) => name.startsWith(prefix)).length, prefix).toBeGreaterThan(10)
    expect(own.length).toBeGreaterThan(40)
    expect(own.filter((name) => !named.has(name))).toEqual([])
  })

  it('have tests with names of rules that exist', () => {
    const tested = tests.tests.flatMap(({ alert_rule_test: each = [] }: Document) =>
      each.map(({ alertname }: Document) => alertname),
    )
    expect(tested.filter((name: string) => !alerts.includes(name))).toEqual([])
    const series = tests.tests.flatMap(({ input_series: each }: Document) =>
      each.flatMap(({ series: one }: Document) => metricsIn(one)),
    )
    expect(series.filter((name: string) => !reported.has(name) && !OF_OTHERS.has(name))).toEqual([])
  })

  it('say what is wrong, and have a section in the runbook that says what to do', () => {
    for (const { alert, annotations } of rules)
      if (alert !== undefined) expect(annotations?.summary, alert).toMatch(/[.?]$/)
    const runbook = text('content/runbook.md')
    expect(alerts.filter((name) => !runbook.includes(`\`${name}\``))).toEqual([])
    const named = [...runbook.matchAll(/`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`/g)].map(([, name]) => name)
    expect(
      named.filter((name) => /^(PoisonEvent|LogShrank)$/.test(name ?? '') || alerts.includes(name ?? '')),
    ).toEqual(named)
  })

  it('do not overlap on the dashboard', () => {
    const panels: Document[] = dashboard.panels
    const meet = (one: Document, other: Document): boolean =>
      one.x < other.x + other.w &&
      other.x < one.x + one.w &&
      one.y < other.y + other.h &&
      other.y < one.y + one.h
    for (const [index, one] of panels.entries()) {
      expect(one.gridPos.x + one.gridPos.w).toBeLessThanOrEqual(24)
      for (const other of panels.slice(index + 1))
        expect(meet(one.gridPos, other.gridPos), one.title).toBe(false)
    }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })

  it.skipIf(promtool === undefined)('are accepted by Prometheus', () => {
    const config = ran(promtool!, ['check', 'config', 'deploy/prometheus/prometheus.yml'])
    expect(config.status, config.output).toBe(0)
    expect(config.output).toContain(`SUCCESS: ${String(rules.length)} rules found`)
  })

  it.skipIf(promtool === undefined)('alert the operator when they should, and only then', () => {
    const result = ran(promtool!, ['test', 'rules', 'deploy/prometheus/rules.test.yml'])
    expect(result.status, result.output).toBe(0)
  })
})
