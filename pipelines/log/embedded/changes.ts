import { type FSWatcher, watch } from 'node:fs'

/**
 * Notices changes of the files of a folder by other processes, by inotify. A notification may be early: SQLite writes a transaction,
 * syncs the file, and only then shows it to others.
 */
export class FolderChanges {
  #watcher: FSWatcher | undefined
  /** By the beginning of the file's name: when it changed last, as `performance.now()`. */
  readonly #changedAt = new Map<string, number>()
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Begins to watch. Where this is not possible, `isWatching` stays false. */
  constructor(folder: string) {
    // Elsewhere it is not known whether every change is noticed.
    if (process.platform !== 'linux') return
    try {
      this.#watcher = watch(folder, { persistent: false }, (_, file) => {
        if (file !== null) this.#changed(file)
      })
      // As when the folder is removed.
      this.#watcher.on('error', () => {
        this.close()
      })
    } catch {
      // The limit of inotify watches of this user is reached.
    }
  }

  get isWatching(): boolean {
    return this.#watcher !== undefined
  }

  /** Returns the milliseconds since a file changed last, infinite if it has not since the start. @param name without its extension. */
  sinceLast(name: string): number {
    return performance.now() - (this.#changedAt.get(name) ?? Number.NEGATIVE_INFINITY)
  }

  /** Waits until a file changes, for up to `ms`, or until the signal aborts. @returns whether it has changed. Never rejects. */
  next(name: string, ms: number, signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (hasChanged: boolean): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
        waiting.delete(change)
        resolve(hasChanged)
      }
      const change = (): void => {
        end(true)
      }
      const stop = (): void => {
        end(false)
      }
      const timer = setTimeout(stop, ms)
      const waiting = this.#waiting.get(name) ?? new Set()
      this.#waiting.set(name, waiting.add(change))
      signal?.addEventListener('abort', stop)
      if (signal?.aborted === true) stop()
    })
  }

  close(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }

  #changed(file: string): void {
    const [name = ''] = file.split('.')
    this.#changedAt.set(name, performance.now())
    for (const change of this.#waiting.get(name) ?? []) change()
  }
}
