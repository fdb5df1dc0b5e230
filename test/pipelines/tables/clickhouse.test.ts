import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { isDefect } from '../../../pipelines/errors.js'
import {
  Database,
  DatabaseUnavailable,
  TableMissing,
  QueryRefused,
} from '../../../pipelines/tables/clickhouse.js'
import { KEYS, queryByKeys } from '../../../pipelines/tables/keys.js'
import { Selection } from '../../../pipelines/tables/selection.js'
import { useDatabase } from '../../harness/engine.js'

const failure = (requested: Promise<unknown>): Promise<unknown> =>
  requested.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a query can carry', () => {
  const db = useDatabase()

  it('any number of keys, each sent once', async () => {
    const keys = Array.from({ length: 60_000 }, (_, index) => index.toString(16).padStart(64, '0'))
    const sql = `SELECT lower(hex(key)) AS id FROM (SELECT toFixedString(unhex(leftPad(lower(hex(number)), 64, '0')), 32) AS key
      FROM numbers(50000)) WHERE key IN ${KEYS}`
    const rows = await queryByKeys<{ id: string }>(db(), sql, [...keys, ...keys.slice(0, 10)])
    expect(rows).toHaveLength(50_000)
    expect(new Set(rows.map(({ id }) => id)).size).toBe(50_000)
    expect(await queryByKeys(db(), sql, [])).toEqual([])
  })

  it('no invalid key', async () => {
    const requested = queryByKeys(db(), `SELECT 1 WHERE toFixedString('', 32) IN ${KEYS}`, [
      "00') OR ('1'='1",
    ])
    expect(isDefect(await failure(requested))).toBe(true)
  })

  it('no parameter of megabytes: it is refused before it is sent, with an error that names the alternative', async () => {
    const requested = db().query('SELECT length({text:String}) AS size', { text: 'a'.repeat(5_000_000) })
    const error = await failure(requested)
    expect(error).toBeInstanceOf(QueryRefused)
    expect(String(error)).toContain('queryByKeys')
    const most = { one: 'a'.repeat(60_000), other: '%'.repeat(20_000) }
    const [row] = await db().query<{ size: string }>(
      'SELECT length({one:String}) + length({other:String}) AS size',
      most,
    )
    expect(row?.size).toBe('80000')
  })

  it('a text of any characters', async () => {
    const text =
      Array.from({ length: 300 }, (_, code) => String.fromCodePoint(code)).join('') + " '\\n' 😀 %41+&="
    expect(await db().query('SELECT {text:String} AS text', { text })).toEqual([{ text }])
  })

  it('a text of megabytes, such as a filter of many blocks', async () => {
    const [row] = await db().query<{ size: string }>(`SELECT length('${'a'.repeat(5_000_000)}') AS size`)
    expect(row?.size).toBe('5000000')
  })
})

