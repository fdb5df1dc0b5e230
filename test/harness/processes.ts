import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The project's root, from the sources and from dist/ alike. */
export const ROOT = new URL('../../', import.meta.url).pathname.replace(/\/dist\/$/, '/')

/**
 * The deadline of answers in tests that set no other, in milliseconds, from vitest.config.ts: on a machine that many tests share an
 * answer may take longer than the product's default, and a test of figures must not fail by it.
 */
export const PATIENT_DEADLINE_MS = Number(process.env['ANSWER_DEADLINE_MS'] ?? 5_000)

/** The maximum number of lines of a report. */
const [GRAVE_LINES, LAST_LINES, MAX_CHARACTERS] = [20, 10, 600]

/** One of the project's processes, run from the build as an operator would, with its output in a file. */
export class ServiceProcess {
  /** Processes that were started and not killed, including those that have exited by themselves. */
  static readonly started = new Set<ServiceProcess>()
  #child: ChildProcess | undefined
  /** The largest resident size that `rssMb` has returned. */
  peakMb = 0

  constructor(
    readonly name: string,
    private readonly env: Readonly<Record<string, string>>,
    private readonly logFile: string,
    public args: readonly string[] = [],
    /** The script to run, in dist/. */
    private readonly program = `services/${name}/main.js`,
    /** The build of another version. */
    private readonly root = ROOT,
  ) {}

  get alive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  start(): this {
    const output = createWriteStream(this.logFile, { flags: 'a' })
    const child = spawn(process.execPath, [join(this.root, 'dist', this.program), ...this.args], {
      cwd: this.root,
      env: {
        PATH: process.env['PATH'] ?? '',
        ANSWER_DEADLINE_MS: String(PATIENT_DEADLINE_MS),
        ...this.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.pipe(output, { end: false })
    child.stderr.pipe(output, { end: false })
    this.#child = child
    ServiceProcess.started.add(this)
    return this
  }

  /** Returns whether the process runs or how it exited, and the end of its log: all warnings and errors first. */
  report(): string {
    const { exitCode, signalCode } = this.#child ?? {}
    const state = this.alive ? 'running' : `exited with ${String(exitCode ?? signalCode)}`
    const lines = this.#logged().trimEnd().split('\n')
    const grave = lines.slice(0, -LAST_LINES).filter((line) => !/"level":[123]0/.test(line))
    const shown = [...grave.slice(-GRAVE_LINES), ...lines.slice(-LAST_LINES)]
    return [`${this.name}: ${state}`, ...shown.map((line) => line.slice(0, MAX_CHARACTERS))].join('\n  ')
  }

  /** The log line; empty before the first. */
  #logged(): string {
    return existsSync(this.logFile) ? readFileSync(this.logFile, 'utf8') : ''
  }

  /** Kills the process (kill -9), and waits until it no longer exists. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child
    ServiceProcess.started.delete(this)
    if (child === undefined || !this.alive) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }

  /** Freezes or resumes the process. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.alive) this.#child?.kill(signal)
  }

  /** Waits until the process exits by itself. */
  async ended(): Promise<void> {
    while (this.alive) await sleep(5)
  }

  /** Returns the processor time that it and its children have used, in seconds (the kernel counts hundredths). */
  cpuSeconds(): number {
    return this.pid !== undefined && this.alive ? cpuSecondsOf(this.pid) : 0
  }

  /** Returns the resident size of it and its children in MB, 0 if it does not run. */
  rssMb(): number {
    const pid = this.pid
    if (pid === undefined || !this.alive) return 0
    try {
      const megabytes = sumOf(pid, residentBytesOf) / 1024 ** 2
      this.peakMb = Math.max(this.peakMb, megabytes)
      return megabytes
    } catch {
      return 0
    }
  }
}

/** Returns the processor time that a running process and its children have used, in seconds (the kernel counts hundredths). */
export function cpuSecondsOf(pid: number): number {
  return sumOf(pid, (each) => {
    const fields =
      readFileSync(`/proc/${String(each)}/stat`, 'utf8')
        .split(') ')[1]
        ?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  })
}

/** Returns the resident size of a running process without its children, in bytes. */
export function residentBytesOf(pid: number): number {
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1] ?? 0)
}

/** Adds a measure of a running process to those of all that descend from it. */
function sumOf(pid: number, measure: (pid: number) => number): number {
  const children =
    readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8').match(/\d+/g) ?? []
  return children.reduce((sum, child) => sum + sumOf(Number(child), measure), measure(pid))
}
