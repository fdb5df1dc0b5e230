import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ReadsService } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { openEmbeddedLog } from '../../../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../../../pipelines/log/port.js'
import type { Database } from '../../../../../pipelines/tables/clickhouse.js'
import {
  migrate,
  MigrationMismatch,
  readMigrations,
  rewrittenName,
} from '../../../../../pipelines/tables/migrate.js'
import { type Explorer, startExplorer } from '../../../../../services/explorer/host/explorer.js'
import { rpcClient } from '../../../../../services/rpc/client.js'
import { Code } from '../../../../../services/rpc/error.js'
import { claimWriting, handOver } from '../../../../../pipelines/tables/writers.js'
import { latestHead } from '../../../../../pipelines/tables/head.js'
import { earlierForm } from '../../../../harness/earlier-form.js'
import { dropDatabase, newDatabase } from '../../../../harness/engine.js'
import { type Answer, getAnswer } from '../../../../harness/pipeline.js'
import { until } from '../../../../harness/until.js'
import { failureOf } from '../../faces/grpc/bare-rpc.js'

const logger = pino({ level: 'silent' })

describe('an explorer whose database is of an earlier version', () => {
  let db: Database
  let folder: string
  let log: EventLog
  let explorer: Explorer
  const others: Database[] = []

  beforeEach(async () => {
    db = await newDatabase()
    await earlierForm(db)
    await db.command(head(20))
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = await openEmbeddedLog(folder)
    explorer = await startExplorer({ port: 0, grpcPort: 0, db, log, logger })
  })
  afterEach(async () => {
    await explorer.close()
    await log.close()
    for (const other of others.splice(0)) await dropDatabase(other)
    await dropDatabase(db)
    await rm(folder, { recursive: true, force: true })
  })

  const head = (height: number): string =>
    `INSERT INTO heads (position, chain, tip_height, written_at, connected, disconnected)
     SELECT ${String(height)}, 'regtest', ${String(height)}, now64(3), [], []`
  const get = (path: string): Promise<Answer> => getAnswer(explorer.url + path)
  const total = async (): Promise<number> => (await readMigrations()).length

  it('reports the progress while its blocks are written again, until the second database has replaced it', async () => {
    const waiting = {
      ...{ migrationsDone: 0, migrationsTotal: await total(), migration: '0011_schema.sql' },
      ...{ partsLeft: 0, height: -1, heightTotal: 20 },
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
        trailers: { 'migrations-done': '0', height: '-1', 'height-total': '20' },
      })
    } finally {
      client.close()
    }
    const next = db.sibling(rewrittenName(db.name))
    others.push(next)
    await migrate(next)
    await next.command(head(5))
    await until('it reports the height', async () => {
      const { status, body } = await get('/api/v1/blocks/tip')
      expect([status, body.error]).toEqual([503, 'Index is upgrading'])
      return body.height === 5
    })
    await claimWriting(next, -1, db.name)
    const newest = await latestHead(db)
    if (newest === undefined) throw new Error('there is no head')
    expect(await handOver(db, next.name, newest)).toBe(true)
    expect(await explorer.upgraded).toBeUndefined()
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
