import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Type } from '@sinclair/typebox'
import { pino } from 'pino'
import { REGTEST } from '../../../pipelines/chain/networks.js'
import type { QueryOptions } from '../../../pipelines/tables/clickhouse.js'
import { FENCE } from '../../../pipelines/tables/writers.js'
import { AvailableDatabase } from '../../../services/explorer/core/tables/availability.js'
import { hash } from '../../../services/explorer/core/reads/arguments.js'
import { declareRead, NotFound, type Read } from '../../../services/explorer/core/reads/read.js'
import { transaction } from '../../../services/explorer/core/reads/chain/transactions.js'
import { NO_CHAIN, State } from '../../../services/explorer/core/state/state.js'
import { MAX_IN_FLIGHT } from '../../../services/explorer/core/answering/reader.js'
import { Tables } from '../../../services/explorer/core/tables/tables.js'
import { Code } from '../../../services/rpc/error.js'
import { until } from '../../harness/until.js'
import { startBare } from './bare-server.js'
import { holdDeadlines } from './held-deadlines.js'
import { failureOf, startBareRpc } from './faces/grpc/bare-rpc.js'

const logger = pino({ level: 'silent' })

type Call = [sql: string, params?: unknown, options?: QueryOptions]

/** A database that answers when the test says so, and records its queries. */
class HeldDatabase {
  readonly requested: { readonly signal: AbortSignal | undefined; readonly answer: () => void }[] = []
  /** The keys that it does not answer before the test says so. */
  holds = (sql: string): boolean => sql !== ''

  /** Answers all queries, from now on at once. */
  letGo(): void {
    this.holds = () => false
    for (const { answer } of this.requested) answer()
  }

  ping = (): Promise<boolean> => Promise.resolve(true)

  query = <T>(...[sql, , options]: Call): Promise<T[]> => this.#request(sql, options, [])

  bytes = (...[sql, , options]: Call): Promise<Buffer> => this.#request(sql, options, Buffer.alloc(0))

  #request<T>(sql: string, { signal }: QueryOptions = {}, empty: T): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (): void => {
        resolve(empty)
      }
      this.requested.push({ signal, answer })
      if (!this.holds(sql)) answer()
      signal?.addEventListener('abort', () => {
        reject(signal.reason as Error)
      })
    })
  }
}

