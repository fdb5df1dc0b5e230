import { afterEach, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { AvailableDatabase } from '../../../services/explorer/availability.js'
import { transaction } from '../../../services/explorer/reads/transactions.js'
import { NO_CHAIN, State } from '../../../services/explorer/state.js'
import { Tables } from '../../../services/explorer/tables.js'
import { Code } from '../../../services/rpc/error.js'
import { until } from '../../harness/until.js'
import { startBare } from './bare-server.js'
import { failureOf, startBareRpc } from './rpc/bare-rpc.js'

const logger = pino({ level: 'silent' })

/** A database that answers when it is told to, and what it was asked. */
class HeldDatabase {
  readonly asked: { readonly signal: AbortSignal | undefined; readonly answer: () => void }[] = []
  isHeld = true

  ping = (): Promise<boolean> => Promise.resolve(true)

  query = <T>(...[, , options = {}]: [string, unknown, { signal?: AbortSignal }?]): Promise<T[]> =>
    new Promise((resolve, reject) => {
      const { signal } = options
      const answer = (): void => {
        resolve([])
      }
      this.asked.push({ signal, answer })
      if (!this.isHeld) answer()
      signal?.addEventListener('abort', () => {
        reject(signal.reason as Error)
      })
    })
}

describe('more clients than the database keeps up with', () => {
  const closing: (() => void | Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  async function start() {
    const db = new HeldDatabase()
    const available = new AvailableDatabase(db, logger)
    await available.ping()
    const state = new State()
    // With a view, so that transactions are looked for.
    state.adopt({
      ...NO_CHAIN,
      view: { isCanonical: () => true, head: { reached: true } } as never,
      chain: 'regtest',
    })
    state.poolLoaded()
    const tables = new Tables(available)
    const bare = await startBare({ reads: [transaction], tables, state })
    closing.push(() => {
      bare.close()
      available.close()
    })
    const ask = (index: number, signal?: AbortSignal) =>
      fetch(
        `${bare.url}/api/v1/tx/${index.toString(16).padStart(64, '0')}`,
        signal === undefined ? {} : { signal },
      )
    return { db, ask, tables, state }
  }

  it('are answered as far as the next batch goes, and the others hear 503 with Retry-After at once', async () => {
    const { db, ask, tables, state } = await start()
    let refusals = 0
    const all = Array.from({ length: 1_000 }, async (_, index) => {
      const answer = await ask(index)
      if (answer.status === 503) refusals++
      return answer
    })
    await until('it is full', () => tables.isOverloaded)
    await until('the others are refused', () => refusals >= 1_000 - 512)
    const refused = await ask(5_000)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toEqual({ error: 'Overloaded, try again later' })
    const rpc = await startBareRpc({ tables, state })
    closing.push(() => rpc.close())
    expect(await failureOf(rpc.client.transaction({ txid: 'ab'.repeat(32) }))).toMatchObject({
      code: Code.UNAVAILABLE,
      trailers: { 'retry-after-ms': '1000' },
    })
    db.isHeld = false
    for (const { answer } of db.asked) answer()
    const counts = new Map<number, number>()
    for (const { status } of await Promise.all(all)) counts.set(status, (counts.get(status) ?? 0) + 1)
    // None of them is there: 404 is an answer.
    expect([...counts.keys()].sort()).toEqual([404, 503])
    expect(counts.get(404)).toBeGreaterThanOrEqual(256)
    expect(counts.get(404)).toBeLessThanOrEqual(512)
    expect(tables.isOverloaded).toBe(false)
    expect((await ask(6_000)).status).toBe(404)
  })

  it('that leave are not looked for, and make room', async () => {
    const { db, ask, tables } = await start()
    const clients = Array.from({ length: 600 }, () => new AbortController())
    const gone = clients.map((client, index) => ask(index, client.signal).catch(() => undefined))
    await until('it is full', () => tables.isOverloaded)
    for (const client of clients) client.abort()
    await Promise.all(gone)
    await until('what ran is given up', () => db.asked.every(({ signal }) => signal?.aborted === true))
    expect(tables.isOverloaded).toBe(false)
    const given = db.asked.length
    const next = ask(7_000)
    await until('it is looked for', () => db.asked.length > given)
    db.isHeld = false
    for (const { answer } of db.asked) answer()
    expect((await next).status).toBe(404)
  })
})
