import type { Network } from '../../chain/networks.js'
import { WorkerThread } from '../../worker-thread.js'
import { PoisonEvent } from '../poison.js'
import type { BlockEvent, BlockEvents, Made } from './script-changes.js'

/**
 * Derives on another thread the results of blocks that do not depend on the chain below them, while this thread applies what
 * does: each is about half of the work of a backfill.
 */
export class ScriptChangesMaker {
  readonly #thread = new WorkerThread<BlockEvents, Made>(
    'pipelines/materialize/apply/script-changes-thread',
    {
      errors: [PoisonEvent],
    },
  )

  /** Derives the results of blocks. @param hasBodies see `OwnRowsOptions`. @throws PoisonEvent for an event without its block; Error if the thread ends or has ended. */
  make(events: readonly BlockEvent[], network: Network, hasBodies = true): Promise<Made> {
    // Copied before the transfer: several events may share one buffer.
    const copies = events.map(({ position, value }) => ({ position, value: new Uint8Array(value) }))
    const result = this.#thread.run(
      { network, events: copies, hasBodies },
      copies.map(({ value }) => value.buffer),
    )
    // The caller handles the error when it awaits the result.
    result.catch(() => undefined)
    return result
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
