/** A thread that makes the rows which blocks make by themselves: a message brings their events, the answer has the rows. */
import { parentPort } from 'node:worker_threads'
import { fromBinary } from '@bufbuild/protobuf'
import { ChainEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { decodeBlock } from './decode.js'
import { OwnRows } from './own-rows.js'
import type { MadeRows, WantedRows } from './row-maker.js'
import { prepareBlock, ScriptBook, ScriptCache } from './script-book.js'

const port = parentPort
if (port === null) throw new Error('this is a thread, not a process')

let scripts: ScriptCache | undefined

port.on('message', ({ chain, bytes, lengths }: WantedRows) => {
  if (scripts?.chain !== chain) scripts = new ScriptCache(chain)
  const book = new ScriptBook(scripts)
  const rows = new OwnRows()
  let from = 0
  for (const length of lengths) {
    const { event } = fromBinary(ChainEventSchema, bytes.subarray(from, (from += length)))
    if (event.case !== 'blockConnected') throw new TypeError(`not a block: ${String(event.case)}`)
    rows.add(prepareBlock(decodeBlock(-1, event.value), book))
  }
  const made: MadeRows = Object.entries(rows.tables).map(([name, { length, bytes }]) => ({
    name,
    length,
    bytes,
  }))
  port.postMessage(
    made,
    made.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  )
})
