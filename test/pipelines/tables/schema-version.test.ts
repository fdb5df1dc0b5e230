import { afterEach, describe, expect, it } from 'vitest'
import type { Database } from '../../../pipelines/tables/clickhouse.js'
import {
  createTables,
  isCreated,
  ownSchema,
  SchemaMismatch,
  tablesOf,
} from '../../../pipelines/tables/schema-version.js'
import { dropDatabase, newDatabase, newTables } from '../../harness/engine.js'

const opened: Database[] = []

afterEach(async () => {
  for (const db of opened.splice(0)) await dropDatabase(db)
})

async function empty(): Promise<Database> {
  const db = await newDatabase()
  opened.push(db)
  return db
}

async function complete(): Promise<Database> {
  const db = await newTables()
  opened.push(db)
  return db
}

const note = (db: Database, version: number, checksum = 'another'): Promise<void> =>
  db.command(`INSERT INTO schema_version (version, checksum) VALUES (${String(version)}, '${checksum}')`)

const statementsOf = (db: Database): Promise<{ name: string; created: string }[]> =>
  db.query(`SELECT name, replaceAll(create_table_query, concat(database, '.'), '') AS created FROM system.tables
    WHERE database = currentDatabase() ORDER BY name`)

describe('the tables of a new database', () => {
  it('are created by several processes at once, and after one of them was killed', async () => {
    const db = await empty()
    const { statements } = await ownSchema()
    for (const count of [0, 3]) {
      for (const statement of statements.slice(0, count)) await db.command(statement)
      expect([await tablesOf(db), await isCreated(db)]).toEqual(['none', false])
    }
    await Promise.all([createTables(db), createTables(db), createTables(db)])
    expect([await tablesOf(db), await isCreated(db)]).toEqual(['own', true])
    const created = await statementsOf(db)
    expect(created).toHaveLength(statements.length)
    await createTables(db)
    expect(await statementsOf(db)).toEqual(created)
  })

  it('are those that tests begin with', async () => {
    const versionOf = (db: Database): Promise<unknown[]> =>
      db.query('SELECT DISTINCT version, checksum FROM schema_version')
    const [created, copied] = [await empty(), await complete()]
    await createTables(created)
    expect(await statementsOf(copied)).toEqual(await statementsOf(created))
    expect(await versionOf(copied)).toEqual(await versionOf(created))
  })
})

it('the tables of another program are refused, and nothing is created', async () => {
  const db = await empty()
  await db.command('CREATE TABLE blocks (a UInt8) ENGINE = Memory')
  const before = await statementsOf(db)
  const creation = createTables(db)
  await expect(creation).rejects.toThrow(SchemaMismatch)
  await expect(creation).rejects.toThrow('no release of Headwater created')
  expect(await statementsOf(db)).toEqual(before)
})

describe('the tables of another version', () => {
  it.each([
    ['a later one', 1, /schema version \d+, which a newer version.*start the newer version/],
    ['an earlier one', -1, /schema version \d+, this version of Headwater has \d+: run 'npm run reindex'/],
    ['changed tables without a new number', 0, /if you changed schema\.sql, increase its version/],
  ])('are refused with what to do: %s', async (_, step, message) => {
    const db = await empty()
    const { version, statements } = await ownSchema()
    for (const statement of statements) await db.command(statement)
    await note(db, version + step)
    const before = await statementsOf(db)
    const error = await createTables(db).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SchemaMismatch)
    expect(String(error)).toMatch(message)
    expect(await tablesOf(db)).toEqual(error)
    expect(await isCreated(db)).toBe(true)
    expect(await statementsOf(db)).toEqual(before)
  })

  it('are refused if two versions created tables at once', async () => {
    const db = await complete()
    await note(db, (await ownSchema()).version - 1)
    expect(await tablesOf(db)).toBeInstanceOf(SchemaMismatch)
  })
})
