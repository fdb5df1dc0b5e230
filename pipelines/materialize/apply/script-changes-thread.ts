/** The thread of ScriptChangesMaker: a job contains the events of blocks, the reply their rows and script changes. */
import { fromBinary } from '@bufbuild/protobuf'
import { ChainEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { answerJobs } from '../../worker-thread.js'
import { decodeBlock } from './decode.js'
import { ScriptHashes } from './script-book.js'
import { scriptChangesOf } from './script-changes.js'
import type { BlockEvents, Made } from './script-changes-maker.js'

const hashes = new ScriptHashes()

answerJobs(make, ({ rows, scriptChanges }) =>
  [...Object.values<unknown>({ ...scriptChanges }), ...rows.map(({ bytes }) => bytes)]
    .filter((each) => ArrayBuffer.isView(each))
    .map(({ buffer }) => buffer as ArrayBuffer),
)

function make({ network, events }: BlockEvents): Made {
  const blocks = events.map(({ position, value }) => {
    const { event } = fromBinary(ChainEventSchema, value)
    if (event.case !== 'blockConnected') throw new TypeError(`not a block: ${String(event.case)}`)
    return decodeBlock(position, event.value, network)
  })
  const { own, scriptChanges } = scriptChangesOf(blocks, network, hashes)
  return { rows: own.made, scriptChanges }
}
