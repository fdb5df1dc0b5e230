import { access, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StartRefused } from '../../pipelines/errors.js'
import type { Logger } from '../../pipelines/logger.js'
import { CannotReplay } from '../../pipelines/materialize/rebuild/replay.js'
import { childEnvironment, type Config } from '../config.js'
import { engineUrl, presentEngineUrl } from './discovery.js'
import { launchScript, Supervised } from './supervised.js'
import { isSupervised } from './only-one.js'

const STOP_DEADLINE_MS = 30_000
/** Longer than the longest pause of `npm start` before it restarts its engine. */
const RESTART_MS = 30_000

export interface UsedEngine {
  readonly url: string
  /** Stops the engine if it was started for this process. */
  readonly release: () => Promise<void>
}

/**
 * Returns the ClickHouse server of the configuration. If none runs on the data directory, starts the embedded engine as a child process,
 * which stops when this process exits in any way.
 * @param isNew true if no supervisor runs, and the data of an engine is to be created if there is none.
 * @throws CannotReplay if there is no data of an engine; StartRefused if the engine cannot run.
 */
export async function useEngine(config: Config, logger: Logger, isNew = false): Promise<UsedEngine> {
  const present = (await presentEngineUrl(config)) ?? (isNew ? undefined : await restartedEngineUrl(config))
  if (present !== undefined) return { url: present, release: () => Promise.resolve() }
  const folder = join(config.dataDir, 'engine')
  if (isNew) await mkdir(folder, { recursive: true })
  await access(folder).catch(() => {
    throw new CannotReplay(`there is no index in ${folder}: set DATA_DIR, or CLICKHOUSE_URL`)
  })
  const script = fileURLToPath(new URL('../engine/main.js', import.meta.url))
  const env = childEnvironment({ DATA_DIR: config.dataDir, LOG_LEVEL: 'warn' })
  const refused = new AbortController()
  const engine = new Supervised({
    name: 'engine',
    stopDeadlineMs: STOP_DEADLINE_MS,
    logger,
    launch: () => launchScript({ script, env }),
    onRefused: () => refused.abort(),
  })
  engine.start()
  try {
    return { url: await engineUrl(config, { signal: refused.signal }), release: () => engine.stop() }
  } catch (error) {
    await engine.stop()
    if (refused.signal.aborted) throw new StartRefused('the engine cannot run (see the error above)')
    throw error
  }
}

/**
 * Waits for the engine that `npm start` restarts after its death: an engine of this process would make it refuse to start. @returns
 * undefined if nothing restarts it.
 */
async function restartedEngineUrl(config: Config): Promise<string | undefined> {
  if (!(await isSupervised(config.dataDir))) return undefined
  return engineUrl(config, { signal: AbortSignal.timeout(RESTART_MS) }).catch(() => undefined)
}
