import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { coded, StartRefused } from '../errors.js'
import { type Database, TableMissing, QueryRefused } from './clickhouse.js'
import { hasReplicas, onAllReplicas } from './replicas.js'
import { POINT_TABLES } from './visible.js'

const FOLDER = new URL('./migrations/', import.meta.url)

interface Migration {
  readonly id: number
  readonly name: string
  readonly statements: readonly string[]
  readonly checksum: string
  /** Checksums of earlier forms that need no further change, from lines `-- formerly CHECKSUM` of its file. */
  readonly formerly: readonly string[]
}

/** Thrown if the database has other migrations than this version: only a matching version may use it. */
export class MigrationMismatch extends coded('HW_SCHEMA_MISMATCH', StartRefused) {}

/** Progress of the upgrade of a database to the schema of this version. */
export interface Upgrade {
  /** Number of migrations that have run. */
  readonly migrationsDone: number
  /** Number of migrations of this version. */
  readonly migrationsTotal: number
  /** File name of the migration that is running or next. */
  readonly migration: string
  /** Number of parts of tables that it still has to rewrite; 0 if it rewrites none. */
  readonly partsLeft: number
}

/**
 * Upgrades a database to the newest schema, and creates it if it does not exist. There is no lock, so no lock holder can die: each
 * statement may run any number of times, even after another process has completed the migration and writes rows (see
 * `runStatement`). On a cluster, whose tables `cluster.sql` has created, all replicas are upgraded.
 * @throws MigrationMismatch if a migration was changed after it ran, or one ran that this version does not know.
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
 * Returns the progress of an upgrade, undefined if the database has the schema of this version, or does not exist yet.
 * @throws MigrationMismatch if a newer version has upgraded it.
 */
export async function upgradeOf(db: Database): Promise<Upgrade | undefined> {
  const known = await readMigrations()
  const left = await missing(db, known).catch((error: unknown) => {
    if (error instanceof TableMissing) return []
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

/** Returns the number of parts that mutations still have to rewrite; 0 if the user may not read the system tables. */
async function partsToRewrite(db: Database): Promise<number> {
  const sql = `SELECT sum(parts_to_do) AS parts FROM system.mutations WHERE database = currentDatabase() AND NOT is_done`
  const rows = await db.query<{ parts: string }>(sql).catch((error: unknown) => {
    if (error instanceof QueryRefused) return []
    throw error
  })
  return Number(rows[0]?.parts ?? 0)
}

/**
 * Runs a statement of a migration such that it may run again at any time. `readMigrations` adds `IF NOT EXISTS` to
 * `CREATE TABLE`. `TRUNCATE TABLE` becomes a deletion with the condition that the migration is not recorded as done. The server
 * evaluates it when it deletes, and deletes only rows that existed when the deletion was submitted. These are rows of an earlier
 * version; rows of this version are written after the migration was recorded, and then the condition is false. Point tables do
 * not support such a deletion and do not need it: their rows are the same for every block, and so for every version.
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

/**
 * Returns whether all migrations of this version have run. Until then tables and columns may be missing.
 * @throws TableMissing before the first migration.
 */
export async function isMigrated(db: Pick<Database, 'query'>): Promise<boolean> {
  const done = await db.query<{ id: number }>('SELECT DISTINCT id FROM migrations')
  const known = await readMigrations()
  return known.every(({ id }) => done.some((row) => row.id === id))
}

/** Returns the migrations in order. Comments are neither run nor part of the checksum. */
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
