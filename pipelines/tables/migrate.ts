import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Database } from './clickhouse.js'

const FOLDER = new URL('./migrations/', import.meta.url)

interface Migration {
  readonly id: number
  readonly name: string
  readonly statements: readonly string[]
  readonly checksum: string
}

/** The database was made by other migrations than these: only a matching version may touch it. */
export class MigrationMismatch extends Error {
  override readonly name = 'MigrationMismatch'
}

/**
 * Brings a database to the newest schema; makes it where it is missing. Each statement can run twice, so that two processes
 * that start at once, or one that died in between, do no harm.
 * @throws MigrationMismatch where one that ran was changed since, or one ran that is not known here.
 */
export async function migrate(db: Database): Promise<void> {
  await db.createIfAbsent()
  await db.command(
    `CREATE TABLE IF NOT EXISTS migrations (id UInt32, name String, checksum String, applied_at DateTime DEFAULT now())
     ENGINE = ReplacingMergeTree ORDER BY id`,
  )
  const done = new Map(
    (await db.query<{ id: number; checksum: string }>('SELECT DISTINCT id, checksum FROM migrations')).map(
      (row) => [row.id, row.checksum],
    ),
  )
  const known = await readMigrations()
  for (const id of done.keys()) {
    if (!known.some((each) => each.id === id))
      throw new MigrationMismatch(
        `the database has migration ${String(id)}, which this version does not know`,
      )
  }
  for (const { id, name, statements, checksum } of known) {
    const applied = done.get(id)
    if (applied === checksum) continue
    if (applied !== undefined) throw new MigrationMismatch(`migration ${name} was changed after it had run`)
    for (const statement of statements) await db.command(statement)
    await db.command(
      `INSERT INTO migrations (id, name, checksum) VALUES (${String(id)}, '${name}', '${checksum}')`,
    )
  }
}

/** The migrations in their order; comments are left out of what is run and compared. */
export async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, FOLDER), 'utf8')
      const statements = text
        .replace(/--.*$/gm, '')
        .split(';')
        .map((statement) => statement.trim().replace(/^CREATE TABLE (?!IF)/, 'CREATE TABLE IF NOT EXISTS '))
        .filter((statement) => statement !== '')
      const checksum = createHash('sha256').update(statements.join(';').replace(/\s+/g, ' ')).digest('hex')
      return { id: Number(name.slice(0, 4)), name, statements, checksum }
    }),
  )
}
