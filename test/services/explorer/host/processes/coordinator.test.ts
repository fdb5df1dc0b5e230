import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { stats, whaleAlerts } from '../../../../../services/explorer/core/feed/channels.js'
import { Feed } from '../../../../../services/explorer/core/feed/feed.js'
import type { Health } from '../../../../../services/explorer/core/health/health.js'
import { monotonicMs } from '../../../../../services/explorer/host/processes/clock.js'
import { Coordinator, type Process } from '../../../../../services/explorer/host/processes/coordinator.js'
import { Member } from '../../../../../services/explorer/host/processes/member.js'
import { MetricSet } from '../../../../../services/metrics/prometheus.js'
import { until } from '../../../../harness/until.js'
import { valueOf } from '../../../metrics/prometheus-text.js'

const BEGIN = 1_000_000
const PEER = { peer: Uint8Array.of(192, 0, 2, 1), forwardedFor: '' }

/** Metrics as the explorer has them: of each kind, and of each combination. */
class Figures extends MetricSet {
  readonly answers = this.count('answers_total', 'Answers.', 'status')
  readonly times = this.seconds('duration_seconds', 'Durations.', 'route')

  constructor(
    height: () => number,
    readonly reorgs: number,
  ) {
    super('sample_')
    this.gauge('height', 'Height.', height, 'min')
    this.gauge('lag', 'Lag.', () => 9 - height(), 'max')
    this.gauge('clients', 'Clients.', () => 2)
    this.counted('reorgs_total', 'Reorganisations.', () => this.reorgs, 'max')
  }
}

interface Each {
  readonly member: Member
  readonly feed: Feed
  readonly sent: { channel: string; seq: number; data: object }[]
  readonly figures: Figures
  readonly process: Process
  readonly stop: AbortController
}

const health = (fields: Partial<Health> = {}): Health =>
  ({ status: 'ok', wsClients: 0, ...fields }) as unknown as Health

