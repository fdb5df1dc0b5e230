import type { CancelSignal } from './cancellation.js'

interface Waiter<V> {
  resolve(value: V | undefined): void
  reject(error: unknown): void
}

/** A batch in flight. Its lookup is cancelled when no caller waits for any of its keys. */
interface Batch<V> {
  readonly waiters: Map<string, Set<Waiter<V>>>
  readonly abort: AbortController
}

export interface GatherOptions<V> {
  /**
   * Looks up distinct keys in one query; keys without a value are missing from the map.
   * @param signal aborts when no caller waits for any of them.
   */
  readonly load: (keys: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, V>>
  /** Returns the value of a key if it needs no query, undefined otherwise. Not set: none. */
  readonly near?: (key: string) => V | undefined
  /** The maximum number of keys of a call for which `near` is called, which takes the time of the event loop. */
  readonly maxNear?: number
  /** The maximum number of concurrent batches. */
  readonly inFlight?: number
  /** The number of keys that must wait before a batch starts beside another batch: the overhead of small batches dominates. */
  readonly least?: number
  /** The maximum number of keys per batch. */
  readonly maxKeys?: number
  /** The number of waiting keys from which on new work should be refused: by default those of a batch, and at least `KEYS`. */
  readonly maxWaiting?: number
  /** Calls back when the waiting keys are to be looked up; by default at the end of the turn. */
  readonly begin?: (callback: () => void) => void
}

/** The number of keys that 256 connections wait for, as many as keep the database busy: none of them is refused. */
const KEYS = 256
/** By default two batches are in flight: the database works on one while answers are made of the rows of the other batch. */
const IN_FLIGHT = 2
const LEAST = 64
/** The number of keys up to which their values are read without a query, which holds up everything else. */
const NEAR_KEYS = 64

/** Lookups by key. */
export interface Lookup<V> {
  /** Looks up one key. @returns undefined if it has no value. Rejects as the lookup of its batch does. */
  get(key: string): Promise<V | undefined>
  /** Looks up many keys, together if they fit into one batch. */
  getAll(keys: Iterable<string>): Promise<Map<string, V>>
}

/**
 * Combines concurrent lookups into batches. A single key is looked up immediately; keys that arrive while a batch is in flight are
 * collected into the next one, which starts beside it if there are enough of them. A key that is requested twice within a batch is
 * looked up once.
 */
export class Gatherer<V> implements Lookup<V> {
  readonly #load: GatherOptions<V>['load']
  readonly #near: GatherOptions<V>['near']
  readonly #maxNear: number
  readonly #inFlight: number
  readonly #least: number
  readonly #maxKeys: number
  readonly #maxWaiting: number
  readonly #begin: (callback: () => void) => void
  #waiting = new Map<string, Set<Waiter<V>>>()
  readonly #batches = new Set<Batch<V>>()
  #running = 0
  #lookedUp = 0
  #scheduled = false

  constructor(options: GatherOptions<V>) {
    const { load, near, maxNear = NEAR_KEYS, inFlight = IN_FLIGHT, least = LEAST } = options
    const { maxKeys = KEYS, maxWaiting = Math.max(KEYS, maxKeys), begin = queueMicrotask } = options
    this.#load = load
    this.#near = near
    this.#maxNear = maxNear
    this.#inFlight = inFlight
    this.#least = least
    this.#maxKeys = maxKeys
    this.#maxWaiting = maxWaiting
    this.#begin = begin
  }

  /** The number of keys that wait for a batch. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** The number of keys that were looked up since the start. */
  get lookedUp(): number {
    return this.#lookedUp
  }

  /**
   * True if so many keys wait that new work should be refused. The limit is a number of keys, whatever the size of a batch: clients
   * that each wait for their answer are refused only if there are more of them. It adapts to the time that this machine takes.
   */
  get isFull(): boolean {
    return this.#waiting.size >= this.#maxWaiting
  }

  async get(key: string, signal?: CancelSignal): Promise<V | undefined> {
    signal?.throwIfAborted()
    return this.#near?.(key) ?? this.#query(key, signal)
  }

  async #query(key: string, signal?: CancelSignal): Promise<V | undefined> {
    let cancel = (): void => undefined
    try {
      return await new Promise<V | undefined>((resolve, reject) => {
        const waiter = { resolve, reject }
        cancel = () => {
          this.#cancel(key, waiter, signal?.reason)
        }
        signal?.addEventListener('abort', cancel)
        this.#wait(key, waiter)
      })
    } finally {
      signal?.removeEventListener('abort', cancel)
    }
  }

  async getAll(keys: Iterable<string>, signal?: CancelSignal): Promise<Map<string, V>> {
    signal?.throwIfAborted()
    const values = new Map<string, V>()
    const distinct = new Set(keys)
    const near = distinct.size <= this.#maxNear ? this.#near : undefined
    const look = async (key: string): Promise<void> => {
      const value = near?.(key) ?? (await this.#query(key, signal))
      if (value !== undefined) values.set(key, value)
    }
    await Promise.all(Array.from(distinct, look))
    return values
  }

  #wait(key: string, waiter: Waiter<V>): void {
    const waiters = this.#waiting.get(key)
    if (waiters === undefined) this.#waiting.set(key, new Set([waiter]))
    else waiters.add(waiter)
    this.#schedule()
  }

  /** Returns these lookups for a caller that may disconnect: keys that still wait when the signal aborts are not looked up. */
  until(signal: CancelSignal | undefined): Lookup<V> {
    if (signal === undefined) return this
    return {
      get: (key) => this.get(key, signal),
      getAll: (keys) => this.getAll(keys, signal),
    }
  }

  /** Removes a waiter from the queue, or from a batch in flight, which is cancelled with its last waiter. */
  #cancel(key: string, waiter: Waiter<V>, reason: unknown): void {
    waiter.reject(reason)
    if (remove(this.#waiting, key, waiter)) return
    for (const { waiters, abort } of this.#batches)
      if (remove(waiters, key, waiter) && waiters.size === 0) abort.abort(reason)
  }

  /** Starts batches at the end of the current turn, so that all keys that one request needs share a batch. */
  #schedule(): void {
    if (this.#scheduled || !this.#canRun) return
    this.#scheduled = true
    this.#begin(() => {
      this.#scheduled = false
      while (this.#canRun) void this.#run(this.#nextBatch())
    })
  }

  /** True if a batch may start now. */
  get #canRun(): boolean {
    return this.#running < this.#inFlight && this.#waiting.size >= (this.#running === 0 ? 1 : this.#least)
  }

  #nextBatch(): Map<string, Set<Waiter<V>>> {
    if (this.#waiting.size <= this.#maxKeys) {
      const batch = this.#waiting
      this.#waiting = new Map()
      return batch
    }
    const batch = new Map<string, Set<Waiter<V>>>()
    for (const [key, waiters] of this.#waiting) {
      if (batch.size >= this.#maxKeys) break
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
      const values = await this.#load([...waiters.keys()], batch.abort.signal)
      for (const [key, all] of waiters) for (const waiter of all) waiter.resolve(values.get(key))
    } catch (error) {
      for (const all of waiters.values()) for (const waiter of all) waiter.reject(error)
    } finally {
      this.#batches.delete(batch)
      this.#running--
      this.#schedule()
    }
  }
}

/** Removes a waiter, and its key with the last waiter. @returns whether the waiter was there. */
function remove<V>(from: Map<string, Set<Waiter<V>>>, key: string, waiter: Waiter<V>): boolean {
  const waiters = from.get(key)
  if (waiters?.delete(waiter) !== true) return false
  if (waiters.size === 0) from.delete(key)
  return true
}
