export interface Sized<T> {
  readonly value: T
  readonly bytes: number
}

export interface FetchOrder<T> {
  readonly from: number
  /** Included. */
  readonly to: number
  /** Requests at the same time. */
  readonly inFlight: number
  /** Of results that wait for their turn, about; one result is let through whatever its size. */
  readonly maxBytes: number
  fetch(number: number, signal: AbortSignal): Promise<Sized<T>>
}

type Outcome<T> =
  { readonly ok: true; readonly result: Sized<T> } | { readonly ok: false; readonly error: unknown }

/** Results handed over at once, at most. */
const MAX_HANDED = 64

/** Fetches numbers from … to, several at once, and hands the results over in order. */
export class FetchInOrder<T> {
  readonly #order: FetchOrder<T>
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  readonly #done = new Map<number, Outcome<T>>()
  #start: number
  #next: number
  #running = 0
  #waitingBytes = 0
  /** Of the results so far, to guess what those under way will bring. */
  #meanBytes = 0
  #wake: (() => void) | undefined

  /** @param signal ends the fetches; `next` then rejects as they do. */
  constructor(order: FetchOrder<T>, signal: AbortSignal) {
    this.#order = order
    this.#signal = AbortSignal.any([signal, this.#stop.signal])
    this.#start = order.from
    this.#next = order.from
  }

  /**
   * Everything that is ready in order: at least one result, none only after the last. Rejects with what the fetch of the next
   * one rejected with, after those before it were handed over.
   */
  async next(): Promise<T[]> {
    if (this.#next > this.#order.to) return []
    this.#pump()
    while (!this.#done.has(this.#next)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const ready: T[] = []
    for (
      let outcome = this.#done.get(this.#next);
      outcome !== undefined;
      outcome = this.#done.get(this.#next)
    ) {
      if (!outcome.ok && ready.length > 0) break
      if (!outcome.ok) throw outcome.error
      ready.push(outcome.result.value)
      this.#done.delete(this.#next++)
      this.#waitingBytes -= outcome.result.bytes
      if (ready.length === MAX_HANDED) break
    }
    this.#pump()
    return ready
  }

  /** Ends what is under way; its results are dropped. */
  close(): void {
    this.#stop.abort()
  }

  #pump(): void {
    const { to, inFlight, maxBytes } = this.#order
    while (this.#running < inFlight && this.#start <= to && !this.#stop.signal.aborted) {
      const expected = this.#waitingBytes + (this.#running + 1) * this.#meanBytes
      const nothingElse = this.#running === 0 && this.#done.size === 0
      if (expected > maxBytes && !nothingElse) return
      void this.#run(this.#start++)
    }
  }

  async #run(number: number): Promise<void> {
    this.#running++
    try {
      const result = await this.#order.fetch(number, this.#signal)
      this.#done.set(number, { ok: true, result })
      this.#waitingBytes += result.bytes
      this.#meanBytes = this.#meanBytes === 0 ? result.bytes : 0.9 * this.#meanBytes + 0.1 * result.bytes
    } catch (error) {
      this.#done.set(number, { ok: false, error })
    }
    this.#running--
    this.#pump()
    this.#wake?.()
  }
}
