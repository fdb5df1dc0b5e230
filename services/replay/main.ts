import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { UsageError } from '../../pipelines/errors.js'
import { assertOneChain } from '../../pipelines/materialize/one-chain.js'
import { CannotReplay, mergeCopies, replay } from '../../pipelines/materialize/rebuild/replay.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { servingDatabase } from '../../pipelines/tables/serving.js'
import { ConfigError, loadConfig } from '../config.js'
import { presentEngineUrl } from '../process/discovery.js'
import { openEventLog } from '../process/event-log.js'
import { runCommand } from '../process/lifecycle.js'
import { createLogger } from '../process/logger.js'
import { Progress } from '../process/progress.js'
import { replayInto } from './into.js'
import { Resume } from './resume.js'

const USAGE = `npm run replay -- [options]
Without --into: writes the rows of the chain's blocks again, in place, from the log. Correct rows stay as they are; lost rows are restored.
Everything else may run meanwhile. If it is interrupted, the same command continues.
  --from-height A   the lowest block (default 0)
  --to-height B     the highest block (default the tip)
  --restart         starts over instead of continuing
  --fold            merges the copies of rows at the end; needed if rows were altered
npm run replay -- --into NAME
Builds a second database NAME from the whole log, while the first one serves and is written. When both have the same head,
explorers and materializer switch over to NAME in one step; the first one stays. If it is interrupted, the same command continues.`

await runCommand('replay', main, (error) =>
  [CannotReplay, ConfigError, UsageError].some((kind) => error instanceof kind) ? 2 : 1,
)

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      'from-height': { type: 'string' },
      'to-height': { type: 'string' },
      restart: { type: 'boolean' },
      fold: { type: 'boolean' },
      help: { type: 'boolean' },
      into: { type: 'string' },
      'crash-at': { type: 'string' },
    },
  })
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const { into, ...others } = values
  if (into !== undefined && Object.keys(others).some((name) => name !== 'crash-at'))
    throw new UsageError('--into builds a complete database and cannot be combined with other options')
  const config = loadConfig()
  const hasBodies = config.txBodies === 'tables'
  const url = await presentEngineUrl(config)
  if (url === undefined)
    throw new CannotReplay('no database: start the engine on this DATA_DIR, or set CLICKHOUSE_URL')
  const configured = new Database({ url, database: config.clickhouseDatabase, timeoutMs: 3_600_000 })
  const logger = createLogger('replay', 'warn')
  const log = await openEventLog(config, logger)
  const progress = new Progress(process.stderr)
  const db = configured.sibling(await servingDatabase(configured))
  try {
    await assertOneChain({ db, log }, config.chain)
    if (into !== undefined) {
      const step = (height: number, tip: number): void => {
        progress.step('blocks', height + 1, tip + 1)
      }
      const message = await replayInto(
        { configured, serving: db, log, logger, progress: step, hasBodies },
        into,
        values['crash-at'],
      )
      progress.end()
      process.stdout.write(`${message}\n`)
      return 0
    }
    const from = height('--from-height', values['from-height']) ?? 0
    const upTo = height('--to-height', values['to-height'])
    const to = upTo ?? (await latestHead(db))?.tipHeight ?? -1
    if (from > to)
      throw new CannotReplay(
        to < 0 ? 'nothing is indexed yet' : `there are no blocks from ${String(from)} to ${String(to)}`,
      )
    // Not the height of the tip, which is higher when the command continues.
    const job = `${db.name} ${String(from)} ${String(upTo ?? 'tip')}`
    const state = new Resume(join(config.dataDir, 'replay.json'), job)
    const next = values.restart === true ? from : Math.max(from, (await state.done()) + 1)
    if (next > from) process.stderr.write(`replay: continuing at block ${String(next)}\n`)
    if (next <= to)
      await replay(db, log, {
        from: next,
        to,
        hasBodies,
        progress: async (done) => {
          await state.note(done)
          progress.step('blocks', done - from + 1, to - from + 1)
        },
      })
    if (values.fold === true)
      await mergeCopies(db, (done, total) => {
        progress.step('tables merged', done, total)
      })
    progress.end()
    await state.forget()
    process.stdout.write(`blocks ${String(from)} to ${String(to)} were written again\n`)
    return 0
  } finally {
    await Promise.all([configured.close(), db.close(), log.close()])
  }
}

function height(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,10}$/.test(text)) throw new UsageError(`${option} must be a block height, got '${text}'`)
  return Number(text)
}
