import { once } from 'node:events'
import { codeOf, StartRefused } from '../../pipelines/errors.js'
import { describe, loadConfig, type Config } from '../config.js'
import { createLogger, type Logger } from './logger.js'

/** The exit status for errors that a restart cannot fix, such as a port in use or an invalid setting. */
export const EXIT_REFUSED = 78

const STOP_DEADLINE_MS = 15_000

export interface ServiceContext {
  readonly config: Config
  readonly logger: Logger
  /** Aborted when the process must stop; the body then closes what it has opened and returns. */
  readonly signal: AbortSignal
  /** The command-line arguments after the name of the service. */
  readonly args: readonly string[]
}

export interface ServiceOptions {
  /** The time in which the body must return after the signal; the process exits with status 1 after it. */
  readonly stopDeadlineMs?: number
}

/**
 * Runs the body of a service's main with its configuration, its logger, and a signal that stops it (SIGINT, SIGTERM, or the
 * exit of the supervisor, detected by the closed IPC channel). Exits the process: with status 0 when the body returns, with
 * EXIT_REFUSED (1 without a supervisor) for StartRefused and invalid settings, with 1 for any other error. A second SIGINT
 * exits immediately with status 130.
 */
export async function runService(
  name: string,
  body: (context: ServiceContext) => Promise<void>,
  { stopDeadlineMs = STOP_DEADLINE_MS }: ServiceOptions = {},
): Promise<void> {
  let config: Config
  try {
    config = loadConfig()
  } catch (error) {
    return refuse(name, error)
  }
  const logger = createLogger(name, config.logLevel)
  const stop = new AbortController()
  stopOnSignals(stop, logger, stopDeadlineMs)
  const die = (error: unknown): never => {
    if (error instanceof StartRefused) refuse(name, error)
    if (stop.signal.aborted && error instanceof Error && error.name === 'AbortError') process.exit(0)
    logger.fatal({ err: error }, error instanceof Error ? error.message : String(error))
    process.exit(1)
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
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/**
 * Runs a command of the operator and exits with the status that it returns. Prints an error, and exits with the status that
 * `statusOf` returns for it.
 */
export async function runCommand(
  name: string,
  command: () => Promise<number>,
  statusOf: (error: unknown) => number,
): Promise<never> {
  try {
    process.exitCode = await command()
  } catch (error) {
    report(name, error)
    process.exitCode = statusOf(error)
  }
  // Connections that a driver left open would keep the process alive for some seconds.
  process.exit()
}

/** Reports an error to the operator and exits. */
function refuse(name: string, error: unknown): never {
  report(name, error)
  process.exit(process.connected ? EXIT_REFUSED : 1)
}

/** Writes an error to standard error: the whole message of StartRefused, the first line of any other. */
function report(name: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  const text = error instanceof StartRefused ? message : (message.split('\n')[0] ?? '')
  process.stderr.write(`${name}: ${codeOf(error)}: ${text}\n`)
}

function stopOnSignals(stop: AbortController, logger: Logger, deadlineMs: number): void {
  const requestStop = (why: string): void => {
    if (stop.signal.aborted) {
      // A second SIGINT comes from an impatient user. The other requests may arrive twice for one stop.
      if (why === 'SIGINT') process.exit(130)
      return
    }
    logger.info({ why }, 'stopping')
    stop.abort()
    setTimeout(() => {
      logger.error({ deadlineMs }, 'did not stop in time')
      process.exit(1)
    }, deadlineMs).unref()
  }
  process.on('SIGINT', requestStop)
  process.on('SIGTERM', requestStop)
  if (process.connected) {
    process.on('disconnect', () => {
      requestStop('supervisor exited')
    })
    // The channel only detects the exit of the supervisor and must not keep the process alive.
    process.channel?.unref()
  }
}
