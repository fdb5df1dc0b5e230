import { Type } from '@sinclair/typebox'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { JSON_ENCODING } from '../../../../../services/explorer/core/answering/encoding.js'
import { Reader, type Success } from '../../../../../services/explorer/core/answering/reader.js'
import type { Definitions } from '../../../../../services/explorer/core/definitions/definitions.js'
import { declareRead, type Freshness } from '../../../../../services/explorer/core/reads/read.js'
import { type ChainState, NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { NO_HISTORY } from '../../../../harness/no-history.js'

const logger = pino({ level: 'silent' })
/** The object that the answers depend on, if they depend on objects. */
const OBJECT = 'aa'
const OTHER = 'bb'
const HEARTBEAT = { nodeHeight: 1, nodeHash: '', pollIntervalMs: 1000, appliedMs: 1, timeMs: 1 }

/** A reader of one read whose answers say when they were begun, and complete when they are let go. */
function slowReader(fresh: Freshness) {
  const state = new State()
  state.adopt(NO_CHAIN)
  state.mempoolLoaded()
  const none = () => Promise.reject(new Error('none'))
  const db = { query: none, bytes: none, ping: () => Promise.resolve(true) }
  const definitions = { version: 0 }
  const held: (() => void)[] = []
  let begun = 0
  const read = declareRead({
    name: 'things',
    path: '/things',
    fresh,
    args: {},
    answer: Type.Object({ number: Type.Integer({ description: 'counts' }) }),
    resolve: async ({ validity }) => {
      const number = ++begun
      validity.dependsOn(OBJECT)
      validity.until(Number.POSITIVE_INFINITY)
      await new Promise<void>((resolve) => held.push(resolve))
      return { number }
    },
  })
  const reader = new Reader({
    state,
    definitions: definitions as unknown as Definitions,
    tables: new Tables(new AvailableDatabase(db, logger)),
    history: NO_HISTORY,
    node: {
      health: () => Promise.reject(new Error('none')),
      feeEstimates: () => Promise.resolve([]),
      transaction: () => Promise.reject(new Error('none')),
    },
  })
  const ask = async (): Promise<string> => {
    const outcome = await reader.answer(read, {
      argument: () => undefined,
      minChainHeight: '',
      authorization: () => '',
      encoding: JSON_ENCODING,
      onDisconnect: () => undefined,
    })
    return (outcome as Success).answer.body.toString()
  }
  const letGo = (): void => {
    for (const each of held.splice(0)) each()
  }
  return { ask, letGo, state, definitions, begun: () => begun }
}

type Parts = ReturnType<typeof slowReader>
const at = (position: number): ChainState => ({ ...NO_CHAIN, position })

/** Every change that can make answers of some freshness wrong. */
const CHANGES: Readonly<Record<string, (parts: Parts) => void>> = {
  'a head that touches it': ({ state }) => {
    state.adopt(at(1), [], new Set([OBJECT]))
  },
  'a head of which it is not known what it touches, as after a switch to another database': ({ state }) => {
    state.adopt(at(1))
  },
  'a head, and then one that does not touch it': ({ state }) => {
    state.adopt(at(1), [], new Set([OBJECT]))
    state.adopt(at(2), [], new Set([OTHER]))
  },
  'more changes than are remembered': ({ state }) => {
    state.adopt(at(1), [], new Set([OBJECT]))
    for (let position = 2; position < 1_000; position++) state.adopt(at(position), [], new Set([OTHER]))
  },
  'other labels': ({ definitions }) => {
    definitions.version++
  },
}

describe('a change while an answer is made', () => {
  it.each(['objects', 'head', 'mempool', 'live'] as const)(
    'keeps it from being sent to later requests: %s',
    async (fresh) => {
      for (const [name, change] of Object.entries(CHANGES)) {
        const parts = slowReader(fresh)
        const { ask, letGo, begun } = parts
        const before = ask()
        change(parts)
        // Does not join the answer that was begun before.
        const after = ask()
        expect(begun(), name).toBe(2)
        letGo()
        expect([await before, await after], name).toEqual(['{"number":1}', '{"number":2}'])
        expect(await ask(), name).toBe('{"number":2}')
      }
    },
  )

  it('keeps it from being sent later if no client asks before it is complete', async () => {
    for (const [name, change] of Object.entries(CHANGES)) {
      const parts = slowReader('objects')
      const before = parts.ask()
      change(parts)
      parts.letGo()
      expect(await before, name).toBe('{"number":1}')
      const after = parts.ask()
      parts.letGo()
      expect(await after, name).toBe('{"number":2}')
    }
  })

  it('does not matter if it touches nothing of the answer', async () => {
    const { ask, letGo, state, begun } = slowReader('objects')
    const before = ask()
    state.adopt(at(1), [], new Set([OTHER]))
    state.mempool.change([], [], 1)
    state.heartbeat = HEARTBEAT
    letGo()
    expect([await before, await ask(), begun()]).toEqual(['{"number":1}', '{"number":1}', 1])
  })

  it.each(['mempool', 'live'] as const)('of the mempool counts for %s answers', async (fresh) => {
    const { ask, letGo, state } = slowReader(fresh)
    const before = ask()
    state.mempool.change([], [], 1)
    letGo()
    expect(await before).toBe('{"number":1}')
    const after = ask()
    letGo()
    expect(await after).toBe('{"number":2}')
  })
})
