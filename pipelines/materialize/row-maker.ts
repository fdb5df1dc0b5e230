import { Worker } from 'node:worker_threads'
import type { Chain } from '../chain/network.js'
import type { OwnRows } from './own-rows.js'

/** What the thread is asked: events that connect blocks, one after the other in `bytes`. */
export interface WantedRows {
  readonly chain: Chain
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly lengths: readonly number[]
}

/** What it answers: for each table the number of its rows, and their bytes. */
export type MadeRows = readonly {
  readonly name: string
  readonly length: number
  readonly bytes: Uint8Array
}[]

interface Wanted {
  readonly rows: OwnRows
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * Has the rows that blocks make by themselves made on another thread, while this one folds what depends on the chain: about a
 * third of the work of a backfill.
 */
export class RowMaker {
  readonly #thread = new Worker(threadScript())
  /** In the order in which they were asked for, which is that of the answers. */
  readonly #wanted: Wanted[] = []

  constructor() {
    this.#thread.on('message', (made: MadeRows) => {
      const wanted = this.#wanted.shift()
      for (const { name, length, bytes } of made) wanted?.rows.tables[name]?.take(length, bytes)
      wanted?.resolve()
    })
    this.#thread.on('error', (error) => {
      this.#lose(error instanceof Error ? error : new Error(String(error)))
    })
    this.#thread.on('exit', (code) => {
      this.#lose(new Error(`the thread that makes rows ended with ${String(code)}`))
    })
  }

  /** Adds the rows of blocks to others. @param events of topic `chain`, each of which connects a block. @throws Error where the thread ends. */
  make(rows: OwnRows, chain: Chain, events: readonly Uint8Array[]): Promise<void> {
    const lengths = events.map(({ length }) => length)
    const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0))
    let at = 0
    for (const event of events) {
      bytes.set(event, at)
      at += event.length
    }
    const made = new Promise<void>((resolve, reject) => {
      this.#wanted.push({ rows, resolve, reject })
    })
    this.#thread.postMessage({ chain, bytes, lengths } satisfies WantedRows, [bytes.buffer])
    // Told by whoever waits for it.
    made.catch(() => undefined)
    return made
  }

  async close(): Promise<void> {
    await this.#thread.terminate()
  }

  #lose(error: Error): void {
    for (const { reject } of this.#wanted.splice(0)) reject(error)
  }
}

/** Tests run from the sources, threads from the build. */
function threadScript(): URL {
  const built = import.meta.url.endsWith('.ts') ? '../../dist/pipelines/materialize/' : './'
  return new URL(`${built}own-rows-thread.js`, import.meta.url)
}