describe('the processes of an explorer', () => {
  let now: number
  let coordinator: Coordinator
  let processes: Each[]
  let started: number

  beforeEach(() => {
    now = 50_000
    started = 0
    processes = []
    coordinator = new Coordinator({
      limits: { requests: 10, pages: 60, broadcasts: 3, esplora: 5, electrum: 7 },
      now: () => now,
      feedBegin: BEGIN,
      onDefect: (error) => {
        throw error
      },
    })
  })
  afterEach(() => {
    for (const { figures, stop } of processes) {
      figures.close()
      stop.abort()
    }
    coordinator.close()
  })

  /** Messages arrive a turn of the event loop later, as between processes. */
  async function start({ height = 5, reorgs = 3 } = {}): Promise<Each> {
    const sent: Each['sent'] = []
    const stop = new AbortController()
    const member: Member = new Member({
      size: 2,
      logger: pino({ level: 'silent' }),
      signal: stop.signal,
      send: (message) => {
        setImmediate(() => {
          if (processes.includes(each)) coordinator.receive(structuredClone(message), process)
        })
      },
    })
    const process: Process = {
      id: ++started,
      send: (message) => {
        setImmediate(() => {
          member.receive(structuredClone(message))
        })
      },
    }
    const feed: Feed = new Feed((_, { text }) => sent.push(JSON.parse(text)), member.offer)
    const figures = new Figures(() => height, reorgs)
    const each = { member, feed, sent, figures, process, stop }
    processes.push(each)
    await member.join({ feed, metrics: figures })
    member.report(health(), true)
    return each
  }

  function exit(each: Each): void {
    processes = processes.filter((other) => other !== each)
    coordinator.exited(each.process)
    each.stop.abort()
    each.figures.close()
  }

  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  }

  describe('publish whale alerts', () => {
    const alert = ({ feed }: Each, txid: string): void => {
      feed.announce('whale-alerts', txid, { txid })
    }
    const alerts = ({ sent }: Each): string[] =>
      sent
        .filter(({ channel }) => channel === 'whale-alerts')
        .map(({ seq, data }) => `${String(seq - BEGIN)} ${(data as { txid: string }).txid}`)

    it('once and under the same numbers, in whatever order they see the transactions', async () => {
      const [one, two] = [await start(), await start()]
      alert(one, 'a')
      alert(two, 'b')
      await settled()
      alert(two, 'a')
      alert(one, 'b')
      alert(one, 'c')
      await settled()
      expect(alerts(one)).toEqual(['1 a', '2 b', '3 c'])
      expect(alerts(two)).toEqual(alerts(one))
    })

    it('never before they can answer for them', async () => {
      const [fast, slow] = [await start(), await start()]
      fast.feed.publish('mempool', { txid: 'a' }, 1)
      alert(fast, 'a')
      fast.feed.publish('blocks', { height: 1 }, 1)
      await settled()
      expect(alerts(fast)).toEqual(['1 a'])
      expect(alerts(slow)).toEqual([])
      slow.feed.publish('mempool', { txid: 'a' }, 1)
      await settled()
      // The turn in which the fast process saw the transaction ended with the block.
      expect(alerts(slow)).toEqual([])
      slow.feed.publish('blocks', { height: 1 }, 1)
      await until('the alert', () => alerts(slow).length === 1)
    })

    it('again from a process that was restarted, so that a client can continue there', async () => {
      const [one, two] = [await start(), await start()]
      for (const txid of ['a', 'b', 'c']) alert(one, txid)
      await settled()
      exit(two)
      alert(one, 'd')
      await settled()
      const again = await start()
      await settled()
      const missed = again.feed.missed('whale-alerts', BEGIN + 2)
      expect(missed).toHaveLength(2)
      expect(missed).toEqual(one.feed.missed('whale-alerts', BEGIN + 2))
      alert(again, 'd')
      alert(again, 'e')
      await settled()
      expect(alerts(one)).toEqual(['1 a', '2 b', '3 c', '4 d', '5 e'])
      expect(again.feed.lastOf('whale-alerts')).toBe(BEGIN + 5)
    })

    it('keeping as many as a single process', async () => {
      const one = await start()
      for (let index = 0; index < whaleAlerts.history + 20; index++) alert(one, `tx ${String(index)}`)
      await settled()
      const two = await start()
      await settled()
      expect(two.feed.lastOf('whale-alerts')).toBe(one.feed.lastOf('whale-alerts'))
      expect(two.feed.missed('whale-alerts', BEGIN + 20)).toHaveLength(whaleAlerts.history)
      expect(two.feed.missed('whale-alerts', BEGIN + 19)).toBeUndefined()
    })
  })

  it('publish stats once for each block, and otherwise once per interval', async () => {
    const [one, two] = [await start(), await start()]
    const seqs = ({ sent }: Each): number[] =>
      sent.filter(({ channel }) => channel === 'stats').map(({ seq }) => seq)
    const both = async (): Promise<void> => {
      for (const { feed } of [one, two]) feed.announce('stats', '', {})
      await settled()
    }
    for (const { feed } of [one, two]) feed.publish('blocks', { height: 1 }, 1)
    await both()
    expect(seqs(one)).toEqual([BEGIN + 1])
    now += stats.numbering.everyMs - 1_000
    await both()
    expect(seqs(one)).toHaveLength(1)
    now += 1_000
    await both()
    expect(seqs(one)).toHaveLength(2)
    for (const { feed } of [one, two]) feed.publish('blocks', { height: 2 }, 2)
    await both()
    expect(seqs(one)).toEqual([BEGIN + 1, BEGIN + 2, BEGIN + 3])
    expect(seqs(two)).toEqual(seqs(one))
  })

  describe('return metrics', () => {
    it('of all of them: sums, the minimum of heights, the maximum of lags', async () => {
      const [one, two] = [await start({ height: 5 }), await start({ height: 7 })]
      one.figures.answers.inc({ status: '200' }, 3)
      two.figures.answers.inc({ status: '200' }, 4)
      two.figures.answers.inc({ status: '404' }, 1)
      one.figures.times.observe({ route: '/a' }, 0.003)
      two.figures.times.observe({ route: '/a' }, 0.3)
      await settled()
      const { text, type } = await two.member.metricsText()
      expect(type).toContain('text/plain')
      expect(valueOf(text, 'sample_answers_total{status="200"}')).toBe(7)
      expect(valueOf(text, 'sample_answers_total{status="404"}')).toBe(1)
      expect(valueOf(text, 'sample_duration_seconds_count{route="/a"}')).toBe(2)
      expect(valueOf(text, 'sample_duration_seconds_sum{route="/a"}')).toBeCloseTo(0.303)
      expect(valueOf(text, 'sample_duration_seconds_bucket{le="0.005",route="/a"}')).toBe(1)
      expect(valueOf(text, 'sample_duration_seconds_bucket{le="+Inf",route="/a"}')).toBe(2)
      expect(valueOf(text, 'sample_height')).toBe(5)
      expect(valueOf(text, 'sample_lag')).toBe(4)
      expect(valueOf(text, 'sample_clients')).toBe(4)
      expect(valueOf(text, 'sample_reorgs_total')).toBe(3)
      expect(valueOf(text, 'headwater_process_resident_memory_bytes')).toBeGreaterThan(0)
      expect(text.match(/^# TYPE sample_answers_total /gm)).toHaveLength(1)
    })

    it('whose counters do not fall when a process exits, and whose gauges do', async () => {
      const [one, two] = [await start(), await start()]
      one.figures.answers.inc({ status: '200' }, 3)
      two.figures.answers.inc({ status: '200' }, 4)
      two.figures.times.observe({ route: '/a' }, 0.3)
      await settled()
      await one.member.metricsText()
      for (let restart = 1; restart <= 3; restart++) {
        exit(processes[1]!)
        const again = await start()
        again.figures.answers.inc({ status: '200' })
        await settled()
        const { text } = await one.member.metricsText()
        expect(valueOf(text, 'sample_answers_total{status="200"}')).toBe(7 + restart)
        expect(valueOf(text, 'sample_duration_seconds_count{route="/a"}')).toBe(1)
        expect(valueOf(text, 'sample_clients')).toBe(4)
        expect(valueOf(text, 'sample_reorgs_total')).toBe(3)
      }
    })

    it('of a process that does not reply as they were when it last did', async () => {
      const [one, two] = [await start(), await start()]
      two.figures.answers.inc({ status: '200' }, 4)
      await settled()
      await one.member.metricsText()
      // Frozen: it receives nothing any more.
      Object.assign(two.process, { send: () => undefined })
      one.figures.answers.inc({ status: '200' })
      const { text } = await one.member.metricsText()
      expect(valueOf(text, 'sample_answers_total{status="200"}')).toBe(5)
    })
  })

  describe('report their health', () => {
    it('as that of all: clients add up, and one that fails degrades it', async () => {
      const [one, two] = [await start(), await start()]
      one.member.report(health({ wsClients: 3 }), true)
      two.member.report(health({ wsClients: 4 }), true)
      await settled()
      const processesOf = { configured: 2, serving: 2 }
      expect(one.member.healthOf(health({ wsClients: 5 }))).toMatchObject({
        status: 'ok',
        wsClients: 9,
        processes: processesOf,
      })
      const failure = { error: 'Not ready yet', code: 'HW_NOT_READY' } as const
      two.member.report(health({ status: 'degraded', ...failure }), true)
      await settled()
      expect(one.member.healthOf(health())).toMatchObject({
        status: 'degraded',
        ...failure,
        processes: { configured: 2, serving: 1 },
      })
      expect(two.member.isServedByOthers).toBe(true)
      expect(one.member.isServedByOthers).toBe(false)
    })

    it('without those that are starting, which get no requests', async () => {
      const [one, two] = [await start(), await start()]
      exit(two)
      await settled()
      expect(one.member.healthOf(health())).toMatchObject({
        status: 'ok',
        processes: { configured: 2, serving: 1 },
      })
      const again = await start()
      again.member.report(health({ status: 'degraded', error: 'Not ready yet', code: 'HW_NOT_READY' }), false)
      await settled()
      expect(one.member.healthOf(health()).status).toBe('ok')
      expect([one, again].filter(({ member }) => member.isFirst)).toEqual([one])
    })
  })

  it('count the requests of a client together, and what a process that exited had leased as used', async () => {
    const [one, two] = [await start(), await start()]
    const limits = [one, two].map(({ member }) => member.limit('requests', 10, 0))
    // By which the members measure.
    now = monotonicMs()
    const outcomes = await Promise.all(
      Array.from({ length: 24 }, (_, request) => Promise.resolve(limits[request % 2]!.take(PEER))),
    )
    expect(outcomes.filter((retryMs) => retryMs === undefined)).toHaveLength(10)
    for (const retryMs of outcomes) if (retryMs !== undefined) expect(retryMs).toBeGreaterThan(0)
    const other = { peer: Uint8Array.of(192, 0, 2, 2), forwardedFor: '' }
    expect(await limits[0]!.take(other)).toBeUndefined()
    exit(one)
    const rest = await Promise.all(Array.from({ length: 10 }, () => Promise.resolve(limits[1]!.take(other))))
    expect(rest.filter((retryMs) => retryMs === undefined)).toHaveLength(5)
  })
})