describe('more clients than the database keeps up with', () => {
  const closing: (() => void | Promise<void>)[] = []
  beforeEach(holdDeadlines)
  afterAll(() => {
    vi.restoreAllMocks()
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  async function start(read: Read = transaction) {
    const db = new HeldDatabase()
    const available = new AvailableDatabase(db, logger)
    await available.ping()
    const state = new State()
    // With a view, so that transactions are looked up.
    state.adopt({
      ...NO_CHAIN,
      view: { isCanonical: () => true, head: { reached: true } } as never,
      network: REGTEST,
    })
    state.mempoolLoaded()
    const tables = new Tables(available)
    const bare = await startBare({ reads: [read], tables, state })
    const observed = async (status: number, code?: string): Promise<number> => {
      const labels = `status="${String(status)}"${code === undefined ? '' : `,code="${code}"`}`
      const name = `headwater_api_request_duration_seconds_count{route="/api/v1/tx/:txid",${labels}}`
      const metrics = await (await fetch(`${bare.url}/metrics`)).text()
      return Number(
        metrics
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.slice(name.length) ?? 0,
      )
    }
    closing.push(() => {
      bare.close()
      available.close()
    })
    const ask = (index: number, signal?: AbortSignal) =>
      fetch(
        `${bare.url}/api/v1/tx/${index.toString(16).padStart(64, '0')}`,
        signal === undefined ? {} : { signal },
      )
    return { db, ask, tables, state, observed }
  }

  it('are refused once a query has waited for a second, on a machine of any speed', async () => {
    const db = new HeldDatabase()
    const available = new AvailableDatabase(db, logger)
    await available.ping()
    const queries = Array.from({ length: 9 }, () => available.query('SELECT 1'))
    await until('eight queries run', () => db.requested.length === 8)
    expect(available.isCrowded).toBe(false)
    const now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 1_100)
    expect(available.isCrowded).toBe(true)
    db.letGo()
    await Promise.all(queries)
    expect(available.isCrowded).toBe(false)
    clock.mockRestore()
  })

  it('are answered as far as the next batch reaches, and the others get 503 with Retry-After at once', async () => {
    const { db, ask, tables, state, observed } = await start()
    const refusedTxids = new Set<number>()
    const all = Array.from({ length: 1_000 }, async (_, index) => {
      const answer = await ask(index)
      if (answer.status === 503) refusedTxids.add(index)
      return answer
    })
    await until('the others are refused', () => refusedTxids.size >= 1_000 - MAX_IN_FLIGHT)
    const inProgress = Array.from(all.keys()).find((index) => !refusedTxids.has(index)) ?? 0
    const joining = ask(inProgress)
    expect((await ask(-1)).status).toBe(400)
    const refused = await ask(5_000)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toEqual({ error: 'Overloaded, try again later', code: 'HW_OVERLOADED' })
    const rpc = await startBareRpc({ tables, state })
    closing.push(() => rpc.close())
    const others = tables.txs.getAll(
      Array.from({ length: 1_000 }, (_, index) => index.toString(16).padStart(64, 'f')),
    )
    await until('the queue of lookups is full', () => tables.isOverloaded)
    expect(await failureOf(rpc.client.transaction({ txid: 'ab'.repeat(32) }))).toMatchObject({
      status: Code.UNAVAILABLE,
      trailers: { 'retry-after-ms': '1000' },
    })
    db.letGo()
    await others
    const counts = new Map<number, number>()
    for (const { status } of await Promise.all(all)) counts.set(status, (counts.get(status) ?? 0) + 1)
    // None of them exists: 404 is an answer.
    expect([...counts.keys()].sort()).toEqual([404, 503])
    const begun = counts.get(404)
    expect(begun).toBeGreaterThanOrEqual(256)
    expect(begun).toBeLessThanOrEqual(MAX_IN_FLIGHT)
    expect((await joining).status).toBe(404)
    expect(tables.isOverloaded).toBe(false)
    expect((await ask(6_000)).status).toBe(404)
    expect(await observed(503, 'HW_OVERLOADED')).toBe((counts.get(503) ?? 0) + 1)
    expect(await observed(404)).toBe((begun ?? 0) + 2)
  })

  it('are limited wherever they wait: no queue grows while all answers wait for one lookup', async () => {
    const { db, ask, tables } = await start(
      declareRead({
        name: 'transaction',
        path: '/tx/:txid',
        fresh: 'head',
        args: { txid: hash },
        answer: Type.Object({}),
        async resolve({ tables: own }, { txid }) {
          await own.txs.get(txid)
          own.requireFence()
          throw new NotFound('none')
        },
      }),
    )
    // The last lookup of each answer.
    db.holds = (sql) => sql === FENCE
    let refusals = 0
    const all = Array.from({ length: MAX_IN_FLIGHT + 50 }, async (_, index) => {
      const answer = await ask(index)
      if (answer.status === 503) refusals++
      return answer.status
    })
    await until('some are refused', () => refusals === 50)
    expect(tables.isOverloaded).toBe(false)
    db.letGo()
    expect((await Promise.all(all)).filter((status) => status === 404)).toHaveLength(MAX_IN_FLIGHT)
  })

  it('are not refused while each of 256 connections waits for one answer, whatever it is looked up from', async () => {
    const { db, ask, tables } = await start(
      declareRead({
        name: 'transaction',
        path: '/tx/:txid',
        fresh: 'head',
        args: { txid: hash },
        answer: Type.Object({}),
        async resolve({ tables: own }, { txid }) {
          const script = txid.slice(-40)
          await Promise.all([own.lastRows(script, 10), own.unspentLists.get(script), own.outputs.get(script)])
          await own.endsOfScript(script, () => true)
          throw new NotFound('none')
        },
      }),
    )
    const all = Array.from({ length: 256 }, async (_, index) => (await ask(index)).status)
    await until('all wait', () => tables.lookedUp + tables.lookupsWaiting >= 3 * 256)
    db.letGo()
    expect(new Set(await Promise.all(all))).toEqual(new Set([404]))
  })

  it('that disconnect are not looked up, and make room', async () => {
    const { db, ask, tables, observed } = await start()
    const clients = Array.from({ length: 600 }, () => new AbortController())
    const gone = clients.map((client, index) => ask(index, client.signal).catch(() => undefined))
    await until('as many as possible wait', () => tables.lookedUp + tables.lookupsWaiting >= MAX_IN_FLIGHT)
    for (const client of clients) client.abort()
    await Promise.all(gone)
    await until('what ran is given up', () => db.requested.every(({ signal }) => signal?.aborted === true))
    expect(tables.isOverloaded).toBe(false)
    const given = db.requested.length
    const next = ask(7_000)
    await until('it is looked for', () => db.requested.length > given)
    db.letGo()
    expect((await next).status).toBe(404)
    expect(await observed(499)).toBeGreaterThanOrEqual(256)
    expect(await observed(503, 'database')).toBe(0)
  })
})
