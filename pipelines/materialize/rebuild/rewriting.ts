import type { EventLog } from '../../log/port.js'
import type { Logger } from '../../logger.js'
import { loadChainView } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'
import { latestHead } from '../../tables/head.js'
import { completeHeads, migrate, rewrittenName } from '../../tables/migrate.js'
import { handOver } from '../../tables/writers.js'
import { Announcer } from '../announce.js'
import { assertBuildable, assertReplacing } from './replay.js'
import { Successor } from './successor.js'

const LOG_EVERY_MS = 10_000

export interface RewritingParts {
  /** The database with rows of an earlier form. */
  readonly old: Database
  readonly log: EventLog
  readonly logger: Logger
  readonly signal: AbortSignal
}

/**
 * Writes all rows of a database again, in the form of this version, into a second database, which then replaces it. Processes of
 * the earlier version may serve and write the first one meanwhile. If it is interrupted, the next call continues.
 * @returns the name of the second database.
 * @throws CannotReplay; the errors of `Successor`; the signal's reason.
 */
export async function rewriteDatabase({ old, log, logger, signal }: RewritingParts): Promise<string> {
  const name = rewrittenName(old.name)
  const db = old.sibling(name)
  let loggedAt = Number.NEGATIVE_INFINITY
  const progress = (height: number, tip: number): void => {
    if (performance.now() - loggedAt < LOG_EVERY_MS) return
    logger.info({ height, tip, database: name }, 'rows of an earlier version written again')
    loggedAt = performance.now()
  }
  try {
    await completeHeads(old)
    if ((await latestHead(old)) === undefined) {
      await assertReplacing(old, name)
      await migrate(db)
      if (await handOver(old, name, undefined)) return name
    }
    await assertBuildable(old, log, name)
    const head = await new Successor({ db, old, log, logger, progress, signal }).run()
    // Explorers check for a successor when a head is announced.
    await new Announcer(log).head(head, await loadChainView(db, head))
    logger.warn(
      { database: name, replaced: old.name, height: head.tipHeight },
      'database of an earlier version replaced; it is no longer needed and can be dropped',
    )
    return name
  } finally {
    await db.close()
  }
}
