import { parseArgs } from 'node:util'
import { UsageError } from '../../pipelines/errors.js'
import { assertOneChain } from '../../pipelines/materialize/one-chain.js'
import {
  announceReplacement,
  describeSwitch,
  replaceDatabase,
} from '../../pipelines/materialize/rebuild/replacement.js'
import { CannotReplay } from '../../pipelines/materialize/rebuild/replay.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { tablesOf } from '../../pipelines/tables/schema-version.js'
import { nextName, servingDatabase } from '../../pipelines/tables/serving.js'
import { ConfigError, loadConfig } from '../config.js'
import { openEventLog } from '../process/event-log.js'
import { runCommand } from '../process/lifecycle.js'
import { createLogger } from '../process/logger.js'
import { Progress } from '../process/progress.js'
import { useEngine } from '../process/used-engine.js'

const USAGE = `npm run reindex [-- --again]
Builds the index again from the whole log, with the tables of this version, in a second database. When both databases have the same
head, explorers and materializer switch over to the second one in one step. Everything may run meanwhile, also processes of another
version. If it is interrupted, the same command continues. Without an engine on this DATA_DIR, it runs one.
Does nothing if the tables that serve are those of this version.
  --again   builds it nevertheless`

await runCommand('reindex', main, (error) =>
  [CannotReplay, ConfigError, UsageError].some((kind) => error instanceof kind) ? 2 : 1,
)

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { again: { type: 'boolean' }, help: { type: 'boolean' } } })
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const config = loadConfig()
  const logger = createLogger('reindex', 'warn')
  const engine = await useEngine(config, logger)
  const log = await openEventLog(config, logger).catch(async (error: unknown) => {
    await engine.release()
    throw error
  })
  const { clickhouseDatabase: database } = config
  const configured = new Database({ url: engine.url, database, timeoutMs: 3_600_000 })
  const serving = configured.sibling(await servingDatabase(configured))
  const { name: old } = serving
  const bar = new Progress(process.stderr)
  try {
    await assertOneChain({ db: serving, log }, config.chain)
    if (values.again !== true && (await tablesOf(serving)) === 'own') {
      // A reindex that was killed just after the switch has not announced it.
      if (serving.name !== configured.name) await announceReplacement(configured, serving, log)
      process.stdout.write(`${old} has the tables of this version: nothing to do\n`)
      return 0
    }
    const progress = (height: number, tip: number): void => {
      bar.step('blocks', height + 1, tip + 1)
    }
    const name = nextName(old)
    const head = await replaceDatabase(
      { configured, serving, log, logger, progress, hasBodies: config.txBodies === 'tables' },
      name,
    )
    bar.end()
    process.stdout.write(`${await describeSwitch(serving, name, head)}\n`)
    return 0
  } finally {
    await Promise.all([configured.close(), serving.close(), log.close()])
    await engine.release()
  }
}
