import { mkdirSync, realpathSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { open, type Database, type RootDatabase } from 'lmdb'
import { type Topic, TOPICS } from './port.js'

/** Address space, not memory or disk: room for a terabyte of blocks, so that no process ever has to grow its map. */
const MAP_BYTES = 2 ** 40
/** Reader slots of all processes together; each thread that reads takes one. */
const MAX_READERS = 1024
/** Pages that were read stay mapped and count as memory; after this many bytes the map is opened afresh (2 ms). */
const REMAP_AFTER_BYTES = 64 * 2 ** 20

export type Store = Database<Buffer, Buffer>

export interface Stores {
  readonly root: RootDatabase<Buffer, Buffer>
  readonly topics: Readonly<Record<Topic, Store>>
  readonly consumers: Store
}

/** Those of this process, by folder. */
const environments = new Map<string, Environment>()

/**
 * An LMDB folder as this process has it open: once, however many logs are on it, for the driver shares its state between two
 * of one folder, and one of them would wait for ever for what the other has closed.
 */
export class Environment {
  readonly #dir: string
  #stores: Stores
  #users = 0
  #busy = 0
  #bytesRead = 0
  #remapping: Promise<void> | undefined
  #closing: Promise<void> | undefined

  private constructor(dir: string) {
    this.#dir = dir
    this.#stores = openStores(dir)
  }

  /** Opens (and creates) the folder; each caller calls `release` once. @throws where it cannot be written. */
  static async take(folder: string): Promise<Environment> {
    mkdirSync(folder, { recursive: true })
    const dir = realpathSync(folder)
    for (;;) {
      const known = environments.get(dir)
      const environment = known ?? new Environment(dir)
      if (environment.#closing === undefined) {
        environments.set(dir, environment)
        environment.#users++
        return environment
      }
      await environment.#closing
    }
  }

  /** Runs an action while the stores are open and stay so. Rejects with what the action throws. */
  async use<T>(action: (stores: Stores) => T | Promise<T>): Promise<T> {
    // Without a wait in the ordinary case, so that what was called before release() is counted before it.
    while (this.#remapping !== undefined) await this.#remapping
    this.#busy++
    try {
      return await action(this.#stores)
    } catch (error) {
      // Of a commit that failed (a full disk) the driver gives the reason as a promise beside; unheard it would end the process.
      ;(error as { commitError?: Promise<never> }).commitError?.catch(() => undefined)
      throw error
    } finally {
      this.#busy--
    }
  }

  /** Told how much was read, it opens the map afresh now and then, when nothing is under way. */
  wasRead(bytes: number): void {
    this.#bytesRead += bytes
    if (this.#bytesRead < REMAP_AFTER_BYTES || this.#busy > 0) return
    if (this.#remapping !== undefined || this.#closing !== undefined) return
    this.#bytesRead = 0
    this.#remapping = this.#stores.root.close().then(() => {
      this.#stores = openStores(this.#dir)
      this.#remapping = undefined
    })
    // Where it fails the promise stays: whoever uses the log from then on is told why.
    this.#remapping.catch(() => undefined)
  }

  /** Closes the folder with its last user, after what is under way. */
  async release(): Promise<void> {
    if (--this.#users > 0) return
    this.#closing ??= (async () => {
      await this.#remapping?.catch(() => undefined)
      while (this.#busy > 0) await sleep(1)
      await this.#stores.root.close()
      environments.delete(this.#dir)
    })()
    await this.#closing
  }
}

function openStores(path: string): Stores {
  const root = open<Buffer, Buffer>({
    path,
    encoding: 'binary',
    keyEncoding: 'binary',
    compression: false,
    mapSize: MAP_BYTES,
    maxDbs: 8,
    maxReaders: MAX_READERS,
    // Else each turn's writes have a promise of their own, which nobody could hear fail.
    eventTurnBatching: false,
    // A commit is on disk before it is visible, here or in another process.
    overlappingSync: false,
  })
  const store = (name: string): Store => root.openDB(name, { encoding: 'binary', keyEncoding: 'binary' })
  return {
    root,
    topics: Object.fromEntries(TOPICS.map((topic) => [topic, store(topic)])) as Record<Topic, Store>,
    consumers: store('consumers'),
  }
}
