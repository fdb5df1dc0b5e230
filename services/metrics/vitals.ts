/** The time without progress after which `/health` reports a problem; shorter outages of a dependency are normal. */
const PATIENCE_MS = 30_000

/** The state behind `/health` of a process: whether it makes progress, and what prevents it. */
export class Vitals {
  readonly #now: () => number
  readonly #patienceMs: number
  #workedAt: number
  #isWaiting = false
  #trouble: string | undefined
  #stopped: string | undefined

  /**
   * @param intervalMs the interval between two units of work in normal operation.
   * @param now a monotonic clock in milliseconds.
   */
  constructor(intervalMs = 0, now: () => number = () => performance.now()) {
    this.#now = now
    this.#workedAt = now()
    this.#patienceMs = Math.max(PATIENCE_MS, 3 * intervalMs)
  }

  /** Records that a unit of work was done, or that there was none to do. */
  worked(): void {
    this.#workedAt = this.#now()
    this.#isWaiting = false
    this.#trouble = undefined
    this.#stopped = undefined
  }

  /** Records that the process is standing by, which may take any time. */
  waits(): void {
    this.worked()
    this.#isWaiting = true
  }

  /** Records a failure that is retried. */
  failed(error: unknown): void {
    if (this.#isWaiting) this.worked()
    this.#trouble = error instanceof Error ? error.message : String(error)
  }

  /** Records that the process has stopped working until the operator intervenes or `worked` is called. */
  stopped(why: string): void {
    this.#stopped = why
  }

  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  /** Returns why the process is unhealthy, in plain text; empty if it is healthy. */
  reasons(): string[] {
    if (this.#stopped !== undefined) return [`stopped: ${this.#stopped}`]
    const idleMs = this.#now() - this.#workedAt
    if (this.#isWaiting || idleMs <= this.#patienceMs) return []
    const seconds = String(Math.floor(idleMs / 1000))
    return [`no progress for ${seconds} s: ${this.#trouble ?? 'still waiting for an answer'}`]
  }
}
