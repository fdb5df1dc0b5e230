import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../pipelines/tables/clickhouse.js'

export interface TableSize {
  readonly name: string
  readonly rows: number
  readonly bytes: number
}

interface Listed {
  readonly name: string
  readonly rows: number
  /** Bytes of its merged parts; undefined for a point table, whose folder is measured instead. */
  readonly bytes: number | undefined
  readonly folders: readonly string[]
}

/** Merges every table and counts its rows. */
export async function listTables(db: Database): Promise<Listed[]> {
  const tables = await db.query<{ name: string; engine: string; data_paths: string[] }>(
    `SELECT name, engine, data_paths FROM system.tables
     WHERE database = currentDatabase() AND name != 'schema_version' ORDER BY name`,
  )
  const listed: Listed[] = []
  for (const { name, engine, data_paths: folders } of tables) {
    const isPointTable = engine === 'EmbeddedRocksDB'
    await db.command(`OPTIMIZE TABLE ${name} ${isPointTable ? '' : 'FINAL'}`)
    const [counted] = await db.query<{ rows: string }>(`SELECT count() AS rows FROM ${name}`)
    const [parts] = await db.query<{ bytes: string }>(
      `SELECT sum(bytes_on_disk) AS bytes FROM system.parts
       WHERE database = currentDatabase() AND table = {name:String} AND active`,
      { name },
    )
    const bytes = isPointTable ? undefined : Number(parts?.bytes)
    listed.push({ name, rows: Number(counted?.rows), bytes, folders })
  }
  return listed.filter(({ rows }) => rows > 0)
}

/** Returns the sizes; the engine has stopped, so that what point tables held in memory is on disk. */
export async function bytesOnDisk(listed: readonly Listed[]): Promise<TableSize[]> {
  return Promise.all(
    listed.map(async ({ name, rows, bytes, folders }) => {
      if (bytes !== undefined) return { name, rows, bytes }
      const sizes = await Promise.all(folders.map(folderBytes))
      return { name, rows, bytes: sizes.reduce((sum, size) => sum + size, 0) }
    }),
  )
}

/**
 * Returns the bytes of the sorted files of a point table: its write-ahead log is of the last run, and is removed with
 * the next one.
 */
async function folderBytes(folder: string): Promise<number> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.sst'))
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
