import type { Logger } from '../../../pipelines/logger.js'
import type { Database } from '../../../pipelines/tables/clickhouse.js'
import { MigrationMismatch, type Upgrade, upgradeOf } from '../../../pipelines/tables/migrate.js'
import { servingDatabase } from '../../../pipelines/tables/serving.js'
import { pause, retrying } from './retry.js'
import type { State } from './state.js'

const LOOK_MS = 500
const SAY_AGAIN_MS = 10_000

/**
 * Follows the database that serves on its way to this version's schema, whoever upgrades it, and keeps in the state how far it is.
 * @returns undefined when it is there, or when the signal aborts; why this version must not read it, where a newer one made it
 *   and its rows may mean something else.
 */
export async function followUpgrade(
  named: Database,
  state: State,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<MigrationMismatch | undefined> {
  const look = (): Promise<Upgrade | MigrationMismatch | undefined> => lookAt(named)
  let saidAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    const found = await retrying('the migrations that have run', look, { logger }, signal)
    if (found instanceof MigrationMismatch) return found
    state.upgrades(found)
    if (found === undefined) return undefined
    if (performance.now() - saidAt >= SAY_AGAIN_MS) {
      logger.info(found, 'the database is being upgraded')
      saidAt = performance.now()
    }
    await pause(LOOK_MS, signal)
  }
  return undefined
}

async function lookAt(named: Database): Promise<Upgrade | MigrationMismatch | undefined> {
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
