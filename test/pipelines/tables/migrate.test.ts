import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Database } from '../../../pipelines/tables/clickhouse.js'
import { migrate, MigrationMismatch, readMigrations, upgradeOf } from '../../../pipelines/tables/migrate.js'
import { dropDatabase, newDatabase, newMigrated } from '../../harness/engine.js'
import { until } from '../../harness/until.js'

const opened: Database[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  const [first, ...clients] = opened.splice(0)
  for (const client of clients) await client.close()
  if (first !== undefined) await dropDatabase(first)
})

/** The chain's tables that 0001 makes, with their keys. */
const TABLES = {
  heads: 'position',
  blocks: 'height',
  block_heights: 'height',
  block_txs: 'height',
  tx_places: 'height',
  spends: 'height',
  script_txs: 'ordinal',
  script_outputs: 'height',
  scripts: 'script',
}

/** Rows as a version writes them, distinguished by the number in their key. */
async function write(db: Database, number: number): Promise<void> {
  for (const [table, column] of Object.entries(TABLES)) {
    const key = table === 'block_heights' ? ', hash' : table === 'scripts' ? ', script_hash' : ''
    const value = key === '' ? '' : `, leftPad('${String(number)}', 32, 'k')`
    await db.command(`INSERT INTO ${table} (${column}${key}) SELECT ${String(number)}${value}`)
  }
}

async function written(db: Database): Promise<Record<string, number[]>> {
  const found: Record<string, number[]> = {}
  for (const [table, column] of Object.entries(TABLES)) {
    const sql = `SELECT DISTINCT toUInt32(${column}) AS number FROM ${table} ORDER BY number`
    found[table] = (await db.query<{ number: number }>(sql)).map(({ number }) => number)
  }
  return found
}

/** A database of the first version, with rows. */
async function oldDatabase(): Promise<Database> {
  const db = await newDatabase()
  opened.push(db)
  await migrate(db, (await readMigrations()).slice(0, 1))
  await write(db, 1)
  return db
}

function clientOf(db: Database): Database {
  const client = db.sibling(db.name)
  opened.push(client)
  return client
}

/** Point tables contain what no block can change, so old rows stay valid. */
const after = (...numbers: number[]): Record<string, number[]> =>
  Object.fromEntries(
    Object.keys(TABLES).map((name) => {
      return [name, ['block_heights', 'scripts'].includes(name) ? [1, ...numbers] : numbers]
    }),
  )

describe('two processes that migrate one database at once', () => {
  // Held before the first statement, the process runs all of them late; then in the middle of those that empty
  // tables, and after.
  it.each([0, 4, 9, 14])(
    'keep what the faster one has written since, with the slower one held before statement %i',
    async (held) => {
      const db = await oldDatabase()
      const slow = clientOf(db)
      const { reached, release } = holdBefore(slow, held)
      const late = migrate(slow)
      await reached
      await migrate(db)
      await write(db, 7)
      release()
      await late
      expect(await written(db)).toEqual(after(7))
    },
  )

  it('lose no row, whichever is ahead', async () => {
    const db = await oldDatabase()
    const run = async (number: number): Promise<void> => {
      const client = clientOf(db)
      await sleep(number % 10)
      await migrate(client)
      await write(client, number)
    }
    const numbers = [21, 35, 42, 58]
    await Promise.all(numbers.map(run))
    expect(await written(db)).toEqual(after(...numbers))
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

describe('an upgrade', () => {
  it('reports its progress, and the remaining parts of a table that it rewrites', async () => {
    const db = await oldDatabase()
    const total = (await readMigrations()).length
    expect(await upgradeOf(db)).toEqual({
      ...{ migrationsDone: 1, migrationsTotal: total, migration: '0002_statistics.sql', partsLeft: 0 },
    })
    await db.command('SYSTEM STOP MERGES blocks')
    const upgrade = migrate(clientOf(db))
    await until('a table waits to be rewritten', async () => (await upgradeOf(db))?.partsLeft === 1)
    await db.command('SYSTEM START MERGES blocks')
    await upgrade
    expect(await upgradeOf(db)).toBeUndefined()
  })

  it('is not reported without an index', async () => {
    const db = await newDatabase()
    opened.push(db)
    expect(await upgradeOf(db)).toBeUndefined()
  })

  it('is refused, and so is every read, if a newer version made the database', async () => {
    const db = await oldDatabase()
    const before = await written(db)
    await db.command("INSERT INTO migrations (id, name, checksum) VALUES (9999, '9999_to_come.sql', '')")
    const refusal = /upgraded by a newer version: it has migration 9999_to_come\.sql.*Start that version/
    await expect(migrate(db)).rejects.toThrow(refusal)
    await expect(upgradeOf(db)).rejects.toThrow(MigrationMismatch)
    expect(await written(db)).toEqual(before)
  })

  it('continues from a database whose migration was an earlier version of it, and from no other', async () => {
    const db = await oldDatabase()
    await migrate(db)
    const [, , , , , , unspent] = await readMigrations()
    const noted = (checksum: string): Promise<void> =>
      db.command(
        `INSERT INTO migrations (id, name, checksum, applied_at) VALUES (7, '${unspent?.name ?? ''}', '${checksum}', now() + 1)`,
      )
    await db.command('TRUNCATE TABLE migrations')
    await noted(unspent?.formerly[0] ?? '')
    await migrate(db)
    await noted('0'.repeat(64))
    await expect(migrate(db)).rejects.toThrow(MigrationMismatch)
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
