import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
