import { Database } from '../../pipelines/tables/clickhouse.js'
import { createTables } from '../../pipelines/tables/schema-version.js'

const BACKUP = "File('template')"

/** Settings of an engine that keeps the template: the folder of its backups, within its own. */
export const TEMPLATE_SETTINGS = { backups: { allowed_path: 'backups' } }

/** Creates a database with all tables in the engine and keeps a backup of it, which `restoreTables` restores. */
export async function makeTemplate(engineUrl: string): Promise<void> {
  const template = new Database({ url: engineUrl, database: 'template' })
  await createTables(template)
  await template.command(`BACKUP DATABASE template TO ${BACKUP}`)
  await template.close()
}

/** Creates a database with all tables, in the shared engine: as `createTables` does, in a third of the processor time. */
export async function restoreTables(db: Database): Promise<void> {
  const server = db.sibling('default')
  await server.command(`RESTORE DATABASE template AS ${db.name} FROM ${BACKUP}`)
  await server.close()
}
