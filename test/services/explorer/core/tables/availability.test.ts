import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { DatabaseUnavailable, type QueryOptions } from '../../../../../pipelines/tables/clickhouse.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { until } from '../../../../harness/until.js'

/** A server that answers nothing while it is busy. */
class BusyServer {
  isBusy = false
  isClosed = false
  running = 0

  async ping({ signal }: QueryOptions = {}): Promise<boolean> {
    if (this.isClosed) return false
    await this.#idle(signal)
    return true
  }

  async query<T>(_sql: string, _params?: object, { signal }: QueryOptions = {}): Promise<T[]> {
    this.running++
    await this.#idle(signal).finally(() => this.running--)
    return []
  }

  async bytes(...[sql, params, options]: Parameters<BusyServer['query']>): Promise<Buffer> {
    await this.query(sql, params, options)
    return Buffer.alloc(0)
  }

  async #idle(signal: AbortSignal | undefined): Promise<void> {
    while (this.isBusy) {
      signal?.throwIfAborted()
      await sleep(10)
    }
  }
}

describe('a database that responds to nothing', () => {
  let available: AvailableDatabase
  const start = async (deadlineMs?: number): Promise<BusyServer> => {
    const server = new BusyServer()
    available = new AvailableDatabase(server, pino({ level: 'silent' }), deadlineMs)
    await available.start()
    return server
  }
  afterEach(() => {
    available.close()
  })

  it('for two seconds is busy: its queries wait, and no answers are started beyond those that run', async () => {
    const server = await start()
    server.isBusy = true
    const queries = Array.from({ length: 7 }, () => available.query('SELECT 1'))
    await sleep(1_000)
    expect(available.isCrowded).toBe(false)
    queries.push(...Array.from({ length: 2 }, () => available.query('SELECT 1')))
    await until('eight run', () => server.running === 8)
    expect(available.isCrowded).toBe(true)
    await sleep(1_000)
    expect(available.connected).toBe(true)
    server.isBusy = false
    expect(await Promise.all(queries)).toHaveLength(9)
    expect(available.isCrowded).toBe(false)
  })

  it('for five seconds is unreachable, with or without queries, and everything that waits fails', async () => {
    const server = await start()
    const other = new AvailableDatabase(server, pino({ level: 'silent' }))
    await other.start()
    server.isBusy = true
    const began = performance.now()
    const silence = async (of: AvailableDatabase): Promise<number> => {
      await until('it is unreachable', () => !of.connected)
      return performance.now() - began
    }
    const silences = Promise.all([available, other].map(silence))
    await expect(available.query('SELECT 1')).rejects.toThrow(DatabaseUnavailable)
    expect(Math.min(...(await silences))).toBeGreaterThan(4_500)
    server.isBusy = false
    await until('it is reachable', () => available.connected && other.connected)
    other.close()
  })

  it('is unreachable after the deadline that the operator sets, and a query ends by then', async () => {
    const server = await start(800)
    server.isBusy = true
    const began = performance.now()
    await expect(available.query('SELECT 1')).rejects.toThrow(DatabaseUnavailable)
    await until('it is unreachable', () => !available.connected)
    expect(performance.now() - began).toBeGreaterThan(700)
    expect(performance.now() - began).toBeLessThan(4_500)
    server.isBusy = false
    await until('it is reachable', () => available.connected)
  })

  it('is unreachable at once if it refuses connections', async () => {
    const server = await start()
    const began = performance.now()
    server.isClosed = true
    await until('it is unreachable', () => !available.connected)
    expect(performance.now() - began).toBeLessThan(4_000)
  })
})
