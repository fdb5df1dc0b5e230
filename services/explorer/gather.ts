interface Waiter<V> {
  resolve(value: V | undefined): void
  reject(error: unknown): void
}

export interface GatherOptions<V> {
  /** Looks up distinct keys in one go; keys without a value are left out of the map. */
  readonly load: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>
  /** Batches on their way at once: a query's own overhead is the cost, so few and large ones are the fastest. */
  readonly inFlight?: number
  readonly mostKeys?: number
}

/**
 * Turns concurrent lookups into few: a lone key is asked for at once; keys that arrive while `inFlight` batches are under way
 * are collected into the next one. A key asked twice within a batch is looked up once.
 */
export class Gatherer<V> {
  readonly #load: GatherOptions<V>['load']
  readonly #inFlight: number
  readonly #mostKeys: number
  #waiting = new Map<string, Waiter<V>[]>()
  #running = 0
  #scheduled = false

  constructor({ load, inFlight = 1, mostKeys = 400 }: GatherOptions<V>) {
    this.#load = load
    this.#inFlight = inFlight
    this.#mostKeys = mostKeys
  }

  /** @returns undefined where there is none; rejects as the lookup of its batch does. */
  get(key: string): Promise<V | undefined> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiting.get(key)
      if (waiters === undefined) this.#waiting.set(key, [{ resolve, reject }])
      else waiters.push({ resolve, reject })
      this.#schedule()
    })
  }

  /** Looks up many keys, which travel together as far as they fit. */
  async getAll(keys: Iterable<string>): Promise<Map<string, V>> {
    const distinct = [...new Set(keys)]
    const values = await Promise.all(distinct.map((key) => this.get(key)))
    const found = new Map<string, V>()
    for (const [index, key] of distinct.entries()) {
      const value = values[index]
      if (value !== undefined) found.set(key, value)
    }
    return found
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

  #take(): Map<string, Waiter<V>[]> {
    if (this.#waiting.size <= this.#mostKeys) {
      const batch = this.#waiting
      this.#waiting = new Map()
      return batch
    }
    const batch = new Map<string, Waiter<V>[]>()
    for (const [key, waiters] of this.#waiting) {
      if (batch.size >= this.#mostKeys) break
      batch.set(key, waiters)
      this.#waiting.delete(key)
    }
    return batch
  }

  async #run(batch: Map<string, Waiter<V>[]>): Promise<void> {
    this.#running++
    try {
      const found = await this.#load([...batch.keys()])
      for (const [key, waiters] of batch) for (const waiter of waiters) waiter.resolve(found.get(key))
    } catch (error) {
      for (const waiters of batch.values()) for (const waiter of waiters) waiter.reject(error)
    } finally {
      this.#running--
      this.#schedule()
    }
  }
}
