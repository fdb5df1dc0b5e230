import type { Logger } from '../../pipelines/logger.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { MigrationMismatch, upgradeOf } from '../../pipelines/tables/migrate.js'
import { servingDatabase } from '../../pipelines/tables/serving.js'
import { retrying } from './retry.js'

/**
 * Waits until the database answers, and returns why this version must not read it: a newer one made it, and its rows may mean
 * something else. Undefined where it may be read, or the signal aborts.
 */
export async function newerSchema(
  named: Database,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<MigrationMismatch | undefined> {
  const look = async (): Promise<MigrationMismatch | undefined> => {
    const serving = named.sibling(await servingDatabase(named))
    try {
      await upgradeOf(serving)
      return undefined
    } catch (error) {
      if (error instanceof MigrationMismatch) return error
      throw error
    } finally {
      await serving.close()
    }
  }
  return retrying(look, { what: 'the migrations that have run', logger, signal })
}
