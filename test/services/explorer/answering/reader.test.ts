import { Type } from '@sinclair/typebox'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { type Encoding, JSON_ENCODING } from '../../../../services/explorer/answering/encoding.js'
import { Reader, type Success } from '../../../../services/explorer/answering/reader.js'
import { Definitions } from '../../../../services/explorer/definitions/definitions.js'
import { declareRead } from '../../../../services/explorer/reads/read.js'
import { NO_CHAIN, State } from '../../../../services/explorer/state/state.js'
import { AvailableDatabase } from '../../../../services/explorer/tables/availability.js'
import { Tables } from '../../../../services/explorer/tables/tables.js'

const logger = pino({ level: 'silent' })

/** A reader of one read, whose answers are objects that JSON cannot represent, and which are counted. */
function readerOfOne() {
  const state = new State()
  state.adopt(NO_CHAIN)
  state.mempoolLoaded()
  const none = () => Promise.reject(new Error('none'))
  const db = { query: none, bytes: none, ping: () => Promise.resolve(true) }
  const made: object[] = []
  const read = declareRead({
    ...{ name: 'things', path: '/things', fresh: 'mempool', args: {} },
    answer: Type.Object({ number: Type.Integer({ description: 'counts' }) }),
    resolve: () => {
      const answer = { number: made.length + 1 }
      made.push(answer)
      return answer
    },
  })
  const reader = new Reader({
    ...{ state, definitions: new Definitions({}, logger) },
    tables: new Tables(new AvailableDatabase(db, logger)),
    node: { health: () => Promise.reject(new Error('none')) },
  })
  const ask = async (encoding: Encoding): Promise<string> => {
    const outcome = await reader.answer(read, {
      ...{ argument: () => undefined, minChainHeight: '', authorization: () => '', encoding },
      onDisconnect: () => undefined,
    })
    return (outcome as Success).answer.body.toString()
  }
  return { ask, made, state }
}

/** Encodes the resolver's own objects. */
const objects = (taken: unknown[]): Encoding => ({
  name: 'protobuf',
  encode: (answer) => {
    taken.push(answer)
    return { body: Buffer.from(`object ${String(taken.length)}`), etag: '' }
  },
})

describe('an answer', () => {
  it('is encoded once in each encoding from an object of the resolver, for as long as it is current', async () => {
    const { ask, made, state } = readerOfOne()
    const taken: unknown[] = []
    const protobuf = objects(taken)
    for (let each = 0; each < 3; each++) {
      expect(await ask(JSON_ENCODING)).toBe('{"number":1}')
      expect(await ask(protobuf)).toBe('object 1')
    }
    expect(made).toHaveLength(2)
    expect(taken[0]).toBe(made[1])
    state.adopt({ ...NO_CHAIN, position: 1 })
    expect(await ask(JSON_ENCODING)).toBe('{"number":3}')
    expect(await ask(protobuf)).toBe('object 2')
  })

  it('is encoded once for all requests that wait for it in the same encoding', async () => {
    const { ask, made } = readerOfOne()
    const taken: unknown[] = []
    const protobuf = objects(taken)
    const requested = [ask(JSON_ENCODING), ask(protobuf), ask(JSON_ENCODING), ask(protobuf)]
    expect(new Set(await Promise.all(requested)).size).toBe(2)
    expect([made.length, taken.length]).toEqual([2, 1])
  })
})
