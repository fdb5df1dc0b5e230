import type { EventLog } from '../log/port.js'
import type { ChainView } from '../tables/chain-view.js'
import { type ConnectedBlock, decodeBlock, decodeEvent, hexOf } from './decode.js'

/** Records read at once on the way back. */
const CHUNK = 16

/** The last blocks of a head's chain out of the log, lowest first: those above its final height, `most` of them at the most. */
export async function lastBlocks(log: EventLog, view: ChainView, most: number): Promise<ConnectedBlock[]> {
  const found: ConnectedBlock[] = []
  let wanted = view.head.tipHash
  for (let end = view.head.position; end >= 0 && found.length < most; end -= CHUNK) {
    const start = Math.max(0, end - CHUNK + 1)
    const records = (await log.read('chain', start, end - start + 1)).filter(
      ({ position }) => position <= end,
    )
    for (const record of records.reverse()) {
      const { event } = decodeEvent(record)
      if (event.case !== 'blockConnected' || hexOf(event.value.hash) !== wanted || found.length >= most)
        continue
      if (view.hashAt(event.value.height) !== wanted) return found.reverse()
      found.push(decodeBlock(record.position, event.value))
      wanted = hexOf(event.value.prevHash)
    }
  }
  return found.reverse()
}
