import { scriptKeyOf } from '../../../../../pipelines/chain/script.js'
import { pause } from '../../../../../pipelines/pause.js'
import type { Core } from '../../../core/core.js'
import type { Status } from '../reads/histories.js'

/** A client that wants the changes of the status of scripts. */
interface Subscriber {
  /** Called with a status that may be new to the client. */
  statusChanged(hash: string, status: string | null): void
}

/** A script with subscribers: a set if there are several. */
interface Watched {
  readonly hash: string
  subscribers: Subscriber | Set<Subscriber>
  /** The number of changes, for those who compare. */
  changes: number
  /** Another hash with the same key in the tables, of which at most one is that of a script. */
  next: Watched | undefined
}

/** Returns the current statuses of scripts that can be read at the moment, by hash; undefined for those that can never be read. */
export type ReadStatuses = (hashes: readonly string[]) => Promise<ReadonlyMap<string, Status | undefined>>

/** The parts of an explorer that it uses. */
interface Watching extends Pick<Core, 'defect'> {
  readonly scripts: Pick<Core['scripts'], 'watch'>
}

/** The number of scripts whose statuses are read together, and the number of such reads in parallel. */
const [TOGETHER, AT_ONCE] = [250, 4]
/** The time after which a status is read again that cannot be read at the moment. */
const REPEAT_MS = 200

/**
 * Sends the subscribers each change of the status of a script. Scripts are read again when a change of the state touches them, in its
 * next turn; a block also changes the height of an unconfirmed transaction when it contains the one that it spends.
 */
export class StatusWatch {
  readonly #defect: Core['defect']
  readonly #read: ReadStatuses
  /** By key in the tables. */
  readonly #watched = new Map<string, Watched>()
  readonly #unconfirmed = new Set<Watched>()
  readonly #waiting = new Set<Watched>()
  readonly #stop = new AbortController()
  /** Not read again meanwhile: an older status might arrive after a newer one. */
  readonly #reading = new Set<Watched>()
  #reads = 0
  #isScheduled = false

  constructor({ scripts, defect }: Watching, read: ReadStatuses) {
    this.#defect = defect
    this.#read = read
    scripts.watch((touched) => {
      this.#touch(touched)
    })
  }

  close(): void {
    this.#stop.abort()
    this.#watched.clear()
    this.#waiting.clear()
  }

  /** The number of scripts with subscribers. */
  get size(): number {
    return [...this.#watched.values()].reduce((sum, first) => sum + chainOf(first).length, 0)
  }

  add(hash: string, subscriber: Subscriber): void {
    const watched = this.#find(hash)
    if (watched === undefined) {
      const key = keyOf(hash)
      const next = this.#watched.get(key)
      this.#watched.set(key, { hash, subscribers: subscriber, changes: 0, next })
    } else if (watched.subscribers instanceof Set) watched.subscribers.add(subscriber)
    else if (watched.subscribers !== subscriber)
      watched.subscribers = new Set([watched.subscribers, subscriber])
  }

  remove(hash: string, subscriber: Subscriber): void {
    const watched = this.#find(hash)
    if (watched === undefined) return
    const { subscribers } = watched
    if (subscribers instanceof Set ? !subscribers.delete(subscriber) : subscribers !== subscriber) return
    if (subscribers instanceof Set && subscribers.size > 0) return
    this.#waiting.delete(watched)
    this.#unconfirmed.delete(watched)
    const key = keyOf(hash)
    const others = chainOf(this.#watched.get(key)).filter((each) => each !== watched)
    for (const [at, each] of others.entries()) each.next = others[at + 1]
    const [first] = others
    if (first === undefined) this.#watched.delete(key)
    else this.#watched.set(key, first)
  }

  /** Returns the number of changes of a script so far. */
  changesOf(hash: string): number {
    return this.#find(hash)?.changes ?? 0
  }

  /** Notes that a script has unconfirmed transactions. */
  isUnconfirmed(hash: string): void {
    const watched = this.#find(hash)
    if (watched !== undefined) this.#unconfirmed.add(watched)
  }

  /** Compares the scripts whose status a block may change without touching them. */
  tipChanged(): void {
    for (const watched of this.#unconfirmed) this.#check(watched)
  }

  /** Compares the status of a script with those that its subscribers know, soon. */
  check(hash: string): void {
    const watched = this.#find(hash)
    if (watched !== undefined) this.#check(watched)
  }

  #find(hash: string): Watched | undefined {
    return chainOf(this.#watched.get(keyOf(hash))).find((each) => each.hash === hash)
  }

  /** @param touched hashes that include the keys of scripts; undefined if any may be affected. */
  #touch(touched: ReadonlySet<string> | undefined): void {
    const keys = touched === undefined || touched.size > this.#watched.size ? this.#watched.keys() : touched
    for (const key of keys)
      if (touched?.has(key) !== false)
        for (const watched of chainOf(this.#watched.get(key))) this.#check(watched)
  }

  #check(watched: Watched): void {
    watched.changes++
    this.#waiting.add(watched)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0 || this.#stop.signal.aborted) return
    this.#isScheduled = true
    // After the turn, in which chain and mempool may both change.
    setImmediate(() => {
      this.#isScheduled = false
      while (this.#reads < AT_ONCE) {
        const next = this.#next()
        if (next.length === 0) return
        void this.#compare(next)
      }
    })
  }

  /** Takes the scripts that are compared next. */
  #next(): readonly Watched[] {
    const next: Watched[] = []
    for (const watched of this.#waiting) {
      if (next.length === TOGETHER) break
      if (this.#reading.has(watched)) continue
      next.push(watched)
      this.#waiting.delete(watched)
      this.#reading.add(watched)
    }
    return next
  }

  async #compare(scripts: readonly Watched[]): Promise<void> {
    this.#reads++
    const left = new Set(scripts)
    try {
      const statuses = await this.#read(scripts.map(({ hash }) => hash))
      for (const watched of scripts.filter(({ hash }) => statuses.has(hash))) {
        left.delete(watched)
        this.#reading.delete(watched)
        this.#send(watched, statuses.get(watched.hash))
      }
      if (left.size > 0) await pause(REPEAT_MS, this.#stop.signal)
      // Unless the last subscriber has left meanwhile.
      for (const watched of left) if (this.#find(watched.hash) === watched) this.#waiting.add(watched)
    } catch (error) {
      this.#defect(error, 'electrum status')
    } finally {
      // Not the ones whose statuses were sent: another read of them may be in progress by now.
      for (const watched of left) this.#reading.delete(watched)
      this.#reads--
      this.#schedule()
    }
  }

  #send(watched: Watched, current: Status | undefined): void {
    // Its last subscriber may have left meanwhile.
    if (current === undefined || this.#find(watched.hash) !== watched) return
    if (current.isUnconfirmed) this.#unconfirmed.add(watched)
    else this.#unconfirmed.delete(watched)
    const { hash, subscribers } = watched
    for (const each of subscribers instanceof Set ? subscribers : [subscribers])
      each.statusChanged(hash, current.status)
  }
}

/** @throws RangeError for a malformed hash. */
function keyOf(hash: string): string {
  const key = scriptKeyOf(hash)
  if (key === undefined) throw new RangeError(`not a script hash: ${hash}`)
  return key
}

function chainOf(first: Watched | undefined): readonly Watched[] {
  const chain: Watched[] = []
  for (let each = first; each !== undefined; each = each.next) chain.push(each)
  return chain
}
