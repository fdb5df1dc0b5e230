import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import { FORMAT } from '../../pipelines/log/embedded/record-file.js'
import { useDatabase, useEngine } from '../harness/engine.js'
import { ServiceProcess } from '../harness/processes.js'

describe('on a database of a newer version', () => {
  const db = useDatabase()
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-versions-'))
    await db().command("INSERT INTO schema_version (version, checksum) VALUES (9999, '')")
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it.each([
    ['materializer', {}],
    // It could not lead: nothing listens there.
    ['materializer', { LOG_URL: 'kafka://127.0.0.1:1' }],
    ['explorer', {}],
  ])('the %s exits and logs what to do', async (name, settings) => {
    const logFile = join(folder, `${name}.log`)
    const env = {
      DATA_DIR: folder,
      CLICKHOUSE_URL: useEngine(),
      CLICKHOUSE_DATABASE: db().name,
      EXPLORER_PORT: '0',
      EXPLORER_GRPC_PORT: '0',
      ...settings,
    }
    const service = new ServiceProcess(name, env, logFile).start()
    try {
      await service.ended()
      expect(await readFile(logFile, 'utf8')).toMatch(
        new RegExp(
          `^${name}: HW_SCHEMA_MISMATCH: database ${db().name} has schema version 9999, which a newer version.*: start the newer version`,
          'm',
        ),
      )
    } finally {
      await service.kill()
    }
  })
})

/** Its format is a number in each SQLite file. */
describe('on a log of a newer version', () => {
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-versions-'))
    const log = await openEmbeddedLog(join(folder, 'log'))
    await log.append('chain', [Buffer.from('an event')])
    await log.close()
    const newer = new DatabaseSync(join(folder, 'log', 'chain.sqlite'))
    newer.exec('PRAGMA user_version = 99')
    newer.close()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it.each(['poller', 'materializer', 'explorer'])(
    'the %s exits, logs what to do and writes nothing',
    async (name) => {
      const [logFile, events] = [join(folder, `${name}.log`), join(folder, 'log', 'chain.sqlite')]
      const env = {
        DATA_DIR: folder,
        CLICKHOUSE_URL: useEngine(),
        NODE_RPC_URL: 'http://127.0.0.1:1',
        EXPLORER_PORT: '0',
        EXPLORER_GRPC_PORT: '0',
      }
      const service = new ServiceProcess(name, env, logFile).start()
      try {
        await service.ended()
        const [line] = (await readFile(logFile, 'utf8'))
          .split('\n')
          .filter((each) => each.startsWith(`${name}: `))
        expect(line).toContain(
          `${events} has format 99 of the event log, this version reads up to ${String(FORMAT)}: run the version that wrote it or a later one`,
        )
        const newer = new DatabaseSync(events)
        const [row] = newer.prepare('SELECT count(*) AS records FROM records').all()
        newer.close()
        expect(row).toMatchObject({ records: 1 })
      } finally {
        await service.kill()
      }
    },
  )
})
