interface Waiter<V> {
  resolve(value: V | undefined): void
  reject(error: unknown): void
}

/** A batch on its way: its lookup ends when nobody waits for any of its keys. */
interface Batch<V> {
  readonly waiters: Map<string, Set<Waiter<V>>>
  readonly abort: AbortController
}

export interface GatherOptions<V> {
  /**
   * Looks up distinct keys in one go; keys without a value are left out of the map.
   * @param signal aborts when nobody waits for any of them.
   */
  readonly load: (keys: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, V>>
  /** Batches on their way at once: a query's own overhead is the cost, so few and large ones are the fastest. */
  readonly inFlight?: number
  readonly mostKeys?: number
}

/** Lookups by key. */
export interface Lookup<V> {
  /** @returns undefined where there is none; rejects as the lookup of its batch does. */
  get(key: string): Promise<V | undefined>
  /** Looks up many keys, which travel together as far as they fit. */
  getAll(keys: Iterable<string>): Promise<Map<string, V>>
}

/**
 * Turns concurrent lookups into few: a lone key is asked for at once; keys that arrive while `inFlight` batches are under way
 * are collected into the next one. A key asked twice within a batch is looked up once.
 */
export class Gatherer<V> implements Lookup<V> {
  readonly #load: GatherOptions<V>['load']
  readonly #inFlight: number
  readonly #mostKeys: number
  #waiting = new Map<string, Set<Waiter<V>>>()
  readonly #batches = new Set<Batch<V>>()
  #running = 0
  #lookedUp = 0
  #scheduled = false

  constructor({ load, inFlight = 1, mostKeys = 256 }: GatherOptions<V>) {
    this.#load = load
    this.#inFlight = inFlight
    this.#mostKeys = mostKeys
  }

  /** Keys that wait for a batch. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Keys that were looked up since the start. */
  get lookedUp(): number {
    return this.#lookedUp
  }

  /**
   * Whether what waits fills the next batch, so that one more key would wait for two: the moment to refuse new work. It is
   * measured in batches, and so in the time that this machine takes for one.
   */
  get isFull(): boolean {
    return this.#waiting.size >= this.#mostKeys
  }

  async get(key: string, signal?: AbortSignal): Promise<V | undefined> {
    return (await this.getAll([key], signal)).get(key)
  }

  async getAll(keys: Iterable<string>, signal?: AbortSignal): Promise<Map<string, V>> {
    signal?.throwIfAborted()
    const waiters = new Map<string, Waiter<V>>()
    const found = new Map<string, V>()
    const requested = [...new Set(keys)].map((key) =>
      new Promise<V | undefined>((resolve, reject) => {
        const waiter = { resolve, reject }
        waiters.set(key, waiter)
        this.#wait(key, waiter)
      }).then((value) => {
        if (value !== undefined) found.set(key, value)
      }),
    )
    // One listener, however many keys.
    const leave = (): void => {
      for (const [key, waiter] of waiters) this.#leave(key, waiter, signal?.reason)
    }
    signal?.addEventListener('abort', leave)
    try {
      await Promise.all(requested)
      return found
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  #wait(key: string, waiter: Waiter<V>): void {
    const waiters = this.#waiting.get(key)
    if (waiters === undefined) this.#waiting.set(key, new Set([waiter]))
    else waiters.add(waiter)
    this.#schedule()
  }

  /** The same lookups for somebody who may leave: what still waits then is not looked up. */
  until(signal: AbortSignal | undefined): Lookup<V> {
    if (signal === undefined) return this
    return {
      get: (key) => this.get(key, signal),
      getAll: (keys) => this.getAll(keys, signal),
    }
  }

  /** Takes a waiter from where it is: from the line, or from a batch on its way, which ends with its last waiter. */
  #leave(key: string, waiter: Waiter<V>, reason: unknown): void {
    waiter.reject(reason)
    if (remove(this.#waiting, key, waiter)) return
    for (const { waiters, abort } of this.#batches)
      if (remove(waiters, key, waiter) && waiters.size === 0) abort.abort(reason)
  }

  /** Waits for the end of the current turn, so that what one request asks in one go goes in one batch. */
  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#inFlight) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      while (this.#running < this.#inFlight && this.#waiting.size > 0) void this.#run(this.#take())
    })
  }

  #take(): Map<string, Set<Waiter<V>>> {
    if (this.#waiting.size <= this.#mostKeys) {
      const batch = this.#waiting
      this.#waiting = new Map()
      return batch
    }
    const batch = new Map<string, Set<Waiter<V>>>()
    for (const [key, waiters] of this.#waiting) {
      if (batch.size >= this.#mostKeys) break
      batch.set(key, waiters)
      this.#waiting.delete(key)
    }
    return batch
  }

  async #run(waiters: Map<string, Set<Waiter<V>>>): Promise<void> {
    const batch = { waiters, abort: new AbortController() }
    this.#running++
    this.#lookedUp += waiters.size
    this.#batches.add(batch)
    try {
      const found = await this.#load([...waiters.keys()], batch.abort.signal)
      for (const [key, all] of waiters) for (const waiter of all) waiter.resolve(found.get(key))
    } catch (error) {
      for (const all of waiters.values()) for (const waiter of all) waiter.reject(error)
    } finally {
      this.#batches.delete(batch)
      this.#running--
      this.#schedule()
    }
  }
}

/** @returns whether it was there; a key without a waiter goes. */
function remove<V>(from: Map<string, Set<Waiter<V>>>, key: string, waiter: Waiter<V>): boolean {
  const waiters = from.get(key)
  if (waiters?.delete(waiter) !== true) return false
  if (waiters.size === 0) from.delete(key)
  return true
}
