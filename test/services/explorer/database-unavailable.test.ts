import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { Database } from '../../../pipelines/tables/clickhouse.js'
import { type Explorer, startExplorer } from '../../../services/explorer/host/explorer.js'
import { Bridge } from '../../harness/bridge.js'
import { useDatabase } from '../../harness/engine.js'
import { getAnswer } from '../../harness/pipeline.js'
import { until } from '../../harness/until.js'
import { Patience } from '../../harness/starvation.js'
import { sendRaw, SOCKET_REQUEST } from './bare-server.js'

/**
 * Requests a socket.
 * @returns the status of the answer; 101 for an upgrade.
 */
async function socketStatus(url: string): Promise<number> {
  const { text } = await sendRaw(Number(new URL(url).port), SOCKET_REQUEST, { answers: 1 })
  return Number(text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length))
}

describe('an explorer whose database becomes unavailable', () => {
  const database = useDatabase()
  const bridge = new Bridge()
  let folder: string
  let log: EventLog
  let db: Database

  beforeAll(async () => {
    await bridge.open()
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = await openEmbeddedLog(folder)
    db = new Database({ url: bridge.url, database: database().name })
  })
  afterAll(async () => {
    await db.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
    await bridge.cut()
  })

  const start = (): Promise<Explorer> =>
    startExplorer({ port: 0, db, log, logger: pino({ level: 'silent' }) })
  const txid = (byte: string): string => `/api/v1/tx/${byte.repeat(32)}`

  it('reports it within a second, serves what is in memory, and recovers by itself', async () => {
    const explorer = await start()
    const get = (path: string) => getAnswer(`${explorer.url}${path}`)
    // Without a block the index cannot decide that an object does not exist.
    expect(await get(txid('01'))).toMatchObject({ status: 503, body: { error: 'Index is syncing' } })
    await bridge.cut()
    const patience = new Patience()
    const began = performance.now()
    await until('health reports it', async () => (await get('/health')).body.database === 'disconnected')
    const head = await get(`/api/v1/block/${'ab'.repeat(32)}`)
    expect(performance.now() - began).toBeLessThan(patience.atMost(2_000))
    expect(head.status).toBe(503)
    expect((await get('/health')).body).toMatchObject({ status: 'degraded', error: 'Database unavailable' })
    expect((await get('/health')).status).toBe(503)
    expect((await get('/api/v1/mempool/summary')).status).toBe(200)
    await bridge.open()
    await until('health reports it', async () => (await get('/health')).body.status === 'ok')
    await explorer.close()
  })

  it('starts without it, answers 503 until it is available, and then serves its contents', async () => {
    await bridge.cut()
    const explorer = await start()
    const get = (path: string) => getAnswer(`${explorer.url}${path}`)
    for (const path of ['/api/v1/blocks', '/api/v1/stats/summary', '/api/v1/mempool/summary', txid('02')]) {
      const patience = new Patience()
      const began = performance.now()
      expect(await get(path), path).toMatchObject({ status: 503, body: { error: 'Database unavailable' } })
      expect(performance.now() - began).toBeLessThan(patience.atMost(1_000))
    }
    expect((await get('/api/v1/blocks?limit=0')).status).toBe(400)
    expect((await fetch(`${explorer.url}/metrics`)).status).toBe(200)
    // What a client has missed is not known: an answer now would be resync.
    expect(await socketStatus(explorer.url)).toBe(503)
    await bridge.open()
    await until('it answers', async () => (await get('/api/v1/stats/supply')).status === 200)
    expect(await socketStatus(explorer.url)).toBe(101)
    await until('health reports it', async () => (await get('/health')).body.status === 'ok')
    await explorer.close()
  })
})
