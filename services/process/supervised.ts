import { spawn, type ChildProcess } from 'node:child_process'
import type { Logger } from '../../pipelines/logger.js'
import { EXIT_REFUSED } from './lifecycle.js'

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 15_000
/** A process that has run for this long was healthy: its next restart is quick again. */
const WELL_AFTER_MS = 30_000

export interface Script {
  /** The file that Node runs. */
  readonly script: string
  readonly args?: readonly string[]
  /** Options of Node. */
  readonly nodeArgs?: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

export interface SupervisedOptions {
  readonly name: string
  /** Starts the process, with an IPC channel whose closing stops it. */
  readonly launch: () => ChildProcess
  /** The time that the process may take to stop before it is killed. */
  readonly stopDeadlineMs: number
  readonly logger: Logger
  /** Called if the process exits with EXIT_REFUSED: a restart would not help, and it has printed the reason to standard error. */
  readonly onRefused: (name: string) => void
  /** The pause before the first restart; it doubles with each further one. For tests. */
  readonly firstPauseMs?: number
}

/**
 * Starts a script as a process of its own. Its standard output goes to standard error, because standard output is for the ready
 * line only. It stops when the IPC channel closes, so also if this process is killed. It is not in the process group of the
 * terminal, so that on Ctrl-C this process stops the services in order.
 */
export function launchScript({ script, args = [], nodeArgs = [], env }: Script): ChildProcess {
  return spawn(process.execPath, [...nodeArgs, script, ...args], {
    env,
    stdio: ['ignore', 2, 2, 'ipc'],
    detached: true,
  })
}

/** A process that is restarted, with growing pauses, until it is stopped. */
export class Supervised {
  readonly name: string
  readonly #options: SupervisedOptions
  #child: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()
  #again: NodeJS.Timeout | undefined
  #pauseMs: number
  #stopping = false

  constructor(options: SupervisedOptions) {
    this.name = options.name
    this.#options = options
    this.#pauseMs = options.firstPauseMs ?? FIRST_PAUSE_MS
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  start(): void {
    const startedAt = Date.now()
    const child = this.#options.launch()
    this.#child = child
    this.#ended = new Promise((resolve) => {
      let over = false
      const end = (code: number | null, cause: string): void => {
        if (over) return
        over = true
        this.#child = undefined
        resolve()
        if (!this.#stopping) this.#afterDeath(code, cause, Date.now() - startedAt)
      }
      child.once('error', (error) => {
        end(null, error.message)
      })
      child.once('exit', (code, signal) => {
        end(code, signal ?? `status ${String(code)}`)
      })
    })
  }

  /** Stops the process, kills it after the deadline, and resolves when it has exited. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#again)
    const child = this.#child
    if (child === undefined) return
    child.kill('SIGTERM')
    const force = setTimeout(() => {
      this.#options.logger.warn({ service: this.name }, 'did not stop in time, killed')
      child.kill('SIGKILL')
    }, this.#options.stopDeadlineMs)
    await this.#ended
    clearTimeout(force)
  }

  #afterDeath(code: number | null, cause: string, ranMs: number): void {
    const { name, logger, onRefused, firstPauseMs = FIRST_PAUSE_MS } = this.#options
    if (code === EXIT_REFUSED) {
      onRefused(name)
      return
    }
    if (ranMs >= WELL_AFTER_MS) this.#pauseMs = firstPauseMs
    logger.warn(
      { died: name, cause, ranMs, againInMs: this.#pauseMs },
      `${name} exited (${cause}), restarting it`,
    )
    this.#again = setTimeout(() => {
      this.start()
    }, this.#pauseMs)
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
  }
}
