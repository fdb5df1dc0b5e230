import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Database } from '../../../pipelines/tables/clickhouse.js'
import {
  EarlierForm,
  hasEarlierForm,
  migrate,
  MigrationMismatch,
  readMigrations,
  rewrittenName,
  upgradeOf,
} from '../../../pipelines/tables/migrate.js'
import { earlierForm } from '../../harness/earlier-form.js'
import { dropDatabase, newDatabase, newMigrated } from '../../harness/engine.js'

const opened: Database[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  const [first, ...clients] = opened.splice(0)
  for (const client of clients) await client.close()
  if (first !== undefined) await dropDatabase(first)
})

/** A migration as it is read from a file. */
type Migration = Awaited<ReturnType<typeof readMigrations>>[number]

/** Migrations that come after those of this version. */
const LATER: readonly Migration[] = [
  'ALTER TABLE blocks ADD COLUMN IF NOT EXISTS colour String',
  'CREATE TABLE IF NOT EXISTS colours (height UInt32, colour String) ENGINE = ReplacingMergeTree ORDER BY height',
  'ALTER TABLE colours ADD COLUMN IF NOT EXISTS shade UInt8',
  'ALTER TABLE blocks UPDATE colour = toString(height) WHERE 1 SETTINGS mutations_sync = 1',
].map((statement, index) => {
  const name = `${String(9000 + index)}_later.sql`
  return { id: 9000 + index, name, statements: [statement], checksum: String(index), formerly: [] }
})

async function known(): Promise<readonly Migration[]> {
  return [...(await readMigrations()), ...LATER]
}

async function migrated(): Promise<Database> {
  const db = await newMigrated()
  opened.push(db)
  return db
}

function clientOf(db: Database): Database {
  const client = db.sibling(db.name)
  opened.push(client)
  return client
}

const write = (db: Database, height: number): Promise<void> =>
  db.command(`INSERT INTO colours (height, shade) SELECT ${String(height)}, 7`)

async function written(db: Database): Promise<number[]> {
  const rows = await db.query<{ height: number }>(
    'SELECT DISTINCT height FROM colours WHERE shade = 7 ORDER BY height',
  )
  return rows.map(({ height }) => height)
}

describe('two processes that migrate one database at once', () => {
  it.each([0, 2, 5, 7])(
    'keep what the faster one has written since, with the slower one held before statement %i',
    async (held) => {
      const db = await migrated()
      const slow = clientOf(db)
      const { reached, release } = holdBefore(slow, held)
      const late = migrate(slow, await known())
      await reached
      await migrate(db, await known())
      await write(db, 7)
      release()
      await late
      expect(await written(db)).toEqual([7])
    },
  )

  it('lose no row, whichever is ahead', async () => {
    const db = await migrated()
    const run = async (number: number): Promise<void> => {
      const client = clientOf(db)
      await sleep(number % 10)
      await migrate(client, await known())
      await write(client, number)
    }
    const numbers = [21, 35, 42, 58]
    await Promise.all(numbers.map(run))
    expect(await written(db)).toEqual(numbers)
  })
})

describe('the tables that tests begin with', () => {
  it('are those of a database on which every migration ran', async () => {
    const tables = (db: Database): Promise<{ name: string; created: string }[]> =>
      db.query(`SELECT name, replaceAll(create_table_query, concat(database, '.'), '') AS created FROM system.tables
        WHERE database = currentDatabase() ORDER BY name`)
    const noted = (db: Database): Promise<unknown[]> =>
      db.query('SELECT id, name, checksum FROM migrations ORDER BY id')
    const [migrated, copied] = [await newDatabase(), await newMigrated()]
    await migrate(migrated)
    expect((await tables(copied)).map(({ name }) => name)).toContain('unspent_lists')
    expect(await tables(copied)).toEqual(await tables(migrated))
    expect(await noted(copied)).toEqual(await noted(migrated))
    await Promise.all([migrated, copied].map(dropDatabase))
  })
})

describe('a database with rows of an earlier form', () => {
  async function earlier(): Promise<Database> {
    const db = await newDatabase()
    opened.push(db)
    await earlierForm(db)
    return db
  }

  it('is not altered, and the height up to which its blocks are written again is reported', async () => {
    const db = await earlier()
    const tables = (): Promise<unknown[]> =>
      db.query(
        'SELECT name, create_table_query, total_rows FROM system.tables WHERE database = currentDatabase() ORDER BY name',
      )
    const before = await tables()
    await expect(migrate(db)).rejects.toThrow(EarlierForm)
    expect(await tables()).toEqual(before)
    expect(await hasEarlierForm(db)).toBe(true)
    const waiting = { migrationsDone: 0, migrationsTotal: (await readMigrations()).length, partsLeft: 0 }
    expect(await upgradeOf(db)).toMatchObject({ ...waiting, height: -1, heightTotal: -1 })
    const head = (height: number): string =>
      `INSERT INTO heads (position, tip_height, written_at) SELECT ${String(10 * height)}, ${String(height)}, now64(3)`
    await db.command(head(20))
    const next = db.sibling(rewrittenName(db.name))
    try {
      await migrate(next)
      expect(await hasEarlierForm(next)).toBe(false)
      await next.command(head(5))
      expect(await upgradeOf(db)).toMatchObject({ ...waiting, height: 5, heightTotal: 20 })
      expect(await upgradeOf(next)).toBeUndefined()
    } finally {
      await dropDatabase(next)
    }
  })
})

describe('an upgrade', () => {
  it('is not reported without an index', async () => {
    const db = await newDatabase()
    opened.push(db)
    expect(await upgradeOf(db)).toBeUndefined()
    expect(await hasEarlierForm(db)).toBe(false)
  })

  it('is refused, and so is every read, if a newer version made the database', async () => {
    const db = await migrated()
    await db.command("INSERT INTO migrations (id, name, checksum) VALUES (9999, '9999_to_come.sql', '')")
    const refusal = /upgraded by a newer version: it has migration 9999_to_come\.sql.*Start that version/
    await expect(migrate(db)).rejects.toThrow(refusal)
    await expect(upgradeOf(db)).rejects.toThrow(MigrationMismatch)
  })

  it('continues from a database whose migration was an earlier version of it, and from no other', async () => {
    const db = await migrated()
    const [schema, ...later] = await readMigrations()
    if (schema === undefined) throw new Error('there is no migration')
    const changed = { ...schema, checksum: 'changed', formerly: [schema.checksum] }
    await migrate(db, [changed, ...later])
    const other = { ...schema, checksum: 'changed' }
    await expect(migrate(db, [other, ...later])).rejects.toThrow(MigrationMismatch)
  })
})

/** Lets this number of statements of a client pass and holds the next one until it is released. */
function holdBefore(client: Database, count: number): { reached: Promise<void>; release: () => void } {
  let [reach, release] = [(): void => undefined, (): void => undefined]
  const reached = new Promise<void>((resolve) => (reach = resolve))
  const gate = new Promise<void>((resolve) => (release = resolve))
  const send = client.command.bind(client)
  // The table of the migrations itself is made first.
  let before = -1
  vi.spyOn(client, 'command').mockImplementation(async (...statement) => {
    if (before++ === count) {
      reach()
      await gate
    }
    await send(...statement)
  })
  return { reached, release }
}