describe('failures of a query', () => {
  const db = useDatabase()

  it('do not follow the first rows of a response in bytes, where they would be read as rows', async () => {
    const sql = 'SELECT number, throwIf(number = 3000000) FROM numbers(4000000) SETTINGS max_threads = 1'
    expect(await failure(db().bytes(sql))).toBeInstanceOf(QueryRefused)
    const all = await db().bytes('SELECT number FROM numbers(3000000)')
    expect(all).toHaveLength(24_000_000)
    expect(all.readBigUInt64LE(all.length - 8)).toBe(2_999_999n)
  })

  it('include that of a signal, which cancels a query for bytes', async () => {
    const left = new Error('left')
    const sql = 'SELECT sleepEachRow(0.2) FROM numbers(1000000) SETTINGS max_block_size = 1, max_threads = 1'
    const controller = new AbortController()
    const requested = failure(db().bytes(sql, {}, { signal: controller.signal }))
    setImmediate(() => {
      controller.abort(left)
    })
    expect(await requested).toBeInstanceOf(Error)
  })

  it('are refusals if the server would refuse the same query again', async () => {
    for (const sql of ['SELEC 1', "SELECT toUInt32('x')", 'SELECT throwIf(1)', 'SELECT 1 + []']) {
      const error = await failure(db().query(sql))
      expect(error, sql).toBeInstanceOf(QueryRefused)
      expect(error, sql).not.toBeInstanceOf(TableMissing)
    }
    expect(await failure(db().query('SELECT * FROM nothing_of_that_name'))).toBeInstanceOf(TableMissing)
    expect(await failure(db().command('ALTER TABLE heads DROP COLUMN tip_hash_2'))).toBeInstanceOf(
      QueryRefused,
    )
  })

  it('are transient if it lacks time or memory for now', async () => {
    const long =
      'SELECT sum(sleepEachRow(0.1)) FROM numbers(100) SETTINGS max_execution_time = 0.1, max_block_size = 1'
    const large = 'SELECT groupArray(number) FROM numbers(10000000) SETTINGS max_memory_usage = 1000000'
    for (const sql of [long, large]) {
      const error = await failure(db().query(sql))
      expect(error, sql).toBeInstanceOf(DatabaseUnavailable)
      expect(isDefect(error), sql).toBe(false)
    }
  })

  it('stay as they are if they are internal', async () => {
    const error = await failure(db().query('SELECT {at:UInt8} AS at', { at: Symbol('no parameter') }))
    expect(error).not.toBeInstanceOf(DatabaseUnavailable)
    expect(isDefect(error)).toBe(true)
    expect((error as Error).stack).toContain('.ts')
  })
})

describe('a server that fails', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.closeAllConnections()
    server?.close()
  })

  const answering = async (status: number, text: string): Promise<Database> => {
    const listening = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status).end(text))
    })
    server = listening
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${String((listening.address() as AddressInfo).port)}`
    return new Database({ url, database: 'default' })
  }

  it.each([
    [502, '<html><h1>502 Bad Gateway</h1></html>', DatabaseUnavailable],
    [500, 'Code: 252. DB::Exception: Too many parts. (TOO_MANY_PARTS) (version 26.7)', DatabaseUnavailable],
    [
      500,
      'Code: 999. DB::Exception: Session expired. (KEEPER_EXCEPTION) (version 26.7)',
      DatabaseUnavailable,
    ],
    [
      500,
      'Code: 243. DB::Exception: Cannot reserve 1 MiB. (NOT_ENOUGH_SPACE) (version 26.7)',
      DatabaseUnavailable,
    ],
    [500, 'Poco::Exception. Code: 1000, e.code() = 111, Connection refused', DatabaseUnavailable],
    [
      500,
      'Poco::Exception. Code: 1000, e.code() = 0, HTML Form Exception: Field value too long',
      QueryRefused,
    ],
    [
      500,
      'Code: 32. DB::Exception: Attempt to read after eof: while receiving packet from 127.0.0.1:9000: While executing Remote. (ATTEMPT_TO_READ_AFTER_EOF) (version 26.7)',
      DatabaseUnavailable,
    ],
    [
      500,
      'Code: 32. DB::Exception: Attempt to read after eof: (at row 2). (ATTEMPT_TO_READ_AFTER_EOF) (version 26.7)',
      QueryRefused,
    ],
    [
      500,
      'Code: 102. DB::Exception: Unexpected packet from server (expected Data or Exception, got ProfileInfo). (UNEXPECTED_PACKET_FROM_SERVER) (version 26.7)',
      DatabaseUnavailable,
    ],
    [400, 'Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR) (version 26.7)', QueryRefused],
    [200, '{"cut": \n', DatabaseUnavailable],
  ] as const)('with status %i and %s', async (status, text, kind) => {
    const db = await answering(status, text)
    expect(await failure(db.query('SELECT 1'))).toBeInstanceOf(kind)
    const rows = new Selection({ number: 'u64' }).bytesByKeys(db, `FROM numbers WHERE '' IN ${KEYS}`, ['00'])
    expect(await failure(rows)).toBeInstanceOf(kind)
    await db.close()
  })

  it('that refuses connections', async () => {
    const db = await answering(200, '')
    await new Promise((resolve) => server?.close(resolve))
    expect(await failure(db.query('SELECT 1'))).toBeInstanceOf(DatabaseUnavailable)
    await db.close()
  })
})
