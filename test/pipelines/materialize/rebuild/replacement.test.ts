import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openEmbeddedLog } from '../../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../../pipelines/log/port.js'
import {
  assertWhole,
  describeSwitch,
  prepareTarget,
  replaceDatabase,
} from '../../../../pipelines/materialize/rebuild/replacement.js'
import { CannotReplay } from '../../../../pipelines/materialize/rebuild/replay.js'
import type { Database } from '../../../../pipelines/tables/clickhouse.js'
import { latestHead, writeHead } from '../../../../pipelines/tables/head.js'
import { createTables, isCreated, tablesOf } from '../../../../pipelines/tables/schema-version.js'
import { notesOf, servingDatabase } from '../../../../pipelines/tables/serving.js'
import { claimWriting, handOver } from '../../../../pipelines/tables/writers.js'
import { dropDatabase, newDatabase, newTables } from '../../../harness/engine.js'
import { headWith } from '../../../harness/heads.js'

const HEAD = headWith()

const opened: Database[] = []

afterEach(async () => {
  for (const db of opened.splice(0)) await dropDatabase(db)
})

async function serving(): Promise<Database> {
  const db = await newTables()
  opened.push(db)
  return db
}

function besides(db: Database, suffix: string): Database {
  const other = db.sibling(`${db.name}${suffix}`)
  opened.push(other)
  return other
}

async function newLog(): Promise<EventLog> {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-'))
  const log = await openEmbeddedLog(folder)
  onTestFinished(async () => {
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })
  return log
}

/** Makes tables those of another version. */
async function age(db: Database): Promise<void> {
  await db.command('TRUNCATE TABLE schema_version')
  await db.command(`INSERT INTO schema_version (version, checksum) VALUES (0, '')`)
}

