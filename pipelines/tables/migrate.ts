import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { coded, StartRefused } from '../errors.js'
import { type Database, TableMissing, QueryRefused } from './clickhouse.js'
import { engineOf, isReplicatedEngine, onAllReplicas } from './cluster/replicas.js'

const FOLDER = new URL('./migrations/', import.meta.url)

interface Migration {
  readonly id: number
  readonly name: string
  readonly statements: readonly string[]
  readonly checksum: string
  /** Checksums of earlier forms that need no further change, from lines `-- formerly CHECKSUM` of its file. */
  readonly formerly: readonly string[]
}

/** The number of the migration that creates all tables. A database with lower ones has tables of another form. */
const SCHEMA = 11

/** Thrown if the database has other migrations than this version: only a matching version may use it. */
export class MigrationMismatch extends coded('HW_SCHEMA_MISMATCH', StartRefused) {}

/** Thrown if the rows of the database have an earlier form: they must be written again, into a database that replaces it. */
export class EarlierForm extends coded('HW_SCHEMA_MISMATCH', StartRefused) {}

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
  /** Height up to which the blocks are written again, and the height to reach; only if the migration writes all of them again. */
  readonly height?: number
  readonly heightTotal?: number
}

/** Returns the name of the database that replaces one with rows of an earlier form. */
export function rewrittenName(name: string): string {
  return `${name}_${String(SCHEMA)}`
}

/**
 * Upgrades a database to the newest schema, and creates it if it does not exist. There is no lock, so no lock holder can die: each
 * statement may run any number of times, even after another process has completed the migration and writes rows. On a cluster,
 * whose tables `cluster.sql` has created, all replicas are upgraded.
 * @throws EarlierForm; MigrationMismatch if a migration was changed after it ran, or one ran that this version does not know.
 */
export async function migrate(db: Database, known?: readonly Migration[]): Promise<void> {
  await db.createIfAbsent()
  await db.command(
    `CREATE TABLE IF NOT EXISTS migrations (id UInt32, name String, checksum String, applied_at DateTime DEFAULT now())
     ENGINE = ReplacingMergeTree ORDER BY id`,
  )
  const { left, hasEarlierForm } = await compare(db, known ?? (await readMigrations()))
  if (hasEarlierForm)
    throw new EarlierForm(
      `the rows of database ${db.name} have an earlier form: the materializer writes them again, into ${rewrittenName(db.name)}`,
    )
  const engine = left.length > 0 ? await engineOf(db, 'migrations') : ''
  if (engine === 'Distributed')
    throw new MigrationMismatch(
      `database ${db.name} is distributed over shards and lacks ${left.map(({ name }) => name).join(', ')}: apply deploy/clickhouse/sharded.sql of this version`,
    )
  const isReplicated = isReplicatedEngine(engine)
  for (const { id, name, statements, checksum } of left) {
    for (const statement of statements)
      await db.command(isReplicated ? onAllReplicas(statement, db.name) : statement)
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
  const { left, hasEarlierForm } = await compare(db, known).catch((error: unknown) => {
    if (error instanceof TableMissing) return { left: [], hasEarlierForm: false }
    throw error
  })
  const [next] = left
  if (next === undefined) return undefined
  return {
    migrationsDone: known.length - left.length,
    migrationsTotal: known.length,
    migration: next.name,
    partsLeft: await partsToRewrite(db),
    ...(hasEarlierForm ? await heightsWritten(db) : {}),
  }
}

/** Returns whether the rows of a database have an earlier form. @throws MigrationMismatch. */
export async function hasEarlierForm(db: Database): Promise<boolean> {
  const compared = await compare(db, await readMigrations()).catch((error: unknown) => {
    if (error instanceof TableMissing) return undefined
    throw error
  })
  return compared?.hasEarlierForm === true
}

/**
 * Adds what versions before the fifth migration lack in the only tables that are read of a database with rows of an earlier form.
 * Its own version continues to work.
 */
export async function completeHeads(db: Database): Promise<void> {
  const isReplicated = isReplicatedEngine(await engineOf(db, 'migrations'))
  for (const statement of HEADS_COMPLETED)
    await db.command(isReplicated ? onAllReplicas(statement, db.name) : statement)
}

const HEADS_COMPLETED = [
  `CREATE TABLE IF NOT EXISTS writers (writer UInt64, position Int64, claimed_at DateTime64(3, 'UTC'))
ENGINE = ReplacingMergeTree ORDER BY writer SETTINGS fsync_after_insert = 1`,
  'ALTER TABLE writers ADD COLUMN IF NOT EXISTS successor String, ADD COLUMN IF NOT EXISTS replaces String',
  'ALTER TABLE heads ADD COLUMN IF NOT EXISTS writer UInt64, ADD COLUMN IF NOT EXISTS reached UInt8',
]

/** Returns how far the blocks of a database are written again. */
async function heightsWritten(db: Database): Promise<Pick<Upgrade, 'height' | 'heightTotal'>> {
  const tip = async (database: string): Promise<number> => {
    const sql = `SELECT argMax(tip_height, position) AS tip, count() AS heads FROM ${database}.heads`
    const [row] = await db.query<{ tip: string; heads: string }>(sql).catch((error: unknown) => {
      if (error instanceof TableMissing) return []
      throw error
    })
    return row === undefined || row.heads === '0' ? -1 : Number(row.tip)
  }
  const [height, heightTotal] = await Promise.all([tip(rewrittenName(db.name)), tip(db.name)])
  return { height, heightTotal }
}

interface Compared {
  /** The migrations that have not run. */
  readonly left: readonly Migration[]
  readonly hasEarlierForm: boolean
}

/** Compares the migrations that have run with those of this version. @throws MigrationMismatch. */
async function compare(db: Database, known: readonly Migration[]): Promise<Compared> {
  type Row = { id: number; name: string; checksum: string }
  const done = await db.query<Row>('SELECT DISTINCT id, name, checksum FROM migrations ORDER BY id')
  const hasEarlierForm = done.some(({ id }) => id < SCHEMA)
  for (const { id, name, checksum } of done.filter((row) => row.id >= SCHEMA)) {
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
  return { left: known.filter(({ id }) => !done.some((row) => row.id === id)), hasEarlierForm }
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
