import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded.js'
import { FORMAT } from '../../pipelines/log/record-file.js'
import { useDatabase, useEngine } from '../harness/engine.js'
import { ServiceProcess } from '../harness/processes.js'

/** A database that this version made, and a newer one has upgraded since. */
describe('after a downgrade', () => {
  const db = useDatabase()
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-downgrade-'))
    await db().command("INSERT INTO migrations (id, name, checksum) VALUES (9999, '9999_to_come.sql', '')")
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it.each(['materializer', 'explorer'])('the %s ends and says what to do', async (name) => {
    const logFile = join(folder, `${name}.log`)
    const env = {
      ...{ DATA_DIR: folder, CLICKHOUSE_URL: useEngine(), CLICKHOUSE_DATABASE: db().name },
      ...{ EXPLORER_PORT: '0', EXPLORER_GRPC_PORT: '0' },
    }
    const service = new ServiceProcess(name, env, logFile).start()
    try {
      await service.ended()
      expect(await readFile(logFile, 'utf8')).toMatch(
        new RegExp(
          `^${name}: database ${db().name} was upgraded by a newer version: it has migration 9999_to_come\\.sql`,
          'm',
        ),
      )
    } finally {
      await service.kill()
    }
  })
})

/** A log that this version made, and a newer one has written to since: its format is in the header of each SQLite file. */
describe('after a downgrade of the log', () => {
  const USER_VERSION_AT = 60
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-downgrade-'))
    const log = await openEmbeddedLog(join(folder, 'log'))
    await log.append('chain', [Buffer.from('an event')])
    await log.close()
    const file = await open(join(folder, 'log', 'chain.sqlite'), 'r+')
    const format = Buffer.alloc(4)
    format.writeUInt32BE(99)
    await file.write(format, 0, format.length, USER_VERSION_AT)
    await file.close()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it.each(['poller', 'materializer', 'explorer'])(
    'the %s ends, says what to do and writes nothing',
    async (name) => {
      const [logFile, events] = [join(folder, `${name}.log`), join(folder, 'log', 'chain.sqlite')]
      const before = await readFile(events)
      const env = {
        ...{ DATA_DIR: folder, CLICKHOUSE_URL: useEngine(), NODE_RPC_URL: 'http://127.0.0.1:1' },
        ...{ EXPLORER_PORT: '0', EXPLORER_GRPC_PORT: '0' },
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
        expect((await readFile(events)).equals(before)).toBe(true)
      } finally {
        await service.kill()
      }
    },
  )
})
