import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { coded, StartRefused } from '../errors.js'
import { type Database, TableMissing } from './clickhouse.js'
import { clusterEngineOf } from './cluster/replicas.js'

const FILE = new URL('./schema.sql', import.meta.url)

/** The statements of `schema.sql`, which create all tables. */
export interface Schema {
  /** The number in the first line of the file: larger than that of every earlier schema. */
  readonly version: number
  readonly statements: readonly string[]
  /** SHA-256 of the statements in hexadecimal. */
  readonly checksum: string
}

/** Thrown if a database has the tables of another version: only that version may use it. */
export class SchemaMismatch extends coded('HW_SCHEMA_MISMATCH', StartRefused) {}

/** Returns the schema of this version. Comments are not part of its statements. */
export async function ownSchema(): Promise<Schema> {
  const text = await readFile(FILE, 'utf8')
  const [, version] = /^-- Schema version (\d+)\.$/m.exec(text) ?? []
  if (version === undefined) throw new Error('the first line of schema.sql must be "-- Schema version N."')
  const statements = text
    .replace(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim().replace(/^CREATE TABLE /, 'CREATE TABLE IF NOT EXISTS '))
    .filter((statement) => statement !== '')
  const checksum = createHash('sha256').update(statements.join(';').replace(/\s+/g, ' ')).digest('hex')
  return { version: Number(version), statements, checksum }
}

/**
 * Creates a database with its tables, unless it has them. Any number of processes may do so at once: a row of `schema_version` says
 * that all tables exist.
 * @throws SchemaMismatch if the tables are those of another version or of another program, or must be created on a cluster;
 *   DatabaseUnavailable.
 */
export async function createTables(db: Database): Promise<void> {
  await db.createIfAbsent()
  const tables = await tablesOf(db)
  if (tables === 'own') return
  if (tables !== 'none') throw tables
  const { version, statements, checksum } = await ownSchema()
  const engine = await clusterEngineOf(db)
  if (engine !== '') {
    const file = engine === 'Distributed' ? 'sharded.sql' : 'cluster.sql'
    throw new SchemaMismatch(
      `database ${db.name} is part of a cluster and lacks tables: apply deploy/clickhouse/${file} of this version completely`,
    )
  }
  // The first statement creates schema_version.
  const [others] = await db.query<{ count: string; own: string }>(
    "SELECT count() AS count, countIf(name = 'schema_version') AS own FROM system.tables WHERE database = currentDatabase()",
  )
  if (others?.count !== '0' && others?.own === '0')
    throw new SchemaMismatch(
      `database ${db.name} has tables that no release of Headwater created: set another CLICKHOUSE_DATABASE, or drop the database if it is not needed`,
    )
  for (const statement of statements) await db.command(statement)
  await db.command(
    `INSERT INTO schema_version (version, checksum) VALUES (${String(version)}, '${checksum}')`,
  )
}

/**
 * Returns which tables a database has: all of this version, none (or not all yet), or those of another version, as the error with which
 * a process refuses them.
 * @throws DatabaseUnavailable.
 */
export async function tablesOf(db: Database): Promise<'own' | 'none' | SchemaMismatch> {
  const rows = await createdSchemas(db)
  const [newest] = rows
  if (newest === undefined) return 'none'
  const own = await ownSchema()
  const isOwn = rows.length === 1 && newest.version === own.version && newest.checksum === own.checksum
  return isOwn
    ? 'own'
    : new SchemaMismatch(`database ${db.name} has ${difference(newest.version, own.version)}`)
}

/** Returns whether a database has all tables of any version. */
export async function isCreated(db: Pick<Database, 'query'>): Promise<boolean> {
  return (await createdSchemas(db)).length > 0
}

type Created = Pick<Schema, 'version' | 'checksum'>

/** Returns the schemas that were created in a database, the newest first: at most one, unless two versions did so at once. */
async function createdSchemas(db: Pick<Database, 'query'>): Promise<Created[]> {
  const sql = 'SELECT DISTINCT version, checksum FROM schema_version ORDER BY version DESC'
  return db.query<Created>(sql).catch((error: unknown) => {
    if (error instanceof TableMissing) return []
    throw error
  })
}

const REINDEX = "run 'npm run reindex', which builds the index again from the log"

function difference(version: number, own: number): string {
  const [theirs, ours] = [String(version), String(own)]
  if (version > own)
    return `schema version ${theirs}, which a newer version of Headwater created; this one has ${ours}: start the newer version; to go back to this one, ${REINDEX}`
  if (version < own) return `schema version ${theirs}, this version of Headwater has ${ours}: ${REINDEX}`
  return `other tables under the same schema version, ${ours}: if you changed schema.sql, increase its version and ${REINDEX}`
}
