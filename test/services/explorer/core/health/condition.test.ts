import { beforeEach, describe, expect, it, vi } from 'vitest'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import { NodeUnavailable } from '../../../../../pipelines/node/errors.js'
import { ConditionWatch, type Trouble } from '../../../../../services/explorer/core/health/condition.js'
import { healthOf } from '../../../../../services/explorer/core/health/health.js'
import { NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { until } from '../../../../harness/until.js'

const POLL_MS = 400
/** A time before which nothing counts as recent. */
const LONG_AGO_MS = 60_000

describe('the trouble of an explorer', () => {
  let state: State
  const database = { connected: true }
  const audit = { result: { checkedAt: null as string | null, checks: 0, differences: 0 } }
  const callNode = vi.fn(() => Promise.resolve<unknown>({}))
  let watch: ConditionWatch

  beforeEach(() => {
    state = new State()
    database.connected = true
    audit.result = { checkedAt: null, checks: 0, differences: 0 }
    callNode.mockReset().mockResolvedValue({})
    watch = new ConditionWatch({ state, database, audit, callNode })
    adopt(20, 'aa')
    state.mempoolLoaded()
    applied(0, { nodeHeight: 20, nodeHash: 'aa' })
  })

  function adopt(height: number, tipHash: string): void {
    state.adopt({ ...NO_CHAIN, network: REGTEST, height, tipHash })
  }

  function applied(agoMs: number, node: { readonly nodeHeight: number; readonly nodeHash: string }): void {
    const timeMs = Date.now() - agoMs
    state.heartbeat = { ...node, timeMs, appliedMs: timeMs, pollIntervalMs: POLL_MS }
  }

  const stall = (): void => {
    applied(LONG_AGO_MS, { nodeHeight: 20, nodeHash: 'aa' })
  }

  const trouble = (): Trouble | undefined => watch.condition().trouble

  it('is none while the index equals the node', () => {
    expect(trouble()).toBeUndefined()
  })

  it('is in /health', () => {
    const health = (): unknown => {
      const parts = { state, database, audit: audit.result }
      return healthOf({ ...parts, condition: watch.condition() }, 0).trouble
    }
    expect(health()).toBeUndefined()
    stall()
    expect(health()).toBe('source')
  })

  it('is the start before the state is loaded', () => {
    const parts = { state: new State(), database, audit, callNode }
    expect(new ConditionWatch(parts).condition()).toMatchObject({
      trouble: 'starting',
      comparedAt: undefined,
    })
  })

  it('is the database if it is unreachable, whatever else stands still because of it', () => {
    stall()
    database.connected = false
    expect(trouble()).toBe('database')
  })

  it('is the materializer if the poller writes heartbeats that are not applied', () => {
    stall()
    state.nodeSeen = { timeMs: Date.now(), pollIntervalMs: POLL_MS, nodeHeight: 21 }
    watch.check()
    expect(trouble()).toBe('materializer')
    expect(callNode).not.toHaveBeenCalled()
  })

  it.each([
    ['the node if it does not answer', () => Promise.reject(new NodeUnavailable('away')), 'node'],
    ['the poller if the node answers', () => Promise.resolve({}), 'poller'],
  ] as const)('is %s after the heartbeats have stopped', async (_, answer, expected) => {
    callNode.mockImplementation(answer)
    stall()
    state.nodeSeen = { timeMs: Date.now() - LONG_AGO_MS, pollIntervalMs: POLL_MS, nodeHeight: 20 }
    expect(trouble()).toBe('source')
    watch.check()
    await until('the node has been called', () => trouble() === expected)
    watch.check()
    expect(callNode).toHaveBeenCalledTimes(1)
    applied(0, { nodeHeight: 20, nodeHash: 'aa' })
    expect(trouble()).toBeUndefined()
  })

  it('is the log if it cannot be read, or is damaged', () => {
    stall()
    state.isLogReadable = false
    expect(trouble()).toBe('log')
    state.isLogReadable = true
    state.logDamage = 'healing'
    expect(trouble()).toBe('log')
  })

  it('is that the index is behind, or differs in its newest block', () => {
    applied(0, { nodeHeight: 400, nodeHash: 'bb' })
    expect(trouble()).toBe('syncing')
    applied(0, { nodeHeight: 20, nodeHash: 'bb' })
    adopt(20, 'aa')
    state = new State()
    watch = new ConditionWatch({ state, database, audit, callNode })
    adopt(20, 'aa')
    state.mempoolLoaded()
    applied(0, { nodeHeight: 20, nodeHash: 'aa' })
    applied(0, { nodeHeight: 20, nodeHash: 'bb' })
    expect(trouble()).toBe('mismatch')
    // A block overtakes the heartbeat that names it.
    adopt(21, 'cc')
    expect(trouble()).toBeUndefined()
  })

  it('is what the audit found, as long as nothing else is wrong', () => {
    audit.result = { checkedAt: '2026-11-28T12:00:00.000Z', checks: 4, differences: 2 }
    expect(trouble()).toBe('differences')
    stall()
    expect(trouble()).toBe('source')
  })

  it('is reported to the watchers of the state once for each change', () => {
    const changes: string[] = []
    state.watch(({ kind }) => changes.push(kind))
    const reported = (): number => changes.filter((kind) => kind === 'condition').length
    for (let time = 0; time < 3; time++) watch.check()
    expect(reported()).toBe(1)
    database.connected = false
    for (let time = 0; time < 3; time++) watch.check()
    expect(reported()).toBe(2)
  })
})
