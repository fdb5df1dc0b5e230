import { setMaxListeners } from 'node:events'
import { DatabaseUnavailable } from '../../../pipelines/tables/clickhouse.js'

/** Registers a callback for the disconnect of a client before its answer; called at once if it has already disconnected. */
export type OnDisconnect = (callback: () => void) => void

/** An answer in progress that several clients share. It is cancelled when the last client has disconnected, or at its deadline. */
export class SharedAnswer<T> {
  readonly #abort = new AbortController()
  #waiting = 0
  readonly #made: Promise<T>

  /**
   * @param make must stop when its signal aborts; its result is then ignored.
   * @param ended called once, when no further client may join.
   */
  constructor(make: (signal: AbortSignal) => Promise<T>, deadlineMs: number, ended: () => void) {
    const { signal } = this.#abort
    // Each lookup of an answer listens, and an answer may need many.
    setMaxListeners(0, signal)
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
      // Cancels its other queries, whose results are not needed any more.
      if (!signal.aborted) this.#abort.abort(error)
    })
  }

  /** Returns the answer for one more client. @throws the error of `make`; DatabaseUnavailable after the deadline. */
  join(onDisconnect: OnDisconnect): Promise<T> {
    this.#waiting++
    onDisconnect(() => {
      if (--this.#waiting === 0)
        this.#abort.abort(new DatabaseUnavailable('all clients of the answer have disconnected'))
    })
    return this.#made
  }
}
