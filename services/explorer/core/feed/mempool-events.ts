import type { Static } from '@sinclair/typebox'
import { PoolLeft_Reason } from '../../../../proto/gen/headwater/events/v1/events_pb.js'
import type { MempoolDelta, MempoolRemoval } from '../../../../pipelines/mempool/mempool-events.js'
import type { MempoolEvent } from '../reads/shapes.js'
import type { Feed } from './feed.js'

type Event = Static<typeof MempoolEvent>
type Removal = NonNullable<Event['removed']>
type Tx = Pick<MempoolRemoval, 'txid' | 'fee' | 'vsize'>

/**
 * Publishes a change of the mempool. Its events are numbered twice, by the counts in the log: what enters for all clients, and what
 * enters or leaves for those that want both.
 * @param entered the transactions of the change that enter.
 */
export function publishDelta(
  feed: Feed,
  { left, passed, enteredBefore, leftBefore }: MempoolDelta,
  entered: readonly Tx[],
): void {
  const arrivals = [...passed, ...entered].map(eventOf)
  for (const [index, event] of arrivals.entries()) feed.publish('mempool', event, enteredBefore + index + 1)
  const all = [
    ...left.map((tx): Event => ({ ...eventOf(tx), removed: removalOf(tx) })),
    ...passed.flatMap((tx): Event[] => {
      const removed = confirmedBy(tx.block, tx.blockHeight)
      return [eventOf(tx), { ...eventOf(tx), removed }]
    }),
    ...entered.map(eventOf),
  ]
  const before = enteredBefore + leftBefore
  for (const [index, event] of all.entries()) feed.publish('mempool-with-removals', event, before + index + 1)
}

const eventOf = ({ txid, fee, vsize }: Tx): Event => ({ txid, fee: fee.toString(), vsize })

const removal = (reason: Removal['reason'], facts: Partial<Removal> = {}): Removal => ({
  reason,
  block_hash: null,
  block_height: null,
  replaced_by: null,
  ...facts,
})

const confirmedBy = (hash: string, height: number | undefined): Removal =>
  removal('confirmed', { block_hash: hash, block_height: height ?? null })

function removalOf({ reason, by, blockHeight }: MempoolRemoval): Removal {
  switch (reason) {
    case PoolLeft_Reason.CONFIRMED:
      return confirmedBy(by, blockHeight)
    case PoolLeft_Reason.REPLACED:
      return removal('replaced', { replaced_by: by })
    case PoolLeft_Reason.EVICTED:
      return removal('evicted')
    case PoolLeft_Reason.EXPIRED:
      return removal('expired')
    default:
      return removal('unknown')
  }
}
