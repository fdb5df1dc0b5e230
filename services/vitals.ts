/** How long a process may get nowhere before its `/health` says so: what is away for a moment is no news. */
const PATIENCE_MS = 30_000

/** Whether a process makes progress, and what hinders it: what its `/health` answers. */
export class Vitals {
  readonly #now: () => number
  readonly #patienceMs: number
  #workedAt: number
  #isWaiting = false
  #trouble: string | undefined
  #stopped: string | undefined

  /**
   * @param intervalMs between two pieces of work where nothing hinders it.
   * @param now a clock in milliseconds.
   */
  constructor(intervalMs = 0, now: () => number = () => performance.now()) {
    this.#now = now
    this.#workedAt = now()
    this.#patienceMs = Math.max(PATIENCE_MS, 3 * intervalMs)
  }

  /** A piece of work was done, or there was none to do. */
  worked(): void {
    this.#workedAt = this.#now()
    this.#isWaiting = false
    this.#trouble = undefined
    this.#stopped = undefined
  }

  /** It waits until it is its turn, however long that takes. */
  waits(): void {
    this.worked()
    this.#isWaiting = true
  }

  /** Something failed and is tried again. */
  failed(error: unknown): void {
    if (this.#isWaiting) this.worked()
    this.#trouble = error instanceof Error ? error.message : String(error)
  }

  /** It stands still until someone does something, or until it works again. */
  stopped(why: string): void {
    this.#stopped = why
  }

  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  /** Why it is not well, for people; empty where it is. */
  reasons(): string[] {
    if (this.#stopped !== undefined) return [`stopped: ${this.#stopped}`]
    const idleMs = this.#now() - this.#workedAt
    if (this.#isWaiting || idleMs <= this.#patienceMs) return []
    const seconds = String(Math.floor(idleMs / 1000))
    return [`no progress for ${seconds} s: ${this.#trouble ?? 'still waiting for an answer'}`]
  }
}