describe('the database that replaces another one', () => {
  it('is no other database than one that was started for this', async () => {
    const db = await serving()
    for (const name of ['', '1st', 'a-b', 'a b', 'x'.repeat(64), "a'b", 'a;b'])
      await expect(prepareTarget(db, name), name).rejects.toThrow('consists of letters')
    await expect(prepareTarget(db, db.name)).rejects.toThrow(`${db.name} is the database that serves`)
    await expect(prepareTarget(db, 'system')).rejects.toThrow("tables that are not Headwater's")
    const empty = await newDatabase()
    opened.push(empty)
    await expect(prepareTarget(empty, 'other')).rejects.toThrow('nothing is indexed')
    const query = db.query.bind(db)
    vi.spyOn(db, 'query').mockImplementation(async (sql, ...rest) => {
      return sql.startsWith('SELECT engine') ? [{ engine: 'ReplicatedMergeTree' }] : query(sql, ...rest)
    })
    await expect(prepareTarget(db, 'other')).rejects.toThrow('is replicated')
    vi.restoreAllMocks()
    const index = besides(db, '_index')
    await createTables(index)
    await prepareTarget(db, index.name)
    await claimWriting(index, -1)
    const refusal = prepareTarget(db, index.name)
    await expect(refusal).rejects.toThrow(CannotReplay)
    await expect(refusal).rejects.toThrow('is an independent index')
    await age(index)
    await expect(prepareTarget(db, index.name)).rejects.toThrow('is an independent index')
  })

  it('is none with rows of another program, even if that has a table schema_version', async () => {
    const db = await serving()
    const foreign = besides(db, '_foreign')
    const count = async (): Promise<unknown> =>
      (await foreign.query('SELECT count() AS count FROM visits'))[0]
    await foreign.createIfAbsent()
    await foreign.command('CREATE TABLE visits (a UInt8) ENGINE = MergeTree ORDER BY a')
    await foreign.command('INSERT INTO visits VALUES (1)')
    for (const columns of ['version String', 'version UInt32, checksum String']) {
      await foreign.command(`CREATE TABLE schema_version (${columns}) ENGINE = Memory`)
      await expect(prepareTarget(db, foreign.name), columns).rejects.toThrow()
      await foreign.command('DROP TABLE schema_version')
    }
    await foreign.command('CREATE TABLE schema_version (version UInt32, checksum String) ENGINE = Memory')
    await foreign.command("INSERT INTO schema_version VALUES (7, '')")
    await expect(prepareTarget(db, foreign.name)).rejects.toThrow('has rows in visits')
    await foreign.command('RENAME TABLE visits TO hidden')
    await foreign.command('CREATE VIEW visits AS SELECT * FROM hidden')
    await foreign.command('TRUNCATE TABLE hidden')
    await expect(prepareTarget(db, foreign.name)).rejects.toThrow('has rows in visits')
    expect(await count()).toEqual({ count: '0' })
  })

  it('is not dropped if it serves meanwhile', async () => {
    const db = await serving()
    const next = besides(db, '_next')
    await prepareTarget(db, next.name)
    await claimWriting(next, -1, db.name)
    expect(await handOver(db, next.name, undefined)).toBe(true)
    await age(next)
    await expect(prepareTarget(db, next.name)).rejects.toThrow(`was replaced by ${next.name} meanwhile`)
    expect(await isCreated(next)).toBe(true)
  })

  it('must have the tables of this version on a cluster', async () => {
    const db = await serving()
    const next = besides(db, '_next')
    await prepareTarget(db, next.name)
    await age(next)
    const query = db.query.bind(db)
    vi.spyOn(db, 'query').mockImplementation(async (sql, ...rest) => {
      return sql.startsWith('SELECT engine') ? [{ engine: 'ReplicatedMergeTree' }] : query(sql, ...rest)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    const refusal = prepareTarget(db, next.name)
    await expect(refusal).rejects.toThrow(CannotReplay)
    await expect(refusal).rejects.toThrow('drop it on every server')
    expect(await isCreated(next)).toBe(true)
    expect(await describeSwitch(db, next.name, HEAD)).toContain(
      `serves from block 1 on. When no process of another version runs and all have CLICKHOUSE_DATABASE=${next.name}, `,
    )
  })

  it('is continued, but created again if it has the tables of another version or only some', async () => {
    const db = await serving()
    const next = besides(db, '_next')
    const mark = (): Promise<void> => next.command('CREATE TABLE mark (a UInt8) ENGINE = Memory')
    const isMarked = async (): Promise<boolean> =>
      (await next.query("SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'mark'"))
        .length > 0
    await prepareTarget(db, next.name)
    await claimWriting(next, -1, db.name)
    await mark()
    await prepareTarget(db, next.name)
    expect(await isMarked()).toBe(true)
    await age(next)
    await prepareTarget(db, next.name)
    expect([await isMarked(), await tablesOf(next)]).toEqual([false, 'own'])
    await next.command('DROP TABLE writers')
    await next.command('TRUNCATE TABLE schema_version')
    await mark()
    await prepareTarget(db, next.name)
    expect([await isMarked(), await tablesOf(next)]).toEqual([false, 'own'])
  })

  it('is built from a whole log only', async () => {
    const log = await newLog()
    await expect(assertWhole(log)).rejects.toThrow('the log is empty')
    const late = { first: () => Promise.resolve(7), last: () => Promise.resolve(9) }
    await expect(assertWhole(late)).rejects.toThrow('begins at position 7')
    const db = await serving()
    await writeHead(db, HEAD)
    const next = `${db.name}_next`
    const parts = { configured: db, serving: db, log, logger: pino({ level: 'silent' }) }
    await expect(replaceDatabase({ ...parts, progress: () => undefined }, next)).rejects.toThrow('is empty')
    const sql = 'SELECT 1 FROM system.databases WHERE name = {name:String}'
    expect(await db.query(sql, { name: next })).toEqual([])
    await log.append('chain', [Buffer.from('x')])
    await assertWhole(log)
  })

  it('replaces one without a head at once, although that lacks columns of the tables that are read of it', async () => {
    const db = await serving()
    const next = besides(db, '_next')
    besides(db, notesOf(''))
    await age(db)
    await db.command('ALTER TABLE heads DROP COLUMN reached, DROP COLUMN sequence')
    await db.command('ALTER TABLE writers DROP COLUMN successor, DROP COLUMN replaces')
    const parts = { configured: db, serving: db, log: await newLog(), logger: pino({ level: 'silent' }) }
    expect(await replaceDatabase({ ...parts, progress: () => undefined }, next.name)).toBeUndefined()
    expect(await servingDatabase(db)).toBe(next.name)
    expect(await tablesOf(next)).toBe('own')
    await writeHead(next, HEAD)
    expect(await latestHead(next)).toMatchObject({ tipHeight: 1 })
  })
})
