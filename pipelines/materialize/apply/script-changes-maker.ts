import { fromBinary } from '@bufbuild/protobuf'
import { ChainEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import type { Network } from '../../chain/networks.js'
import { WorkerThread } from '../../worker-thread.js'
import { PoisonEvent } from '../poison.js'
import { type ConnectedBlock, decodeBlock } from './decode.js'
import type { MadeRows } from './own-rows.js'
import { type ScriptChanges, scriptChangesOf } from './script-changes.js'

/** The record of an event that connects a block. */
export interface BlockEvent {
  readonly position: number
  readonly value: Uint8Array
}

/** A job of the thread. */
export interface BlockEvents {
  readonly network: Network
  readonly events: readonly BlockEvent[]
}

/** The results of blocks that do not depend on the chain below them. */
export interface Made {
  readonly rows: MadeRows
  readonly scriptChanges: ScriptChanges
}

/** Derives the results of blocks. @throws PoisonEvent for an invalid block; TypeError for an event without a block. */
export function madeFrom({ network, events }: BlockEvents): Made {
  const { own, scriptChanges } = scriptChangesOf(blocksOf(events, network), network)
  return { rows: own.made, scriptChanges }
}

/** Decodes the block of each event when it is needed: all at once would fill the memory of young objects. */
function* blocksOf(events: readonly BlockEvent[], network: Network): Generator<ConnectedBlock> {
  for (const { position, value } of events) {
    const { event } = fromBinary(ChainEventSchema, value)
    if (event.case !== 'blockConnected') throw new TypeError(`not a block: ${String(event.case)}`)
    yield decodeBlock(position, event.value, network)
  }
}

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

  /** Derives the results of blocks. @throws PoisonEvent for an event without its block; Error if the thread ends or has ended. */
  make(events: readonly BlockEvent[], network: Network): Promise<Made> {
    // Copied before the transfer: several events may share one buffer.
    const copies = events.map(({ position, value }) => ({ position, value: new Uint8Array(value) }))
    const made = this.#thread.run(
      { network, events: copies },
      copies.map(({ value }) => value.buffer),
    )
    // The caller handles the error when it awaits the result.
    made.catch(() => undefined)
    return made
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
