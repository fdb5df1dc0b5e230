import { Type } from '@sinclair/typebox'
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest'
import { declareRead } from '../../../services/explorer/core/reads/read.js'
import { NO_CHAIN, State } from '../../../services/explorer/core/state/state.js'
import { Tables } from '../../../services/explorer/core/tables/tables.js'
import { until } from '../../harness/until.js'
import { type BareServer, startBare } from './bare-server.js'

const height = declareRead({
  name: 'height',
  path: '/height',
  fresh: 'live',
  args: {},
  answer: Type.Object({ height: Type.Integer() }),
  resolve: ({ chain }) => ({ height: chain.height }),
})

describe('a request for a minimum height', () => {
  const database = {
    connected: true,
    isCrowded: false,
    query: () => Promise.resolve([]),
    bytes: () => Promise.resolve(Buffer.alloc(0)),
  }
  let state: State
  let waits: MockInstance<State['until']>
  let bare: BareServer
  let answered: number[]

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    database.connected = true
    answered = []
    state = new State()
    waits = vi.spyOn(state, 'until')
    reach(5)
    state.mempoolLoaded()
    bare = await startBare({ reads: [height], state, tables: new Tables(database) })
  })
  afterEach(() => {
    vi.useRealTimers()
    bare.close()
  })

  const reach = (tip: number): void => {
    state.adopt({ ...NO_CHAIN, height: tip, tipHash: 'ab'.repeat(32) })
  }
  const ask = async (least: number): Promise<number> => {
    const response = await fetch(`${bare.url}/api/v1/height`, {
      headers: { 'x-min-chain-height': String(least) },
    })
    expect(response.status).toBe(200)
    const answer = (await response.json()) as { height: number }
    expect(response.headers.get('x-chain-height')).toBe(String(answer.height))
    answered.push(answer.height)
    return answer.height
  }
  const waiting = (count: number) => until('it waits', () => waits.mock.calls.length === count)

  it('is answered at once if the height is reached', async () => {
    expect(await ask(5)).toBe(5)
  })

  it('is answered as soon as the height is reached, whatever others wait for', async () => {
    const [soon, later] = [ask(6), ask(8)]
    await waiting(2)
    reach(6)
    expect(await soon).toBe(6)
    reach(7)
    expect(await ask(7)).toBe(7)
    expect(answered).toEqual([6, 7])
    reach(8)
    expect(await later).toBe(8)
  })

  it('is answered with the current height after two seconds, and not before', async () => {
    const requested = ask(100_000)
    await waiting(1)
    vi.advanceTimersByTime(1_999)
    expect(await ask(0)).toBe(5)
    expect(answered).toEqual([5])
    vi.advanceTimersByTime(1)
    expect(await requested).toBe(5)
  })

  it('does not wait if the database is unreachable, so that no height can be reached', async () => {
    database.connected = false
    expect(await ask(6)).toBe(5)
    expect(waits).not.toHaveBeenCalled()
  })
})
