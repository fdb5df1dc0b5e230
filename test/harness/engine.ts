import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, inject } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { restoreTables } from './template.js'

/** URL of the one engine that all test files share. */
export function useEngine(): string {
  return inject('engineUrl')
}

/** Makes a database for one test in the shared engine; drop it with `dropDatabase`. */
export async function newDatabase(): Promise<Database> {
  const db = someDatabase()
  await db.createIfAbsent()
  return db
}

/** The same with all tables. */
export async function newTables(): Promise<Database> {
  const db = someDatabase()
  await restoreTables(db)
  return db
}

function someDatabase(): Database {
  return new Database({ url: useEngine(), database: `t_${randomBytes(6).toString('hex')}` })
}

export async function dropDatabase(db: Database): Promise<void> {
  await db.command(`DROP DATABASE IF EXISTS ${db.name} SYNC`)
  await db.close()
}

/** Makes a database with all tables for the surrounding describe block; call the getter inside tests and hooks only. */
export function useDatabase(): () => Database {
  let db: Database | undefined
  beforeAll(async () => {
    db = await newTables()
  })
  afterAll(async () => {
    if (db !== undefined) await dropDatabase(db)
  })
  return () => {
    if (db === undefined) throw new Error('the database exists in tests and hooks only')
    return db
  }
}
