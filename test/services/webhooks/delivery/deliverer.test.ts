import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Deliverer } from '../../../../services/webhooks/delivery/deliverer.js'
import type { Outcome } from '../../../../services/webhooks/delivery/sender.js'
import type { Hook } from '../../../../services/webhooks/hooks.js'
import { Store } from '../../../../services/webhooks/store.js'
import { until } from '../../../harness/until.js'

const HOUR = 3_600_000
const RETRY_MS = [1_000, HOUR, 10 * HOUR]
const FAILED: Outcome = { kind: 'failed', error: 'answered 500' }

describe('delivering webhooks', () => {
  let folder: string
  let store: Store
  let stop: AbortController
  let running: Promise<void>
  let deliverer: Deliverer
  let now: number
  let hooks: Hook[]
  /** The outcomes of attempts by hook, and the ids that were sent. */
  let answers: Map<string, Outcome>
  let sent: string[]

  const hookOf = (id: string, url = `https://${id}.example/`): Hook => {
    const watched = { scripts: new Map(), txids: new Set<string>(), minValue: undefined, reorgs: true }
    return { id, url, secrets: [], confirmations: [1], ...watched }
  }

  function queue(...ids: readonly string[]): void {
    store.write(() => {
      const events = ids.map((id) => ({
        hook: id[0] ?? '',
        id,
        type: 'reorg' as const,
        body: `{"id":"${id}"}`,
      }))
      store.queue(events, now)
    })
    deliverer.wake()
  }

  function start(): void {
    stop = new AbortController()
    store = new Store(join(folder, 'webhooks.sqlite'))
    store.write(() => {
      for (const { id } of hooks) store.register(id, 0, new Set())
    })
    deliverer = new Deliverer({
      store,
      logger: pino({ level: 'silent' }),
      hooks: () => hooks,
      send: (hook, { id }) => {
        sent.push(id)
        return Promise.resolve(answers.get(hook.id) ?? { kind: 'delivered' })
      },
      attempted: () => undefined,
      retryMs: RETRY_MS,
      now: () => now,
    })
    running = deliverer.run(stop.signal)
  }

  async function end(): Promise<void> {
    stop.abort()
    await running
    store.close()
  }

  /** Advances the clock, and waits for the attempts that follow. */
  async function attemptsAfter(ms: number, count: number): Promise<void> {
    const before = sent.length
    now += ms
    deliverer.wake()
    await until('the attempts are made', () => sent.length >= before + count)
    await until('the outcome is stored', () =>
      store.overview().every(({ id, due, waiting }) => {
        return waiting === 0 || due > now || !answers.has(id)
      }),
    )
    expect(sent.length).toBe(before + count)
  }

  const stateOf = (id: string) => store.overview().find((each) => each.id === id)!

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headwater-deliverer-'))
    now = Date.UTC(2026, 0, 1)
    hooks = [hookOf('a'), hookOf('b')]
    answers = new Map()
    sent = []
    start()
  })
  afterEach(async () => {
    await end()
    rmSync(folder, { recursive: true })
  })

  it('sends in order, and a hook that fails holds up only itself', async () => {
    answers.set('a', FAILED)
    queue('a1', 'a2', 'b1', 'b2')
    await until('those of b are sent', () => stateOf('b').waiting === 0)
    await until('the failure is stored', () => stateOf('a').failures === 1)
    expect(sent.filter((id) => id.startsWith('a'))).toEqual(['a1'])
    expect(sent.filter((id) => id.startsWith('b'))).toEqual(['b1', 'b2'])
    answers.delete('a')
    now += 2_000
    deliverer.wake()
    await until('those of a are sent', () => stateOf('a').waiting === 0)
    expect(sent.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a1', 'a2'])
    expect(stateOf('a')).toMatchObject({ failures: 0, due: 0, error: '' })
  })

  it('waits longer after each failure, with some variation, also across restarts', async () => {
    answers.set('a', FAILED)
    queue('a1')
    for (const [failures, pauseMs] of RETRY_MS.entries()) {
      if (failures > 0) await attemptsAfter(1, 1)
      await until('the failure is stored', () => stateOf('a').failures === failures + 1)
      const { due } = stateOf('a')
      expect(due - now).toBeGreaterThanOrEqual(0.9 * pauseMs - 1)
      expect(due - now).toBeLessThanOrEqual(1.1 * pauseMs + 1)
      await end()
      start()
      await attemptsAfter(due - now - 1, 0)
    }
  })

  it('gives up what has waited for all pauses, keeps it, and sends it again on request', async () => {
    answers.set('a', FAILED)
    queue('a1', 'a2')
    await until('the failure is stored', () => stateOf('a').failures === 1)
    for (const ms of [2_000, 2 * HOUR]) await attemptsAfter(ms, 1)
    queue('a3')
    expect(stateOf('a')).toMatchObject({ waiting: 3, dead: 0, failures: 3 })
    await attemptsAfter(11 * HOUR, 1)
    expect(stateOf('a')).toMatchObject({ waiting: 1, dead: 2, failures: 4, error: 'answered 500' })
    expect(sent).toEqual(['a1', 'a1', 'a1', 'a1'])
    answers.delete('a')
    expect(store.retry('a')).toBe(true)
    expect(store.retry('nobody')).toBe(false)
    deliverer.wake()
    await until('all are sent', () => stateOf('a').waiting === 0)
    expect(sent.slice(4)).toEqual(['a1', 'a2', 'a3'])
    expect(stateOf('a').dead).toBe(0)
  })

  it('disables a hook that answers 410 until its URL changes', async () => {
    answers.set('a', { kind: 'gone' })
    queue('a1')
    await until('it is disabled', () => stateOf('a').disabledUrl === 'https://a.example/')
    answers.delete('a')
    await attemptsAfter(100 * HOUR, 0)
    hooks = [hookOf('a', 'https://a.example/new'), hookOf('b')]
    deliverer.wake()
    await until('it is sent', () => stateOf('a').waiting === 0)
    expect(sent).toEqual(['a1', 'a1'])
  })

  it('removes the deliveries of a hook on request', async () => {
    answers.set('a', FAILED)
    queue('a1', 'a2')
    await until('the failure is stored', () => stateOf('a').failures === 1)
    expect(store.drop('a')).toBe(2)
    await attemptsAfter(HOUR, 0)
  })
})
