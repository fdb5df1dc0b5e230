import { ConfigError, describe, loadConfig, type Config } from './config.js'
import { createLogger, type Logger } from './logger.js'

/** Exit status of a process that starting again would not help: a taken port, a wrong setting. */
export const EXIT_REFUSED = 78

/** How long a service may take to stop before it is ended all the same. */
const STOP_DEADLINE_MS = 15_000

/** Thrown by a service that cannot run as it is set up; its message tells the operator what to change. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
}

export interface ServiceContext {
  readonly config: Config
  readonly logger: Logger
  /** Aborted when the process shall stop; the body then closes what it opened and returns. */
  readonly signal: AbortSignal
  /** What stood after the service's name on the command line. */
  readonly args: readonly string[]
}

/**
 * Runs the body of a service's main: configuration, logger, and the signal that stops it (SIGINT, SIGTERM, or the death of
 * the supervisor, noticed by the closed IPC channel). Ends the process: status 0 when the body returns, EXIT_REFUSED for
 * StartRefused and wrong settings, 1 for any other error. A second signal ends at once.
 */
export async function runService(
  name: string,
  body: (context: ServiceContext) => Promise<void>,
): Promise<void> {
  const config = configOrExit()
  const logger = createLogger(name, config.logLevel)
  const stop = new AbortController()
  stopOnSignals(stop, logger)
  const die = (error: unknown): never => {
    logger.fatal({ err: error }, error instanceof Error ? error.message : String(error))
    process.exit(error instanceof StartRefused ? EXIT_REFUSED : 1)
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
  logger.debug(describe(config), 'settings')
  try {
    await body({ config, logger, signal: stop.signal, args: process.argv.slice(2) })
  } catch (error) {
    die(error)
  }
  // Handles that a driver left open must not keep a stopped service alive.
  process.exit(0)
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    signal.addEventListener(
      'abort',
      () => {
        resolve()
      },
      { once: true },
    )
  })
}

function configOrExit(): Config {
  try {
    return loadConfig()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(EXIT_REFUSED)
  }
}

function stopOnSignals(stop: AbortController, logger: Logger): void {
  const ask = (why: string): void => {
    if (stop.signal.aborted) {
      if (why !== 'supervisor gone') process.exit(130)
      return
    }
    logger.info({ why }, 'stopping')
    stop.abort()
    setTimeout(() => {
      logger.error({ deadlineMs: STOP_DEADLINE_MS }, 'did not stop in time')
      process.exit(1)
    }, STOP_DEADLINE_MS).unref()
  }
  process.on('SIGINT', ask)
  process.on('SIGTERM', ask)
  if (process.connected) {
    process.on('disconnect', () => {
      ask('supervisor gone')
    })
    // The channel only tells of the supervisor's end: it is no reason to stay alive.
    process.channel?.unref()
  }
}
