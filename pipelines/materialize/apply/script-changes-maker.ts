import { Worker } from 'node:worker_threads'
import type { Chain } from '../../chain/network.js'
import type { Moves } from './script-changes.js'
import type { MadeRows } from '../rebuild/own-rows.js'
import { PoisonEvent } from '../poison.js'

/** An event that connects a block, as the log has it. */
export interface BlockEvent {
  readonly position: number
  readonly value: Uint8Array
}

/** What the thread is asked: such events, one after the other in `bytes`, and where each of them ends. */
export interface Wanted {
  readonly chain: Chain
  readonly positions: readonly number[]
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly ends: readonly number[]
}

/** What blocks make by themselves. */
export interface Made {
  readonly rows: MadeRows
  readonly moves: Moves
}

/** What the thread answers. */
export type Answer = Made | { readonly poison: { readonly position: number; readonly message: string } }

interface Asked {
  readonly resolve: (made: Made) => void
  readonly reject: (error: Error) => void
}

/**
 * Has what blocks make by themselves made on another thread, while this one folds what depends on the chain below them: each is
 * about half of the work of a backfill.
 */
export class MovesMaker {
  readonly #thread = new Worker(threadScript())
  /** In the order in which they were asked for, which is that of the answers. */
  readonly #asked: Asked[] = []
  /** Why the thread has ended; undefined while it works. */
  #ended: Error | undefined

  constructor() {
    this.#thread.on('message', (answer: Answer) => {
      const asked = this.#asked.shift()
      if (!('poison' in answer)) asked?.resolve(answer)
      else asked?.reject(new PoisonEvent('chain', answer.poison.position, answer.poison.message))
    })
    this.#thread.on('error', (error) => {
      this.#lose(error instanceof Error ? error : new Error(String(error)))
    })
    this.#thread.on('exit', (code) => {
      this.#lose(new Error(`the thread that decodes blocks ended with ${String(code)}`))
    })
  }

  /** @throws PoisonEvent where an event does not hold its block, Error where the thread ends or has ended. */
  make(events: readonly BlockEvent[], chain: Chain): Promise<Made> {
    const bytes = new Uint8Array(events.reduce((sum, { value }) => sum + value.length, 0))
    let end = 0
    const ends = events.map(({ value }) => {
      bytes.set(value, end)
      return (end += value.length)
    })
    const positions = events.map(({ position }) => position)
    const made = new Promise<Made>((resolve, reject) => {
      if (this.#ended === undefined) this.#asked.push({ resolve, reject })
      else reject(this.#ended)
    })
    this.#thread.postMessage({ chain, positions, bytes, ends } satisfies Wanted, [bytes.buffer])
    // Told by whoever waits for it.
    made.catch(() => undefined)
    return made
  }

  async close(): Promise<void> {
    await this.#thread.terminate()
  }

  #lose(error: Error): void {
    this.#ended ??= error
    for (const { reject } of this.#asked.splice(0)) reject(error)
  }
}

/** Tests run from the sources, threads from the build. */
function threadScript(): URL {
  const built = import.meta.url.endsWith('.ts') ? '../../../dist/pipelines/materialize/apply/' : './'
  return new URL(`${built}script-changes-thread.js`, import.meta.url)
}
