import type { EventLog } from '../../log/port.js'
import type { Logger } from '../../logger.js'
import { loadChainView } from '../../tables/chain-view.js'
import { type Database, TableMissing } from '../../tables/clickhouse.js'
import { clusterEngineOf, engineOf } from '../../tables/cluster/replicas.js'
import { onEachShard } from '../../tables/cluster/shards.js'
import { type Head, latestHead } from '../../tables/head.js'
import { createTables, isCreated, SchemaMismatch, tablesOf } from '../../tables/schema-version.js'
import { DATABASE_NAME, noteServing, servingDatabase } from '../../tables/serving.js'
import { handOver, newestClaim } from '../../tables/writers.js'
import { Announcer } from '../announce.js'
import { CannotReplay } from './replay.js'
import { Successor } from './successor.js'

export interface ReplacementParts {
  /** The database in `CLICKHOUSE_DATABASE`. */
  readonly configured: Database
  /** The database that serves now: `configured` or its successor. It may have the schema of another version. */
  readonly serving: Database
  readonly log: EventLog
  readonly logger: Logger
  /** Called when the blocks up to a height are written, with the height of the tip. */
  readonly progress: (height: number, tip: number) => void
  /** See `OwnRowsOptions`. */
  readonly hasBodies?: boolean | undefined
  /** Called at two points, for tests that kill the process there. */
  readonly reach?: (point: 'before-switch' | 'after-switch') => void
}

/**
 * Builds a second database from the log while the first one serves and is written, and switches over to it when both have the same
 * head. If it is interrupted before the switch, the next call continues.
 * @returns the head from which on the second database serves; undefined if nothing was indexed yet.
 * @throws CannotReplay; SchemaMismatch; the errors of `Successor`.
 */
export async function replaceDatabase(parts: ReplacementParts, name: string): Promise<Head | undefined> {
  const { configured, serving: old, log, logger, progress, hasBodies, reach } = parts
  if (await hasHeads(old)) await assertWhole(log)
  await prepareTarget(old, name)
  const db = old.sibling(name)
  try {
    for (const table of ['heads', 'writers']) await addMissingColumns(old, db, table)
    const isEmpty = (await latestHead(old)) === undefined && (await handOver(old, name, undefined))
    if (!isEmpty) {
      await assertWhole(log)
      const beforeSwitch = (): void => reach?.('before-switch')
      await new Successor({ db, old, log, logger, progress, hasBodies, beforeSwitch }).run()
    }
    reach?.('after-switch')
    return await announceReplacement(configured, db, log)
  } finally {
    await db.close()
  }
}

/**
 * Returns what an operator learns after a switch: which database serves, and when the replaced one may be dropped.
 * @param head from which on the new database serves, undefined if nothing was indexed yet.
 */
export async function describeSwitch(old: Database, name: string, head: Head | undefined): Promise<string> {
  const from = head === undefined ? '' : ` from block ${String(head.tipHeight)} on`
  // On a cluster the record of the switch is on one server only.
  const isSet = (await clusterEngineOf(old)) === '' ? '' : ` and all have CLICKHOUSE_DATABASE=${name}`
  return `${name} serves${from}. When no process of another version runs${isSet}, ${old.name} is no longer needed: DROP DATABASE ${old.name}`
}

/**
 * Records which database serves instead of the configured database, and announces its newest head: explorers look for it now instead of
 * at the next block.
 * @returns that head, undefined for none.
 */
export async function announceReplacement(
  configured: Database,
  db: Database,
  log: EventLog,
): Promise<Head | undefined> {
  await noteServing(configured, db.name)
  const head = await latestHead(db)
  if (head !== undefined) await new Announcer(log).head(head, await loadChainView(db, head))
  return head
}

/** Checks that the log reaches from the first block to the last one. @throws CannotReplay if not. */
export async function assertWhole(log: Pick<EventLog, 'first' | 'last'>): Promise<void> {
  const [first, last] = await Promise.all([log.first('chain'), log.last('chain')])
  if (last < 0) throw new CannotReplay('the log is empty: it is not the log that was indexed')
  if (first > 0)
    throw new CannotReplay(
      `the log begins at position ${String(first)}: it does not reach back to the first block, as with LOG_BLOCKS; ` +
        'build the index from the node, in another DATA_DIR, or with another LOG_URL and CLICKHOUSE_DATABASE',
    )
}

/**
 * Creates a database that will replace another one, with the tables of this version. One that was created for this before is kept, if
 * it has these tables; an unfinished one of another version is dropped first, because nothing reads it.
 * @throws CannotReplay for the name of any other database, and on a cluster, where the tables of this version must exist.
 */
