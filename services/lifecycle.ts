import { once } from 'node:events'
import { codeOf, StartRefused } from '../pipelines/errors.js'
import { describe, loadConfig, type Config } from './config.js'
import { createLogger, type Logger } from './logger.js'

/** Exit status that tells a supervisor that starting again would not help: a taken port, a wrong setting. */
export const EXIT_REFUSED = 78

const STOP_DEADLINE_MS = 15_000

export interface ServiceContext {
  readonly config: Config
  readonly logger: Logger
  /** Aborted when the process shall stop; the body then closes what it opened and returns. */
  readonly signal: AbortSignal
  /** What stood after the service's name on the command line. */
  readonly args: readonly string[]
}

export interface ServiceOptions {
  /** How long the body may take to return once it is asked to stop; then the process ends all the same. */
  readonly stopDeadlineMs?: number
}

/**
 * Runs the body of a service's main: configuration, logger, and the signal that stops it (SIGINT, SIGTERM, or the death of
 * the supervisor, noticed by the closed IPC channel). Ends the process: status 0 when the body returns, EXIT_REFUSED (1 where
 * there is no supervisor) for StartRefused and wrong settings, 1 for any other error. A second Ctrl-C ends at once.
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
 * Runs a command of the operator and ends the process with the status that it returns; with 2 where the command cannot be
 * done as it was given, with `failed` where anything else fails.
 */
export async function runCommand(
  name: string,
  command: () => Promise<number>,
  failed: number,
): Promise<never> {
  try {
    process.exitCode = await command()
  } catch (error) {
    report(name, error)
    process.exitCode = error instanceof StartRefused ? 2 : failed
  }
  // Connections that a driver left open would keep it for some seconds.
  process.exit()
}

/** Reports to the operator in plain words and ends. */
function refuse(name: string, error: unknown): never {
  report(name, error)
  process.exit(process.connected ? EXIT_REFUSED : 1)
}

/** What is refused is told whole; of other errors the first line is. */
function report(name: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  const text = error instanceof StartRefused ? message : (message.split('\n')[0] ?? '')
  process.stderr.write(`${name}: ${codeOf(error)}: ${text}\n`)
}

function stopOnSignals(stop: AbortController, logger: Logger, deadlineMs: number): void {
  const ask = (why: string): void => {
    if (stop.signal.aborted) {
      // Ctrl-C again is a person's impatience; the other ways to ask may well come twice.
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
  process.on('SIGINT', ask)
  process.on('SIGTERM', ask)
  if (process.connected) {
    process.on('disconnect', () => {
      ask('supervisor exited, stopping')
    })
    // The channel only tells of the supervisor's end: it is no reason to stay alive.
    process.channel?.unref()
  }
}
