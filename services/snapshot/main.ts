import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { UsageError } from '../../pipelines/errors.js'
import { parseLogUrl } from '../../pipelines/log/address.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { type Manifest } from '../../pipelines/snapshot/manifest.js'
import { placeAt, type Place } from '../../pipelines/snapshot/place.js'
import { forgetProgress, readManifest, restoreSnapshot } from '../../pipelines/snapshot/restore.js'
import { FILE_BYTES, saveSnapshot } from '../../pipelines/snapshot/save.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { servingDatabase } from '../../pipelines/tables/serving.js'
import { type Config, loadConfig } from '../config.js'
import { openEventLog } from '../process/event-log.js'
import { runCommand } from '../process/lifecycle.js'
import { createLogger } from '../process/logger.js'
import { holdFolder } from '../process/only-one.js'
import { Progress } from '../process/progress.js'
import { useEngine } from '../process/used-engine.js'
import { compareWithNode } from './comparison.js'

const USAGE = `npm run snapshot -- --to FOLDER|URL [--file-bytes N]
Copies the index and, if it is embedded, the log into a folder, or to a server that stores files (PUT), while everything runs. If it
is interrupted, the same command continues.
  --file-bytes N   the size of the rows of a file before they are compressed, about (default ${String(FILE_BYTES)})
npm run snapshot -- --from FOLDER|URL
Fills an empty DATA_DIR, or an empty CLICKHOUSE_DATABASE, with a snapshot: each file is verified, and the result is audited against the
node, if there is one. If it is interrupted, the same command continues. Afterwards npm start continues from the snapshot's block.`

const TIMEOUT_MS = 3_600_000

await runCommand('snapshot', main, () => 1)

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      to: { type: 'string' },
      from: { type: 'string' },
      'file-bytes': { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const { to, from } = values
  const argument = to ?? from
  if (argument === undefined || argument === '' || (to !== undefined && from !== undefined))
    throw new UsageError('name one folder or URL, with --to or with --from')
  const fileBytes = Number(values['file-bytes'] ?? FILE_BYTES)
  if (!(Number.isInteger(fileBytes) && fileBytes > 0))
    throw new UsageError(`--file-bytes must be an integer above 0, got '${values['file-bytes'] ?? ''}'`)
  const config = loadConfig()
  const place = await placeAt(argument, join(config.dataDir, 'snapshot'))
  if (to !== undefined) return withIndex(config, false, (parts) => save(parts, place, fileBytes))
  // Before anything is created or started.
  await readManifest(place, config.chain)
  await mkdir(config.dataDir, { recursive: true })
  const release = await holdFolder(config.dataDir)
  try {
    return await withIndex(config, true, (parts) => restore(parts, place))
  } finally {
    release()
  }
}

interface Parts {
  readonly config: Config
  /** The database that serves. */
  readonly db: Database
  readonly log: EventLog
  /** True if the log is in files of this machine. */
  readonly isEmbedded: boolean
}

/** Runs an action with database and log, and closes them. */
async function withIndex(
  config: Config,
  isNew: boolean,
  action: (parts: Parts) => Promise<number>,
): Promise<number> {
  const logger = createLogger('snapshot', 'warn')
  const engine = await useEngine(config, logger, isNew)
  const opened: { close(): Promise<void> }[] = []
  try {
    const database = config.clickhouseDatabase
    const configured = new Database({ url: engine.url, database, timeoutMs: TIMEOUT_MS })
    opened.push(configured)
    const db = configured.sibling(await servingDatabase(configured))
    opened.push(db)
    const log = await openEventLog(config, logger)
    opened.push(log)
    const { logUrl = '' } = config
    const isEmbedded = logUrl === '' || parseLogUrl(logUrl).kind === 'embedded'
    return await action({ config, db, log, isEmbedded })
  } finally {
    await Promise.all(opened.map((each) => each.close()))
    await engine.release()
  }
}

function report(message: string): void {
  process.stderr.write(`snapshot: ${message}\n`)
}

async function save(
  { config, db, log, isEmbedded }: Parts,
  place: Place,
  fileBytes: number,
): Promise<number> {
  const bar = new Progress(process.stderr)
  const { chain } = config
  const options = { db, log, hasLog: isEmbedded, place, chain, fileBytes, progress: bar.step, report }
  const manifest = await saveSnapshot(options)
  bar.end()
  process.stdout.write(`${place.name} is a snapshot of ${described(manifest)}\n`)
  return 0
}

async function restore({ config, db, log, isEmbedded }: Parts, place: Place): Promise<number> {
  const bar = new Progress(process.stderr)
  const progress = (done: number, total: number): void => {
    bar.step('files', done, total)
  }
  const progressFile = join(config.dataDir, 'snapshot.json')
  const { chain } = config
  const options = { db, log, restoresLog: isEmbedded, place, chain, progressFile, progress, report }
  const manifest = await restoreSnapshot(options)
  bar.end()
  const { differences, message } = await compareWithNode({ config, db, log, head: manifest.head })
  await forgetProgress(options)
  if (differences > 0) {
    await db.command('TRUNCATE TABLE heads')
    process.stdout.write(`${message}\nnothing of it is served: remove the database and the log\n`)
    return 1
  }
  process.stdout.write(`restored ${described(manifest)}\n${message}\n`)
  return 0
}

function described({ head, files, network }: Manifest): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return `${network.name} at block ${String(head.height)} ${head.hash}: ${String(files.length)} files, ${(bytes / 1e6).toFixed(1)} MB`
}
