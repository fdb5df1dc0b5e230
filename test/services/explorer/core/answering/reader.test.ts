import { Type } from '@sinclair/typebox'
import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { TableMissing } from '../../../../../pipelines/tables/clickhouse.js'
import { type Encoding, JSON_ENCODING } from '../../../../../services/explorer/core/answering/encoding.js'
import { Reader, type Success } from '../../../../../services/explorer/core/answering/reader.js'
import { Definitions } from '../../../../../services/explorer/core/definitions/definitions.js'
import { declareRead, type Read } from '../../../../../services/explorer/core/reads/read.js'
import { NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { ServingTables } from '../../../../../services/explorer/core/tables/serving-tables.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { NO_HISTORY } from '../../../../harness/no-history.js'

const logger = pino({ level: 'silent' })

const none = () => Promise.reject(new Error('none'))

interface Sources {
  readonly tables?: Tables
  readonly refreshHeads?: () => void
}

const databaseOf = (query: () => Promise<never[]>): AvailableDatabase =>
  new AvailableDatabase({ query, bytes: none, ping: () => Promise.resolve(true) }, logger)

function readerWithoutTables(sources: Sources = {}) {
  const state = new State()
  state.adopt(NO_CHAIN)
  state.mempoolLoaded()
  const reader = new Reader({
    state,
    definitions: new Definitions({}, logger),
    tables: new Tables(databaseOf(none)),
    history: NO_HISTORY,
    node: {
      health: none,
      feeEstimates: () => Promise.resolve([]),
      transaction: () => Promise.reject(new Error('none')),
    },
    ...sources,
  })
  const ask = async (read: Read, encoding = JSON_ENCODING): Promise<Success> => {
    const outcome = await reader.answer(read, {
      argument: () => undefined,
      minChainHeight: '',
      authorization: () => '',
      encoding,
      onDisconnect: () => undefined,
    })
    return outcome as Success
  }
  return { reader, ask, state }
}

/** A reader of one read, whose answers are objects that JSON cannot represent, and which are counted. */
function readerOfOne() {
  const { ask, state } = readerWithoutTables()
  const made: object[] = []
  const read = declareRead({
    name: 'things',
    path: '/things',
    fresh: 'mempool',
    args: {},
    answer: Type.Object({ number: Type.Integer({ description: 'counts' }) }),
    resolve: () => {
      const answer = { number: made.length + 1 }
      made.push(answer)
      return answer
    },
  })
  return {
    ask: async (encoding: Encoding) => (await ask(read, encoding)).answer.body.toString(),
    made,
    state,
  }
}

/** Asks a read that repeats its arguments. */
function askerOfPairs() {
  const { reader } = readerWithoutTables()
  const texts = {
    one: Type.String({ description: 'any text' }),
    two: Type.String({ description: 'any text' }),
  }
  const read = declareRead({
    name: 'pairs',
    path: '/pairs',
    fresh: 'mempool',
    args: texts,
    answer: Type.Object({ one: Type.String({ description: '' }), two: Type.String({ description: '' }) }),
    resolve: (_, { one, two }) => ({ one, two }),
  })
  return async (given: Readonly<Record<string, string>>): Promise<unknown> => {
    const outcome = (await reader.answer(read, {
      argument: (name) => given[name],
      minChainHeight: '',
      authorization: () => '',
      encoding: JSON_ENCODING,
      onDisconnect: () => undefined,
    })) as Success
    return JSON.parse(outcome.answer.body.toString())
  }
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
  it('is never that to other arguments, even if their texts look like the separators of a key', async () => {
    const ask = askerOfPairs()
    const pieces = ['', ' ', 'two', ' two 1 ', '1 b', ' two 0 ', 'a two 1 b', 'ä', '"', '\\']
    for (const one of pieces) for (const two of pieces) expect(await ask({ one, two })).toEqual({ one, two })
  })

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

/** A read of head and mempool, whose part of the head is counted. */
function readerOfTwo() {
  const made: number[] = []
  const gate = { opened: Promise.resolve() }
  const head = declareRead({
    name: 'head',
    path: '/head',
    fresh: 'head',
    args: {},
    answer: Type.Object({ position: Type.Integer({ description: 'of the head' }) }),
    resolve: async ({ chain: { position } }) => {
      made.push(position)
      await gate.opened
      return { position }
    },
  })
  const both = declareRead({
    name: 'both',
    path: '/both',
    fresh: 'mempool',
    args: {},
    answer: Type.Object({
      position: Type.Integer({ description: 'of the head' }),
      size: Type.Integer({ description: 'of the mempool' }),
    }),
    resolve: async ({ mempool, ofHead }) => ({ ...(await ofHead(head, {})), size: mempool.size }),
  })
  const { ask, state } = readerWithoutTables()
  return { ask: async () => (await ask(both)).answer.body.toString(), made, state, gate }
}

describe('an answer that changes with the mempool', () => {
  it('resolves what depends on the head alone once per head', async () => {
    const { ask, made, state } = readerOfTwo()
    for (let each = 0; each < 3; each++) {
      expect(await ask()).toBe('{"position":-1,"size":0}')
      state.mempool.change([], [], -1)
    }
    expect(made).toEqual([-1])
    state.adopt({ ...NO_CHAIN, position: 7 })
    expect(await ask()).toBe('{"position":7,"size":0}')
    expect(made).toEqual([-1, 7])
  })

  it('is of one head, also if the next one arrives meanwhile', async () => {
    const { ask, made, state, gate } = readerOfTwo()
    let open: () => void = () => undefined
    gate.opened = new Promise((resolve) => {
      open = resolve
    })
    const before = ask()
    state.adopt({ ...NO_CHAIN, position: 7 })
    const after = ask()
    open()
    expect(await before).toBe('{"position":-1,"size":0}')
    expect(await after).toBe('{"position":7,"size":0}')
    expect(made).toEqual([-1, 7])
  })
})

describe('an answer from a database that was dropped', () => {
  const read = declareRead({
    name: 'rows',
    path: '/rows',
    fresh: 'head',
    args: {},
    answer: Type.Object({ rows: Type.Integer({ description: 'counts' }) }),
    resolve: async ({ tables }) => ({ rows: (await tables.query('SELECT 1')).length }),
  })

  const tablesOf = async (query: () => Promise<never[]>): Promise<Tables> => {
    const database = databaseOf(query)
    await database.ping()
    return new Tables(database)
  }

  async function readerOfDropped() {
    const counts = { refreshes: 0 }
    const dropped = await tablesOf(() => Promise.reject(new TableMissing('the database does not exist')))
    const tables = new ServingTables(dropped)
    const { ask, state } = readerWithoutTables({ tables, refreshHeads: () => counts.refreshes++ })
    return { ask: () => ask(read), counts, state, tables }
  }

  it('is made again from the one that replaces it', async () => {
    const { ask, counts, state, tables } = await readerOfDropped()
    const answer = ask()
    await vi.waitUntil(() => counts.refreshes === 1)
    tables.moveTo(await tablesOf(() => Promise.resolve([])))
    state.adopt({ ...NO_CHAIN, position: 7 })
    expect((await answer).answer.body.toString()).toBe('{"rows":0}')
    expect(counts.refreshes).toBe(1)
  })
})

describe('a content coding', () => {
  it('is used for answers too that the cache does not keep', async () => {
    const { reader, ask } = readerWithoutTables()
    const read = declareRead({
      name: 'now',
      path: '/now',
      fresh: 'live',
      args: {},
      answer: Type.Object({ text: Type.String({ description: 'long' }) }),
      resolve: () => ({ text: 'text '.repeat(1_000) }),
    })
    const outcome = await ask(read)
    expect(await ask(read)).not.toBe(outcome)
    const { coding, body } = await reader.inCoding(outcome, 'br')
    expect(coding).toBe('br')
    expect(body.length).toBeLessThan(200)
  })
})
