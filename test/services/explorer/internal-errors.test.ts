import { Type } from '@sinclair/typebox'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { type Database, DatabaseUnavailable } from '../../../pipelines/tables/clickhouse.js'
import { AvailableDatabase } from '../../../services/explorer/core/tables/availability.js'
import { declareRead } from '../../../services/explorer/core/reads/read.js'
import { retrying } from '../../../services/explorer/core/tables/retry.js'
import { Tables } from '../../../services/explorer/core/tables/tables.js'
import { Code } from '../../../services/rpc/error.js'
import { dropDatabase, newDatabase, useDatabase } from '../../harness/engine.js'
import { getAnswer } from '../../harness/pipeline.js'
import { startBare } from './bare-server.js'
import { failureOf, startBareRpc } from './faces/grpc/bare-rpc.js'

const silent = pino({ level: 'silent' })

/** Reads named after their failure. */
const failing = (sql: string) =>
  declareRead({
    name: 'failing',
    path: '/failing',
    fresh: 'live',
    args: {},
    answer: Type.Object({}),
    async resolve({ tables }) {
      await tables.query(sql)
      return {}
    },
  })
const REFUSED = "SELECT toUInt32('no number')"
const PASSING = 'SELECT groupArray(number) FROM numbers(10000000) SETTINGS max_memory_usage = 1000000'

describe('an answer that fails', () => {
  const database = useDatabase()
  const closing: (() => void | Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  const tablesOf = async (db: Pick<Database, 'query' | 'bytes' | 'ping'>): Promise<Tables> => {
    const available = new AvailableDatabase(db, silent)
    await available.start()
    closing.push(() => available.close())
    return new Tables(available)
  }

  /** The answers of REST and gRPC, and the number of internal errors that were counted. */
  const answersOf = async (tables: Tables, sql: string) => {
    const lines: { err?: { stack: string } }[] = []
    const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const bare = await startBare({ reads: [failing(sql)], tables, logger })
    closing.push(() => bare.close())
    const { status, body } = await getAnswer(`${bare.url}/api/v1/failing`)
    const metrics = await (await fetch(`${bare.url}/metrics`)).text()
    const counted = /headwater_defects_total\{where="http"\} (\d+)/.exec(metrics)?.[1]
    const rpc = await startBareRpc({ tables }, { search: async () => void (await tables.query(sql)) })
    closing.push(() => rpc.close())
    const { status: code } = (await failureOf(rpc.client.search({ q: 'a' }))) as { status: Code }
    return {
      status,
      error: body.error,
      counted: Number(counted),
      code,
      stacks: lines.map(({ err }) => err?.stack),
    }
  }

  it('is 500 if the database refuses the query, logged with its stack and counted', async () => {
    const { stacks, ...answers } = await answersOf(await tablesOf(database()), REFUSED)
    expect(answers).toEqual({ status: 500, error: 'Internal Server Error', counted: 1, code: Code.INTERNAL })
    expect(stacks).toHaveLength(1)
    expect(stacks[0]).toContain('internal-errors.test')
  })

  it('is 500 if the error is in our own code below the query', async () => {
    const query = () => Promise.reject(new TypeError('rows is undefined'))
    const tables = await tablesOf({ query, bytes: query, ping: () => Promise.resolve(true) })
    expect(await answersOf(tables, 'SELECT 1')).toMatchObject({
      status: 500,
      counted: 1,
      code: Code.INTERNAL,
    })
  })

  it('is 503 if the database refuses for now, and not counted', async () => {
    const { stacks, ...answers } = await answersOf(await tablesOf(database()), PASSING)
    expect(answers).toEqual({
      status: 503,
      error: 'Database unavailable',
      counted: 0,
      code: Code.UNAVAILABLE,
    })
    expect(stacks).toEqual([])
  })

  it('is 503 for a table that does not exist yet, and 500 for one that no schema has', async () => {
    const empty = await newDatabase()
    closing.push(() => dropDatabase(empty))
    const sql = 'SELECT * FROM blocks_of_a_later_version'
    expect(await answersOf(await tablesOf(empty), sql)).toMatchObject({ status: 503, counted: 0 })
    expect(await answersOf(await tablesOf(database()), sql)).toMatchObject({ status: 500, counted: 1 })
  })
})

describe('a retry', () => {
  it('is reported as an internal error if that is its reason', async () => {
    const stop = new AbortController()
    const errors = [new DatabaseUnavailable('away'), new TypeError('ours'), new RangeError('ours')]
    let counted = 0
    const attempt = (): Promise<string> => {
      const error = errors.shift()
      return error === undefined ? Promise.resolve('read') : Promise.reject(error)
    }
    const onDefect = (): void => void counted++
    const read = await retrying('a head', attempt, { logger: silent, onDefect }, stop.signal)
    expect([read, counted]).toEqual(['read', 2])
  })
})
