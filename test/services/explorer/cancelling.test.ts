import { Type } from '@sinclair/typebox'
import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { Database } from '../../../pipelines/tables/clickhouse.js'
import { AvailableDatabase } from '../../../services/explorer/core/tables/availability.js'
import { declareRead } from '../../../services/explorer/core/reads/read.js'
import { Tables } from '../../../services/explorer/core/tables/tables.js'
import { useDatabase, useEngine } from '../../harness/engine.js'
import { until } from '../../harness/until.js'
import { type BareServer, startBare } from './bare-server.js'
import { deadlines, holdDeadlines } from './held-deadlines.js'

const slow = declareRead({
  name: 'slow',
  path: '/slow/:tag',
  fresh: 'head',
  args: { tag: Type.String({ pattern: '^[0-9a-f]+$', description: 'hexadecimal' }) },
  answer: Type.Object({ rows: Type.Integer() }),
  resolve: async ({ tables }, { tag }) => {
    asking.add(tag)
    // Longer than any test takes on any machine.
    const sql = `SELECT sleepEachRow(0.2) AS slept, '${tag}' AS tag FROM numbers(1000000) SETTINGS max_block_size = 1, max_threads = 1`
    return { rows: (await tables.query(sql).catch(noted(tag))).length }
  },
})

/** Tags whose query was requested, whether it runs or is queued. */
const asking = new Set<string>()
/** The reasons why the query of a tag was ended, in order. */
const reasons = new Map<string, string[]>()
const LEFT = 'all clients of the answer have disconnected'

function noted(tag: string): (error: unknown) => never {
  return (error) => {
    reasons.set(tag, [...(reasons.get(tag) ?? []), (error as Error).message])
    throw error
  }
}

describe('a query', () => {
  const database = useDatabase()
  let patient: Database
  let available: AvailableDatabase
  let bare: BareServer
  let tag: string

  beforeAll(async () => {
    const logger = pino({ level: 'silent' })
    patient = new Database({ url: useEngine(), database: database().name, timeoutMs: 3_600_000 })
    available = new AvailableDatabase(patient, logger)
    await available.start()
    bare = await startBare({ reads: [slow], tables: new Tables(available) })
  })
  afterAll(async () => {
    vi.restoreAllMocks()
    bare.close()
    available.close()
    await patient.close()
  })
  beforeEach(() => {
    holdDeadlines()
    tag = randomBytes(8).toString('hex')
  })

  const running = async (): Promise<number> => {
    const sql = `SELECT count() AS count FROM system.processes WHERE position(query, concat('\\'', {tag:String}, '\\' AS tag')) > 0`
    const [row] = await database().query<{ count: string }>(sql, { tag })
    return Number(row?.count)
  }
  const rowsRead = async (): Promise<number> => {
    const sql = `SELECT max(read_rows) AS rows FROM system.processes WHERE position(query, concat('\\'', {tag:String}, '\\' AS tag')) > 0`
    const [row] = await database().query<{ rows: string }>(sql, { tag })
    return Number(row?.rows)
  }
  const begun = () => until('it runs', async () => (await running()) === 1)
  const ask = (signal?: AbortSignal): Promise<number> =>
    fetch(`${bare.url}/api/v1/slow/${tag}`, signal === undefined ? {} : { signal }).then(
      async (answer) => {
        await answer.text()
        return answer.status
      },
      () => 0,
    )

  it('is cancelled on the server when its only client has disconnected', async () => {
    const client = new AbortController()
    const requested = ask(client.signal)
    await begun()
    client.abort()
    expect(await requested).toBe(0)
    await until('it no longer exists', async () => (await running()) === 0)
    expect(reasons.get(tag)).toEqual([LEFT])
    expect(available.running).toBe(0)
  })

  it('continues while one of its clients waits, and is run again for a client that comes after all have disconnected', async () => {
    const clients = [new AbortController(), new AbortController()]
    const requested = clients.map((client) => ask(client.signal))
    await begun()
    clients[0]?.abort()
    await requested[0]
    const rows = await rowsRead()
    await until('it has read on', async () => (await rowsRead()) > rows + 1)
    expect(reasons.get(tag)).toBeUndefined()
    clients[1]?.abort()
    const again = new AbortController()
    const other = ask(again.signal)
    await requested[1]
    await until('the first has ended', () => reasons.get(tag)?.length === 1)
    await until('only the new one runs', async () => (await running()) === 1 && available.running === 1)
    expect(reasons.get(tag)).toEqual([LEFT])
    again.abort()
    await other
    await until('it no longer exists', async () => (await running()) === 0)
    expect(reasons.get(tag)).toEqual([LEFT, LEFT])
  })

  it('is cancelled on the server at its deadline, and answered with 503', async () => {
    deadlines.splice(0)
    const requested = fetch(`${bare.url}/api/v1/slow/${tag}`)
    await begun()
    const [answers, queries] = deadlines.splice(0)
    if (answers === undefined || queries === undefined) throw new Error('neither answer nor query has a time')
    answers()
    const answer = await requested
    expect(answer.status).toBe(503)
    expect(await answer.json()).toEqual({ error: 'Database unavailable', code: 'HW_DATABASE_UNAVAILABLE' })
    expect(reasons.get(tag)).toEqual(['the answer took too long'])
    await until('it no longer exists', async () => (await running()) === 0)
    expect(available.connected).toBe(true)
  })

  it('that is queued leaves the queue when its client disconnects', async () => {
    const clients = Array.from({ length: 12 }, () => new AbortController())
    const tags = clients.map(() => randomBytes(8).toString('hex'))
    const requested = clients.map((client, index) =>
      fetch(`${bare.url}/api/v1/slow/${tags[index] ?? ''}`, { signal: client.signal }).catch(() => undefined),
    )
    await until('all have asked, and all places are taken', () => {
      return available.running === 8 && tags.every((each) => asking.has(each))
    })
    for (const client of clients) client.abort()
    await Promise.all(requested)
    await until('nothing runs', () => available.running === 0)
    expect(tags.map((each) => reasons.get(each))).toEqual(tags.map(() => [LEFT]))
  })
})
