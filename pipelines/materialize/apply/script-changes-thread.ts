/** A thread that makes what blocks make by themselves: a message brings their events, the answer has rows and moves. */
import { parentPort } from 'node:worker_threads'
import { fromBinary } from '@bufbuild/protobuf'
import { ChainEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { decodeBlock } from './decode.js'
import { movesOf } from './script-changes.js'
import type { Answer, Made, Wanted } from './script-changes-maker.js'
import { PoisonEvent } from '../poison.js'
import { ScriptHashes } from './script-book.js'

const port = parentPort
if (port === null) throw new Error('this is a thread, not a process')

const hashes = new ScriptHashes()

port.on('message', (wanted: Wanted) => {
  try {
    const made = make(wanted)
    const { touchEnds, touched, received, sent, unspent, showsDilithium, scripts, scriptEnds } = made.moves
    const buffers = [touchEnds, touched, received, sent, unspent, showsDilithium, scripts, scriptEnds]
    const rows = made.rows.map(({ bytes }) => bytes)
    port.postMessage(
      made,
      [...buffers, ...rows].map(({ buffer }) => buffer as ArrayBuffer),
    )
  } catch (error) {
    if (!(error instanceof PoisonEvent)) throw error
    port.postMessage({ poison: { position: error.position, message: error.message } } satisfies Answer)
  }
})

function make({ chain, bytes, ends, positions }: Wanted): Made {
  const blocks = positions.map((position, index) => {
    const { event } = fromBinary(ChainEventSchema, bytes.subarray(ends[index - 1] ?? 0, ends[index]))
    if (event.case !== 'blockConnected') throw new TypeError(`not a block: ${String(event.case)}`)
    return decodeBlock(position, event.value)
  })
  const { own, moves } = movesOf(blocks, chain, hashes)
  return { rows: own.made, moves }
}
