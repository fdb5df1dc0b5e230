import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ReadsService } from '../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { openEmbeddedLog } from '../../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../../pipelines/log/port.js'
import type { Database } from '../../../../pipelines/tables/clickhouse.js'
import { migrate, MigrationMismatch, readMigrations } from '../../../../pipelines/tables/migrate.js'
import { type Explorer, startExplorer } from '../../../../services/explorer/explorer.js'
import { rpcClient } from '../../../../services/rpc/client.js'
import { Code } from '../../../../services/rpc/error.js'
import { dropDatabase, newDatabase } from '../../../harness/engine.js'
import { type Answer, getAnswer } from '../../../harness/pipeline.js'
import { until } from '../../../harness/until.js'
import { failureOf } from '../rpc/bare-rpc.js'

const logger = pino({ level: 'silent' })

describe('an explorer whose database is of an earlier version', () => {
  let db: Database
  let folder: string
  let log: EventLog
  let explorer: Explorer
  const clients: Database[] = []

  beforeEach(async () => {
    db = await newDatabase()
    await migrate(db, (await readMigrations()).slice(0, 1))
    await db.command('INSERT INTO blocks (height) SELECT 1')
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = await openEmbeddedLog(folder)
    explorer = await startExplorer({ port: 0, grpcPort: 0, db, log, logger })
  })
  afterEach(async () => {
    await explorer.close()
    await log.close()
    for (const client of clients.splice(0)) await client.close()
    await dropDatabase(db)
    await rm(folder, { recursive: true, force: true })
  })

  const get = (path: string): Promise<Answer> => getAnswer(explorer.url + path)
  const total = async (): Promise<number> => (await readMigrations()).length

  it('reports the progress while two processes upgrade it, until it is done', async () => {
    const waiting = {
      ...{ migrationsDone: 1, migrationsTotal: await total(), migration: '0002_statistics.sql' },
      partsLeft: 0,
    }
    for (const path of ['/blocks/tip', '/stats/summary', '/block/7', '/txs/recent']) {
      const { status, headers, body } = await get(`/api/v1${path}`)
      expect({ path, status, body }).toEqual({
        ...{ path, status: 503 },
        body: { error: 'Index is upgrading', code: 'HW_UPGRADING', ...waiting },
      })
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(headers.get('cache-control')).toBe('no-store')
    }
    expect(await get('/health')).toMatchObject({
      status: 503,
      body: { status: 'degraded', error: 'Index is upgrading', upgrade: waiting },
    })
    const client = rpcClient(ReadsService, explorer.grpcAddress ?? '')
    try {
      expect(await failureOf(client.tip({}))).toMatchObject({
        ...{ status: Code.UNAVAILABLE, details: 'Index is upgrading' },
        trailers: { 'migrations-done': '1', 'migrations-total': String(waiting.migrationsTotal) },
      })
    } finally {
      client.close()
    }
    await db.command('SYSTEM STOP MERGES blocks')
    for (let each = 0; each < 2; each++) clients.push(db.sibling(db.name))
    const upgrades = Promise.all(clients.map((each) => migrate(each)))
    await until('it says that a table is being rewritten', async () => {
      const { status, body } = await get('/api/v1/blocks/tip')
      expect([status, body.error]).toEqual([503, 'Index is upgrading'])
      return body.partsLeft > 0
    })
    await db.command('SYSTEM START MERGES blocks')
    await upgrades
    expect(await explorer.upgraded).toBeUndefined()
    await until('it answers', async () => (await get('/api/v1/stats/summary')).status === 200)
    expect((await get('/health')).body).not.toHaveProperty('upgrade')
  })

  it('exits if a newer version has upgraded it', async () => {
    await db.command("INSERT INTO migrations (id, name, checksum) VALUES (9999, '9999_to_come.sql', '')")
    expect(await explorer.upgraded).toBeInstanceOf(MigrationMismatch)
  })
})

it('reports no upgrade of a database that is empty', async () => {
  const db = await newDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'headwater-'))
  const log = await openEmbeddedLog(folder)
  const explorer = await startExplorer({ port: 0, db, log, logger })
  try {
    expect(await explorer.upgraded).toBeUndefined()
    const { status, body } = await getAnswer(`${explorer.url}/api/v1/blocks/tip`)
    expect([status, body.error]).toEqual([503, 'Not ready yet'])
  } finally {
    await explorer.close()
    await log.close()
    await dropDatabase(db)
    await rm(folder, { recursive: true, force: true })
  }
})
