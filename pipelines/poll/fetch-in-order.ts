export interface Sized<T> {
  readonly value: T
  readonly bytes: number
}

export interface FetchOrder<T> {
  readonly from: number
  /** Inclusive. */
  readonly to: number
  /** The maximum number of concurrent requests. */
  readonly inFlight: number
  /** The approximate maximum size of results that wait for their turn; a single larger result is allowed. */
  readonly maxBytes: number
  fetch(number: number, signal: AbortSignal): Promise<Sized<T>>
}

type Outcome<T> =
  | { readonly ok: true; readonly result: Sized<T> }
  | { readonly ok: false; readonly error: unknown }

/** The maximum number of results yielded at once. */
const MAX_HANDED = 64

/**
 * Fetches a range of numbers, several at once, and yields the results in order: each time all that are ready, at least one.
 * When the generator ends or is closed, running fetches are aborted and their results are dropped.
 * @param signal ends the fetches.
 * @throws the error of a failed fetch, after the results before it were yielded.
 */
export async function* fetchInOrder<T>(order: FetchOrder<T>, signal: AbortSignal): AsyncGenerator<T[]> {
  const { to, inFlight, maxBytes } = order
  const stop = new AbortController()
  const stopped = AbortSignal.any([signal, stop.signal])
  const done = new Map<number, Outcome<T>>()
  let next = order.from
  let start = order.from
  let running = 0
  let waitingBytes = 0
  /** The average size of the results so far, to estimate the size of running fetches. */
  let meanBytes = 0
  let wake = (): void => undefined
  const run = async (number: number): Promise<void> => {
    running++
    try {
      const result = await order.fetch(number, stopped)
      done.set(number, { ok: true, result })
      waitingBytes += result.bytes
      meanBytes = meanBytes === 0 ? result.bytes : 0.9 * meanBytes + 0.1 * result.bytes
    } catch (error) {
      done.set(number, { ok: false, error })
    }
    running--
    pump()
    wake()
  }
  const pump = (): void => {
    while (running < inFlight && start <= to && !stop.signal.aborted) {
      const expected = waitingBytes + (running + 1) * meanBytes
      const nothingElse = running === 0 && done.size === 0
      if (expected > maxBytes && !nothingElse) return
      void run(start++)
    }
  }
  try {
    while (next <= to) {
      pump()
      while (!done.has(next))
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      const ready: T[] = []
      for (let outcome = done.get(next); outcome !== undefined; outcome = done.get(next)) {
        if (ready.length === MAX_HANDED || (!outcome.ok && ready.length > 0)) break
        if (!outcome.ok) throw outcome.error
        ready.push(outcome.result.value)
        done.delete(next++)
        waitingBytes -= outcome.result.bytes
      }
      pump()
      yield ready
    }
  } finally {
    stop.abort()
  }
}
