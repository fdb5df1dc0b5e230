/** A source of announcements that the node has changed. It only makes polls earlier: each poll compares everything. */
export interface AnnouncementSource {
  /**
   * Reports announcements to the alarm until the signal aborts, or until the source is of no use any more.
   * @throws defects and StartRefused only.
   */
  run(alarm: Alarm, signal: AbortSignal): Promise<void>
}

/**
 * The shortest pause after a poll that only the mempool ends: a node announces each transaction, and a poll reads all that have
 * arrived.
 */
const MEMPOOL_PAUSE_MS = 250

/** The pauses of a poller, which announcements end early. Delivery: what is announced during a poll ends the next pause. */
export class Alarm {
  #hasBlock = false
  #hasMempool = false
  #isLevel = false
  /** Callbacks of the current pause and of sources that wait for a level log. */
  #endPause = (): void => undefined
  readonly #waiting = new Set<() => void>()

  /** Reports a new tip of the node. */
  block(): void {
    this.#hasBlock = true
    this.#endPause()
  }

  /** Reports a change of the node's mempool. */
  mempool(): void {
    if (this.#hasMempool) return
    this.#hasMempool = true
    this.#endPause()
  }

  /** Records that a poll begins: it will see what was announced before. */
  polling(): void {
    this.#hasBlock = false
    this.#hasMempool = false
  }

  /** Records that the log is more than a block behind the node, or unknown. */
  behind(): void {
    this.#isLevel = false
  }

  /** Records that the log is level with the node. */
  level(): void {
    this.#isLevel = true
    for (const resume of this.#waiting) resume()
  }

  /** Waits until the log is level with the node, or the signal aborts. */
  async untilLevel(signal: AbortSignal): Promise<void> {
    while (!this.#isLevel && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const resume = (): void => {
          this.#waiting.delete(resume)
          signal.removeEventListener('abort', resume)
          resolve()
        }
        this.#waiting.add(resume)
        signal.addEventListener('abort', resume)
      })
    }
  }

  /**
   * Pauses until the next poll is due.
   * @param ms the pause without announcements, in milliseconds.
   * @returns whether an announcement has ended the pause early.
   */
  async pause(ms: number, signal: AbortSignal): Promise<boolean> {
    const beganAt = performance.now()
    for (;;) {
      const most = this.#hasBlock ? 0 : this.#hasMempool ? Math.min(ms, MEMPOOL_PAUSE_MS) : ms
      const left = beganAt + most - performance.now()
      if (left <= 0 || signal.aborted) return most < ms
      await this.#sleep(left, signal)
    }
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        this.#endPause = () => undefined
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal.addEventListener('abort', end)
      this.#endPause = end
    })
  }
}
