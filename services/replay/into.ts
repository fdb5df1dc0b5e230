import type { EventLog } from '../../pipelines/log/port.js'
import type { Logger } from '../../pipelines/logger.js'
import { Announcer } from '../../pipelines/materialize/announce.js'
import { assertBuildable } from '../../pipelines/materialize/rebuild/replay.js'
import { Successor } from '../../pipelines/materialize/rebuild/successor.js'
import { loadChainView } from '../../pipelines/tables/chain-view.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { noteServing } from '../../pipelines/tables/serving.js'
import type { Progress } from '../process/progress.js'

export interface IntoParts {
  /** The database in `CLICKHOUSE_DATABASE`. */
  readonly configured: Database
  /** The database that serves now: `configured` or its successor. */
  readonly serving: Database
  readonly log: EventLog
  readonly logger: Logger
  readonly progress: Progress
}

/**
 * Builds a second database and switches over to it.
 * @param crashAt `before-switch` or `after-switch` kills the process at that point, for crash tests.
 * @returns a message for the operator. @throws CannotReplay, and the errors of `Successor`.
 */
export async function replayInto(parts: IntoParts, name: string, crashAt?: string): Promise<string> {
  const { configured, serving, log, logger, progress } = parts
  if (name === serving.name && name !== configured.name) {
    await noteServing(configured, name)
    return `${name} already serves instead of ${configured.name}`
  }
  await assertBuildable(serving, log, name)
  const db = serving.sibling(name)
  try {
    const head = await new Successor({
      ...{ db, old: serving, log, logger },
      progress: (height, tip) => {
        progress.step('blocks', height + 1, tip + 1)
      },
      beforeSwitch: crashing(crashAt === 'before-switch'),
    }).run()
    crashing(crashAt === 'after-switch')()
    await noteServing(configured, name)
    // Explorers check for a successor when a head is announced. This lets them switch over now instead of at the next block.
    await new Announcer(log).head(head, await loadChainView(db, head))
    progress.end()
    return `${name} serves from block ${String(head.tipHeight)} on; ${serving.name} is unchanged and no longer needed: DROP DATABASE ${serving.name}`
  } finally {
    await db.close()
  }
}

function crashing(isWanted: boolean): () => void {
  return () => {
    if (isWanted) process.kill(process.pid, 'SIGKILL')
  }
}