export async function prepareTarget(old: Database, name: string): Promise<void> {
  if (!DATABASE_NAME.test(name))
    throw new CannotReplay(`a database name consists of letters, digits and _, at most 63, got '${name}'`)
  if (name === old.name) throw new CannotReplay(`${name} is the database that serves: choose another name`)
  if (!(await isCreated(old))) throw new CannotReplay(`nothing is indexed in ${old.name} yet`)
  const engine = await clusterEngineOf(old)
  const isCluster = engine !== ''
  const sql = 'SELECT name FROM system.tables WHERE database = {name:String}'
  const tables = (await old.query<{ name: string }>(sql, { name })).map((table) => table.name)
  if (tables.length === 0 && isCluster)
    throw new CannotReplay(
      `${old.name} is ${engine === 'Distributed' ? 'distributed' : 'replicated'}, and tables created here would exist on this server only: create those of ${name} first, see content/cluster.md`,
    )
  if (tables.length > 0 && !tables.includes('schema_version'))
    throw new CannotReplay(`${name} holds tables that are not Headwater's: ${tables.slice(0, 3).join(', ')}`)
  const target = old.sibling(name)
  try {
    if (tables.length > 0) {
      const isStarted = await isStartedToReplace(target, old)
      const present = await tablesOf(target)
      if (isCluster && present instanceof SchemaMismatch)
        throw new CannotReplay(
          `${name} has the tables of another version: drop it on every server and create those of this version, see content/cluster.md`,
        )
      if (!isCluster && present !== 'own') {
        if (!isStarted) await assertNoRows(target)
        const now = await servingDatabase(old)
        if (now !== old.name)
          throw new CannotReplay(`${old.name} was replaced by ${now} meanwhile: run this again`)
        await dropDatabase(target)
      }
    }
    await createTables(target)
  } finally {
    await target.close()
  }
}

/**
 * Returns whether the build of a database that will replace another one has started.
 * @throws CannotReplay if the database is an index of its own.
 */
async function isStartedToReplace(target: Database, old: Database): Promise<boolean> {
  const claim = await newestClaim(target).catch((error: unknown) => {
    // Its creation was interrupted.
    if (error instanceof TableMissing) return undefined
    throw error
  })
  if (claim === undefined || claim.newest === 0n) return false
  if (claim.replaces === old.name) return true
  throw new CannotReplay(
    `${target.name} is an independent index, not one that was started to replace ${old.name}: drop it, or choose another name with npm run replay -- --into NAME`,
  )
}

/**
 * Checks that a database has no rows but those of `schema_version`, as after an interrupted creation.
 * @throws CannotReplay if it has: it may be a database of another program.
 */
async function assertNoRows(db: Database): Promise<void> {
  // The number is unknown for tables outside of the server and views, and for EmbeddedRocksDB.
  const [table] = await db.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND name != 'schema_version'
     AND ifNull(total_rows, engine != 'EmbeddedRocksDB') > 0 LIMIT 1`,
  )
  if (table !== undefined)
    throw new CannotReplay(
      `${db.name} has rows in ${table.name}, and was not started to replace another database: choose another name with npm run replay -- --into NAME`,
    )
}

/** Returns whether any head was written. The table may be one of another version, so that no column is read. */
async function hasHeads(db: Database): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM heads LIMIT 1').catch((error: unknown) => {
    if (error instanceof TableMissing) return []
    throw error
  })
  return rows.length > 0
}

async function dropDatabase(db: Database): Promise<void> {
  const server = db.sibling('default')
  try {
    await server.command(`DROP DATABASE ${db.name} SYNC`)
  } finally {
    await server.close()
  }
}

/**
 * Adds the columns of a table that a database of another version lacks, with the default values of their types: `heads` and `writers`
 * are read from it, and its own version ignores columns that it does not know.
 */
async function addMissingColumns(old: Database, db: Database, table: string): Promise<void> {
  const missing = await old.query<{ name: string; type: string }>(
    `SELECT name, type FROM system.columns WHERE database = {other:String} AND table = {table:String} AND name NOT IN (
       SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String})`,
    { other: db.name, table },
  )
  if (missing.length === 0) return
  const columns = missing.map(({ name, type }) => `ADD COLUMN IF NOT EXISTS ${name} ${type}`).join(', ')
  const alter = (each: string): string => `ALTER TABLE ${each} ${columns} SETTINGS alter_sync = 2`
  await onEachShard(old, table, alter)
  if ((await engineOf(old, table)) === 'Distributed') await old.command(alter(table))
}
