import type { Change } from '../state/change.js'
import type { CachedAnswer } from './cached-answer.js'
import { RecentKeys } from './recent-keys.js'

/** The conditions under which an answer stays valid. */
export interface Dependence {
  /** Hashes of blocks, transactions and scripts, and kinds of changes (`Change`): the answer is dropped when one is touched. */
  readonly on: readonly string[]
  /** Unix milliseconds after which the answer is not valid any more. */
  readonly untilMs: number
}

/** The maximum number of bytes of all answers. */
export const MAX_BYTES = 40 * 2 ** 20
/** The maximum number of bytes of one answer. */
const MAX_ENTRY_BYTES = 3 * 2 ** 20
/** The overhead of an entry, of a dependence and of a URL, beside their characters, as 20,000 of them take it. */
const ENTRY_BYTES = 1_300
const LINK_BYTES = 120
/**
 * The maximum age of an answer. Rows are repaired in place (`npm run replay`) without a change of the state, so an answer that was
 * made from damaged rows must not stay for as long as nothing else happens.
 */
const MAX_AGE_MS = 10 * 60_000
/** The maximum number of URLs of an answer that are looked up without parsing: clients can spell a request in any number of ways. */
const MAX_URLS = 4
const MAX_URL_LENGTH = 300
/** Changes and their hashes that are remembered, for answers that are being made meanwhile. */
const MAX_CHANGES = 256
const MAX_CHANGED_HASHES = 50_000

/** The number of requests since it was made after which an answer is made again as soon as it changes. */
const HOT_REQUESTS = 16
/** The maximum number of answers that are made again after a change. */
const MAX_HOT = 32

interface Entry<T> {
  readonly answer: CachedAnswer
  readonly key: string
  readonly dependence: Dependence
  /** The request that the answer can be made again from. */
  readonly origin: T | undefined
  readonly urls: string[]
  requests: number
  bytes: number
  newer: Entry<T> | undefined
  older: Entry<T> | undefined
}

interface PastChange {
  readonly clock: number
  readonly kind: string
  readonly touched: ReadonlySet<string> | undefined
}

/**
 * Keeps encoded answers until something that they depend on changes. Bounded by bytes; the least recently used answers are
 * evicted first. They are evicted only for an answer that is made a second time: otherwise a client that reads everything once would
 * evict what others read again and again, and nearly all answers would be kept, moved by the garbage collector and dropped unused.
 */
