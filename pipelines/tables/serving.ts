import type { Database } from './clickhouse.js'
import { SUCCESSOR } from './writers.js'

/** Valid names of databases. */
export const DATABASE_NAME = /^[A-Za-z_]\w{0,62}$/

/**
 * Returns the name of the database that serves: the configured one, or the last of its successors. `noteServing` has recorded a
 * replacement outside of the replaced database, so that it can be dropped; replacements that are not recorded there yet are read
 * from the databases themselves.
 * @throws Error if databases name each other as successors; DatabaseUnavailable, QueryRefused.
 */
export async function servingDatabase(db: Database): Promise<string> {
  // Connections to a database that was dropped fail.
  const server = db.sibling('default')
  try {
    const names = new Set<string>()
    let name = (await notedServing(server, db.name)) ?? db.name
    for (;;) {
      if (names.has(name)) throw new Error(`databases ${[...names].join(', ')} name each other as successors`)
      names.add(name)
      const next = await successorOf(server, name)
      if (next === '') return name
      name = next
    }
  } finally {
    await server.close()
  }
}

/** Records which database serves, in a place that is retained if the replaced database is dropped. */
export async function noteServing(db: Database, serving: string): Promise<void> {
  const server = db.sibling('default')
  try {
    if ((await notedServing(server, db.name)) === serving) return
    const notes = notesOf(db.name)
    await server.command(`CREATE DATABASE IF NOT EXISTS ${notes}`)
    await server.command(
      `CREATE TABLE IF NOT EXISTS ${notes}.serving (since DateTime64(6, 'UTC') DEFAULT now64(6), database String)
       ENGINE = MergeTree ORDER BY since SETTINGS fsync_after_insert = 1`,
    )
    await server.command(`INSERT INTO ${notes}.serving (database) VALUES ({serving:String})`, { serving })
  } finally {
    await server.close()
  }
}

/** Returns the name of the database that replaces one: headwater, headwater_2, headwater_3 and so on. */
export function nextName(name: string): string {
  const [, base = name, number = '1'] = /^(.+)_(\d{1,6})$/.exec(name) ?? []
  return `${base}_${String(Number(number) + 1)}`
}

/** Returns the name of the database that contains only the record of which database serves for the named one. */
export const notesOf = (name: string): string => `${name}_serving`

async function notedServing(server: Database, name: string): Promise<string | undefined> {
  if (!(await hasColumn(server, notesOf(name), 'serving', 'database'))) return undefined
  const sql = `SELECT database FROM ${notesOf(name)}.serving ORDER BY since DESC LIMIT 1`
  return (await server.query<{ database: string }>(sql))[0]?.database
}

async function successorOf(server: Database, name: string): Promise<string> {
  // A database that does not exist yet has none.
  if (!(await hasColumn(server, name, 'writers', 'successor'))) return ''
  const sql = `SELECT ${SUCCESSOR} AS next FROM ${name}.writers`
  return (await server.query<{ next: string }>(sql))[0]?.next ?? ''
}

async function hasColumn(server: Database, database: string, table: string, name: string): Promise<boolean> {
  const sql = `SELECT count() AS columns FROM system.columns
    WHERE database = {database:String} AND table = {table:String} AND name = {name:String}`
  const [row] = await server.query<{ columns: string }>(sql, { database, table, name })
  return row !== undefined && row.columns !== '0'
}
