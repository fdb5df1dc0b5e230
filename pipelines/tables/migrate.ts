import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { coded, StartRefused } from '../errors.js'
import { type Database, NotThere, QueryRefused } from './clickhouse.js'
import { hasReplicas, onAllReplicas } from './replicas.js'
import { POINT_TABLES } from './visible.js'

const FOLDER = new URL('./migrations/', import.meta.url)

interface Migration {
  readonly id: number
  readonly name: string
  readonly statements: readonly string[]
  readonly checksum: string
  /** Checksums of earlier versions of it, whose databases need nothing more: `-- formerly CHECKSUM` in its file. */
  readonly formerly: readonly string[]
}

/** The database was made by other migrations than these: only a matching version may touch it. */
export class MigrationMismatch extends coded('HW_SCHEMA_MISMATCH', StartRefused) {}

/** How far a database is on its way to the schema of this version. */
export interface Upgrade {
  /** Migrations that have run, of all that this version has. */
  readonly migrationsDone: number
  readonly migrationsTotal: number
  /** File name of the migration that is running, or comes next. */
  readonly migration: string
  /** Parts of tables that the running one still has to rewrite; 0 where it rewrites none. */
  readonly partsLeft: number
}

/**
 * Brings a database to the newest schema; makes it where it is missing. There is no lock, and so no holder that can die: each
 * statement may run any number of times, also late, when another process has long been done and writes (see `runStatement`).
 * On a cluster of replicas, whose tables `cluster.sql` has made, it does so on all of them.
 * @throws MigrationMismatch where one that ran was changed since, or one ran that is not known here.
 */
export async function migrate(db: Database, known?: readonly Migration[]): Promise<void> {
  await db.createIfAbsent()
  await db.command(
    `CREATE TABLE IF NOT EXISTS migrations (id UInt32, name String, checksum String, applied_at DateTime DEFAULT now())
     ENGINE = ReplacingMergeTree ORDER BY id`,
  )
  const left = await missing(db, known ?? (await readMigrations()))
  const isReplicated = left.length > 0 && (await hasReplicas(db, 'migrations'))
  for (const { id, name, statements, checksum } of left) {
    for (const statement of statements)
      await runStatement(db, isReplicated ? onAllReplicas(statement, db.name) : statement, id)
    await db.command(
      `INSERT INTO migrations (id, name, checksum) VALUES (${String(id)}, '${name}', '${checksum}')`,
    )
  }
}

/**
 * Returns how far a database is on its way to this version's schema, undefined where it has it, or has none at all.
 * @throws MigrationMismatch where a newer version made it.
 */
export async function upgradeOf(db: Database): Promise<Upgrade | undefined> {
  const known = await readMigrations()
  const left = await missing(db, known).catch((error: unknown) => {
    if (error instanceof NotThere) return []
    throw error
  })
  const [next] = left
  if (next === undefined) return undefined
  return {
    migrationsDone: known.length - left.length,
    migrationsTotal: known.length,
    migration: next.name,
    partsLeft: await partsToRewrite(db),
  }
}

/** Returns the migrations that have not run. @throws MigrationMismatch. */
async function missing(db: Database, known: readonly Migration[]): Promise<Migration[]> {
  type Row = { id: number; name: string; checksum: string }
  const done = await db.query<Row>('SELECT DISTINCT id, name, checksum FROM migrations ORDER BY id')
  for (const { id, name, checksum } of done) {
    const own = known.find((each) => each.id === id)
    if (own === undefined)
      throw new MigrationMismatch(
        `database ${db.name} was upgraded by a newer version: it has migration ${name}, which this version does not know. Start that version or a newer one; to go back, restore a backup, or index again into another CLICKHOUSE_DATABASE`,
      )
    if (own.checksum !== checksum && !own.formerly.includes(checksum))
      throw new MigrationMismatch(
        `migration ${name} of database ${db.name} is not the ${own.name} of this version: start the version that made the database, or a newer one`,
      )
  }
  return known.filter(({ id }) => !done.some((row) => row.id === id))
}

/** Not every user of a server may read its system tables. */
async function partsToRewrite(db: Database): Promise<number> {
  const sql = `SELECT sum(parts_to_do) AS parts FROM system.mutations WHERE database = currentDatabase() AND NOT is_done`
  const rows = await db.query<{ parts: string }>(sql).catch((error: unknown) => {
    if (error instanceof QueryRefused) return []
    throw error
  })
  return Number(rows[0]?.parts ?? 0)
}

/**
 * Runs a statement of a migration so that it may run again and late. `CREATE TABLE` gets its `IF NOT EXISTS` when it is read.
 * `TRUNCATE TABLE` becomes a deletion on the condition that the migration is not noted as done. The server looks when it
 * deletes, and deletes only rows that were there when it was asked: those are of an earlier version, or the migration was
 * noted before they were written, and then the condition is false. Point tables cannot do that, and need not: what they
 * hold no block, and so no version, can change.
 */
async function runStatement(db: Database, statement: string, id: number): Promise<void> {
  const table = /^TRUNCATE TABLE (\w+)$/.exec(statement)?.[1]
  if (table === undefined) return db.command(statement)
  if (table in POINT_TABLES) return
  await db.command(
    `ALTER TABLE ${table} DELETE WHERE (SELECT count() FROM ${db.name}.migrations WHERE id = ${String(id)}) = 0
     SETTINGS mutations_sync = 1, mutations_execute_subqueries_on_initiator = 0`,
  )
}

/** Whether all migrations of this version have run: until then tables and columns may be missing. @throws NotThere before the first. */
export async function isMigrated(db: Pick<Database, 'query'>): Promise<boolean> {
  const done = await db.query<{ id: number }>('SELECT DISTINCT id FROM migrations')
  const known = await readMigrations()
  return known.every(({ id }) => done.some((row) => row.id === id))
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
      const formerly = [...text.matchAll(/^-- formerly ([0-9a-f]{64})$/gm)].map(([, former = '']) => former)
      return { id: Number(name.slice(0, 4)), name, statements, checksum, formerly }
    }),
  )
}
