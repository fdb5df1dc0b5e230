import { DatabaseUnavailable } from '../../../pipelines/tables/clickhouse.js'

/** Calls back when a client has left before its answer; at once where it has left already. */
export type WhenGone = (callback: () => void) => void

/** An answer on its way and all who wait for it. Making it ends when the last of them has left, or when its time is up. */
export class SharedAnswer<T> {
  readonly #abort = new AbortController()
  #waiting = 0
  readonly #made: Promise<T>

  /**
   * @param make is told to stop by its signal; what it does after that is not waited for.
   * @param ended called once, when nobody may join any more.
   */
  constructor(make: (signal: AbortSignal) => Promise<T>, deadlineMs: number, ended: () => void) {
    const { signal } = this.#abort
    const timer = setTimeout(() => {
      this.#abort.abort(new DatabaseUnavailable('the answer took too long'))
    }, deadlineMs)
    this.#made = new Promise<T>((resolve, reject) => {
      signal.addEventListener('abort', () => {
        ended()
        reject(signal.reason as Error)
      })
      make(signal).then(resolve, reject)
    })
    const over = (): void => {
      clearTimeout(timer)
      if (!signal.aborted) ended()
    }
    this.#made.then(over, (error: unknown) => {
      clearTimeout(timer)
      // What else it had asked for is of no use to anybody.
      if (!signal.aborted) this.#abort.abort(error)
    })
  }

  /** @throws as making it does; DatabaseUnavailable when its time is up. */
  join(whenGone: WhenGone): Promise<T> {
    this.#waiting++
    whenGone(() => {
      if (--this.#waiting === 0)
        this.#abort.abort(new DatabaseUnavailable('all clients of the answer have disconnected'))
    })
    return this.#made
  }
}
