import type { Logger } from '../../../../pipelines/logger.js'
import type { Database } from '../../../../pipelines/tables/clickhouse.js'
import { MigrationMismatch, type Upgrade, upgradeOf } from '../../../../pipelines/tables/migrate.js'
import { servingDatabase } from '../../../../pipelines/tables/serving.js'
import { retrying } from '../tables/retry.js'
import { pause } from '../../../../pipelines/pause.js'
import type { State } from '../state/state.js'

const CHECK_EVERY_MS = 500
const LOG_EVERY_MS = 10_000

/**
 * Follows the upgrade of the serving database to this version's schema, whichever process runs it, and stores the progress in the
 * state.
 * @returns undefined when the upgrade is complete or the signal aborts; a MigrationMismatch if a newer version has migrated the
 *   database, so that this one might misread its rows.
 */
export async function followUpgrade(
  named: Database,
  state: State,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<MigrationMismatch | undefined> {
  const read = (): Promise<Upgrade | MigrationMismatch | undefined> => readUpgrade(named)
  let loggedAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    const found = await retrying('the migrations that have run', read, { logger }, signal)
    if (found instanceof MigrationMismatch) return found
    state.upgrade = found
    if (found === undefined) return undefined
    if (performance.now() - loggedAt >= LOG_EVERY_MS) {
      logger.info(found, 'the database is being upgraded')
      loggedAt = performance.now()
    }
    await pause(CHECK_EVERY_MS, signal)
  }
  return undefined
}

async function readUpgrade(named: Database): Promise<Upgrade | MigrationMismatch | undefined> {
  const serving = named.sibling(await servingDatabase(named))
  try {
    return await upgradeOf(serving)
  } catch (error) {
    if (error instanceof MigrationMismatch) return error
    throw error
  } finally {
    await serving.close()
  }
}
