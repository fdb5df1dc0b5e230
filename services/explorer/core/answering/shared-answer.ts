import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import { Cancellation, type CancelSignal } from '../tables/cancellation.js'

/** Registers a callback for the disconnect of a client before its answer; called at once if it has already disconnected. */
export type OnDisconnect = (callback: () => void) => void

/** An answer in progress that several clients share. It is cancelled when the last client has disconnected, or at its deadline. */
export class SharedAnswer<T> {
  readonly #cancellation = new Cancellation()
  #waiting = 0
  #isOver = false
  readonly #made: Promise<T>

  /**
   * @param make must stop when its signal aborts; its result is then ignored.
   * @param onEnd called once, when no further client may join.
   */
  constructor(make: (signal: CancelSignal) => Promise<T>, deadlineMs: number, onEnd: () => void) {
    const signal = this.#cancellation
    const end = (): void => {
      if (this.#isOver) return
      this.#isOver = true
      onEnd()
    }
    const timer = setTimeout(() => {
      signal.abort(new DatabaseUnavailable('the answer took too long'))
    }, deadlineMs)
    this.#made = new Promise<T>((resolve, reject) => {
      signal.addEventListener('abort', () => {
        end()
        if (signal.reason !== undefined) reject(signal.reason)
      })
      make(signal).then(resolve, reject)
    })
    const over = (): void => {
      clearTimeout(timer)
      end()
    }
    this.#made.then(over, (error: unknown) => {
      clearTimeout(timer)
      // Cancels its other queries, whose results are not needed any more.
      if (!signal.aborted) signal.abort(error as Error)
    })
  }

  /** Returns the answer for one more client. @throws the error of `make`; DatabaseUnavailable after the deadline. */
  join(onDisconnect: OnDisconnect): Promise<T> {
    this.#waiting++
    onDisconnect(() => {
      if (--this.#waiting === 0 && !this.#isOver)
        this.#cancellation.abort(new DatabaseUnavailable('all clients of the answer have disconnected'))
    })
    return this.#made
  }
}