export class AnswerCache<T = never> {
  readonly #byKey = new Map<string, Entry<T>>()
  readonly #byUrl = new Map<string, Entry<T>>()
  readonly #byAnswer = new Map<CachedAnswer, Entry<T>>()
  /** The entries that depend on a hash or a kind of change. */
  readonly #dependent = new Map<string, Set<Entry<T>>>()
  #newest: Entry<T> | undefined
  #oldest: Entry<T> | undefined
  #bytes = 0
  #clock = 0
  #changes: PastChange[] = []
  #changedHashes = 0
  /** The last change that is not remembered any more. */
  #forgotten = 0
  #hot: T[] = []
  /** The keys of recent answers, kept or not. */
  readonly #recent = new RecentKeys()
  #hits = 0
  #misses = 0
  readonly #dropped = { changed: 0, evicted: 0 }

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** The number of changes so far: answers are made as of a clock. */
  get clock(): number {
    return this.#clock
  }

  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#byKey.size
  }

  /** The number of requests that found an answer here, and of those that did not. */
  get requests(): { readonly hit: number; readonly miss: number } {
    return { hit: this.#hits, miss: this.#misses }
  }

  /** The number of answers that were dropped because something they depend on changed, and to make room. */
  get dropped(): { readonly changed: number; readonly evicted: number } {
    return this.#dropped
  }

  /** Returns whether there is an answer to a request; counts nothing. */
  has(key: string): boolean {
    return this.#valid(this.#byKey.get(key)) !== undefined
  }

  /** Returns the answer to a request, and counts it. */
  get(key: string): CachedAnswer | undefined {
    const entry = this.#valid(this.#byKey.get(key))
    if (entry === undefined) {
      this.#misses++
      return undefined
    }
    this.#use(entry)
    return entry.answer
  }

  /** Returns the answer that was found under a URL before. Call `hit` if it is sent. */
  byUrl(url: string): CachedAnswer | undefined {
    return this.#valid(this.#byUrl.get(url))?.answer
  }

  /** Counts a request that is answered with `byUrl`. */
  hit(answer: CachedAnswer): void {
    const entry = this.#byAnswer.get(answer)
    if (entry !== undefined) this.#use(entry)
  }

  /** Finds an answer by this URL from now on, if it is in the cache. */
  link(answer: CachedAnswer, url: string): void {
    const entry = this.#byAnswer.get(answer)
    if (entry === undefined || entry.urls.length >= MAX_URLS || url.length > MAX_URL_LENGTH) return
    if (this.#byUrl.has(url)) return
    entry.urls.push(url)
    this.#byUrl.set(url, entry)
    this.grow(answer, url.length + LINK_BYTES)
  }

  /** Counts further bytes of an answer, if it is in the cache. */
  grow(answer: CachedAnswer, bytes: number): void {
    const entry = this.#byAnswer.get(answer)
    if (entry === undefined) return
    entry.bytes += bytes
    this.#bytes += bytes
    this.#evict()
  }

  /**
   * Keeps an answer, unless something that it depends on has changed since it was begun, or others would be evicted for its first
   * request.
   * @param since the clock when the answer was begun.
   * @param origin what the answer can be made again from, for `takeHot`.
   */
  keep(key: string, answer: CachedAnswer, dependence: Dependence, since: number, origin?: T): void {
    if (since < this.#forgotten) return
    for (const change of this.#changes) if (change.clock > since && affects(change, dependence)) return
    const bytes = answer.body.length + key.length * 2 + ENTRY_BYTES + dependence.on.length * (LINK_BYTES + 64)
    if (bytes > Math.min(MAX_ENTRY_BYTES, this.maxBytes)) return
    const isRepeated = this.#recent.add(key)
    if (this.#bytes + bytes > this.maxBytes && !isRepeated) return
    const before = this.#byKey.get(key)
    if (before !== undefined) this.#drop(before)
    const untilMs = Math.min(dependence.untilMs, Date.now() + MAX_AGE_MS)
    const entry: Entry<T> = {
      answer,
      key,
      urls: [],
      bytes,
      dependence: { ...dependence, untilMs },
      origin,
      requests: 0,
      newer: undefined,
      older: undefined,
    }
    this.#byKey.set(key, entry)
    this.#byAnswer.set(answer, entry)
    for (const each of dependence.on) {
      const dependent = this.#dependent.get(each)
      if (dependent === undefined) this.#dependent.set(each, new Set([entry]))
      else dependent.add(entry)
    }
    this.#bytes += bytes
    this.#putFirst(entry)
    this.#evict()
  }

  /** Drops the answers that a change affects. Call in the turn in which the state changes. */
  apply({ kind, touched }: Change): void {
    this.#remember({ clock: ++this.#clock, kind, touched })
    if (touched === undefined) {
      for (const entry of [...this.#byKey.values()]) this.#dropAffected(entry)
      return
    }
    this.#dropDependent(kind)
    // Of two sets, iterates the smaller one.
    if (touched.size <= this.#dependent.size) for (const hash of touched) this.#dropDependent(hash)
    else for (const hash of [...this.#dependent.keys()]) if (touched.has(hash)) this.#dropDependent(hash)
  }

  /** Returns the origins of dropped answers that had been requested often, once. */
  takeHot(): readonly T[] {
    const hot = this.#hot
    if (hot.length > 0) this.#hot = []
    return hot
  }

  #dropDependent(on: string): void {
    for (const entry of [...(this.#dependent.get(on) ?? [])]) this.#dropAffected(entry)
  }

  #dropAffected(entry: Entry<T>): void {
    this.#dropChanged(entry)
    if (entry.requests >= HOT_REQUESTS && entry.origin !== undefined && this.#hot.length < MAX_HOT)
      this.#hot.push(entry.origin)
  }

  #remember(change: PastChange): void {
    this.#changes.push(change)
    this.#changedHashes += change.touched?.size ?? 0
    while (this.#changes.length > MAX_CHANGES || this.#changedHashes > MAX_CHANGED_HASHES) {
      const oldest = this.#changes.shift()
      if (oldest === undefined) return
      this.#changedHashes -= oldest.touched?.size ?? 0
      this.#forgotten = oldest.clock
    }
  }

  #valid(entry: Entry<T> | undefined): Entry<T> | undefined {
    if (entry === undefined || Date.now() < entry.dependence.untilMs) return entry
    this.#dropChanged(entry)
    return undefined
  }

  #use(entry: Entry<T>): void {
    this.#hits++
    entry.requests++
    if (entry === this.#newest) return
    this.#unlink(entry)
    this.#putFirst(entry)
  }

  #dropChanged(entry: Entry<T>): void {
    this.#dropped.changed++
    if (entry.requests > 0) this.#recent.add(entry.key)
    this.#drop(entry)
  }

  #evict(): void {
    while (this.#bytes > this.maxBytes && this.#oldest !== undefined) {
      this.#dropped.evicted++
      this.#drop(this.#oldest)
    }
  }

  #drop(entry: Entry<T>): void {
    this.#unlink(entry)
    this.#byKey.delete(entry.key)
    this.#byAnswer.delete(entry.answer)
    for (const url of entry.urls) this.#byUrl.delete(url)
    for (const each of entry.dependence.on) {
      const dependent = this.#dependent.get(each)
      dependent?.delete(entry)
      if (dependent?.size === 0) this.#dependent.delete(each)
    }
    this.#bytes -= entry.bytes
  }

  #putFirst(entry: Entry<T>): void {
    entry.older = this.#newest
    entry.newer = undefined
    if (this.#newest !== undefined) this.#newest.newer = entry
    this.#newest = entry
    this.#oldest ??= entry
  }

  #unlink(entry: Entry<T>): void {
    if (entry.newer === undefined) this.#newest = entry.older
    else entry.newer.older = entry.older
    if (entry.older === undefined) this.#oldest = entry.newer
    else entry.older.newer = entry.newer
  }
}

function affects({ kind, touched }: PastChange, { on }: Dependence): boolean {
  return touched === undefined || on.some((each) => each === kind || touched.has(each))
}
