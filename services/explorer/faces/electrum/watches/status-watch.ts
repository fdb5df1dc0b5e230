import { scriptKeyOf } from '../../../../../pipelines/chain/script.js'
import { pause } from '../../../../../pipelines/pause.js'
import type { Core } from '../../../core/core.js'
import type { Status } from '../reads/histories.js'

/** A client that wants the changes of the status of scripts. */
interface Subscriber {
  /** Called with a status that may be new to the client. */
  statusChanged(hash: string, status: string | null): void
}

/** A script with subscribers. */
interface Watched {
  readonly subscribers: Set<Subscriber>
  /** Ends the subscription to the changes of the script. */
  readonly end: () => void
  /** The number of changes, for those who compare. */
  changes: number
  isUnconfirmed: boolean
  /** True while it waits for a comparison. */
  isWaiting: boolean
}

/** The number of scripts that are compared in parallel. */
const AT_ONCE = 16
/** The time after which a status is read again that cannot be read at the moment. */
const REPEAT_MS = 200

/**
 * Tells the subscribers of each change of the status of a script. The changes of scripts come from the feed, after this explorer has adopted
 * the state with them; a block also changes the height of an unconfirmed transaction when it contains the one that it spends.
 */
export class StatusWatch {
  readonly #core: Core
  readonly #read: (hash: string) => Promise<Status | undefined>
  readonly #watched = new Map<string, Watched>()
  readonly #waiting: string[] = []
  readonly #stop = new AbortController()
  #comparing = 0

  /** @param read returns the current status of a script; undefined if it cannot be read at the moment. */
  constructor(core: Core, read: (hash: string) => Promise<Status | undefined>) {
    this.#core = core
    this.#read = read
  }

  close(): void {
    this.#stop.abort()
    for (const { end } of this.#watched.values()) end()
    this.#watched.clear()
  }

  add(hash: string, subscriber: Subscriber): void {
    const watched = this.#watched.get(hash)
    if (watched !== undefined) {
      watched.subscribers.add(subscriber)
      return
    }
    const script = scriptKeyOf(hash)
    if (script === undefined) throw new RangeError(`not a script hash: ${hash}`)
    const send = (): void => {
      this.check(hash)
    }
    // The first event is not a change, but comes after any that were missed until then.
    const end = this.#core.scripts.subscribe({ script, since: undefined, send })
    this.#watched.set(hash, {
      subscribers: new Set([subscriber]),
      end,
      changes: 0,
      isUnconfirmed: false,
      isWaiting: false,
    })
  }

  remove(hash: string, subscriber: Subscriber): void {
    const watched = this.#watched.get(hash)
    if (watched?.subscribers.delete(subscriber) !== true || watched.subscribers.size > 0) return
    this.#watched.delete(hash)
    watched.end()
  }

  /** Returns the number of changes of a script so far. */
  changesOf(hash: string): number {
    return this.#watched.get(hash)?.changes ?? 0
  }

  /** Compares the scripts whose status a block may change without touching them. */
  tipChanged(): void {
    for (const [hash, { isUnconfirmed }] of this.#watched) if (isUnconfirmed) this.check(hash)
  }

  /** Compares the status of a script with those that its subscribers know, soon. */
  check(hash: string): void {
    const watched = this.#watched.get(hash)
    if (watched === undefined) return
    watched.changes++
    if (watched.isWaiting) return
    watched.isWaiting = true
    this.#waiting.push(hash)
    this.#pump()
  }

  #pump(): void {
    while (this.#comparing < AT_ONCE && !this.#stop.signal.aborted) {
      const hash = this.#waiting.shift()
      if (hash === undefined) return
      this.#comparing++
      void this.#compare(hash).finally(() => {
        this.#comparing--
        this.#pump()
      })
    }
  }

  async #compare(hash: string): Promise<void> {
    const watched = this.#watched.get(hash)
    if (watched === undefined) return
    watched.isWaiting = false
    try {
      const current = await this.#read(hash)
      if (current === undefined) {
        await pause(REPEAT_MS, this.#stop.signal)
        this.check(hash)
        return
      }
      watched.isUnconfirmed = current.isUnconfirmed
      for (const each of watched.subscribers) each.statusChanged(hash, current.status)
    } catch (error) {
      this.#core.defect(error, 'electrum status')
    }
  }
}
