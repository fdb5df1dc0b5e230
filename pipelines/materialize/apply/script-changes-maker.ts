import type { Network } from '../../chain/networks.js'
import { WorkerThread } from '../../worker-thread.js'
import { PoisonEvent } from '../poison.js'
import type { MadeRows } from './own-rows.js'
import type { ScriptChanges } from './script-changes.js'

/** An event that connects a block, as the log has it. */
export interface BlockEvent {
  readonly position: number
  readonly value: Uint8Array
}

/** What the thread is given. */
export interface BlockEvents {
  readonly network: Network
  readonly events: readonly BlockEvent[]
}

/** What blocks make by themselves. */
export interface Made {
  readonly rows: MadeRows
  readonly scriptChanges: ScriptChanges
}

/**
 * Has what blocks make by themselves made on another thread, while this one applies what depends on the chain below them: each is
 * about half of the work of a backfill.
 */
export class ScriptChangesMaker {
  readonly #thread = new WorkerThread<BlockEvents, Made>(
    'pipelines/materialize/apply/script-changes-thread',
    {
      errors: [PoisonEvent],
    },
  )

  /** @throws PoisonEvent where an event does not hold its block, Error where the thread ends or has ended. */
  make(events: readonly BlockEvent[], network: Network): Promise<Made> {
    // Copies: the log may have read the events into one buffer.
    const copies = events.map(({ position, value }) => ({ position, value: new Uint8Array(value) }))
    const made = this.#thread.run(
      { network, events: copies },
      copies.map(({ value }) => value.buffer),
    )
    // Handled by whoever awaits it.
    made.catch(() => undefined)
    return made
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
