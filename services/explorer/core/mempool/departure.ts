import { PoolLeft_Reason } from '../../../../proto/gen/headwater/events/v1/events_pb.js'
import type { DroppedTx } from './recent-drops.js'

/** The time and the reason of a departure from the mempool, as answers have them. */
interface Departure {
  readonly reason: 'replaced' | 'evicted' | 'expired' | 'unknown'
  readonly left: string
  readonly replaced_by: string | null
  readonly full_rbf: boolean | null
}

const REASONS: Readonly<Partial<Record<number, Departure['reason']>>> = {
  [PoolLeft_Reason.REPLACED]: 'replaced',
  [PoolLeft_Reason.EVICTED]: 'evicted',
  [PoolLeft_Reason.EXPIRED]: 'expired',
}

/** Returns when and why a transaction left the mempool. */
export function departureOf({ reason, leftAt, replacedBy, signalled }: DroppedTx): Departure {
  return {
    reason: REASONS[reason] ?? 'unknown',
    left: new Date(leftAt).toISOString(),
    replaced_by: replacedBy ?? null,
    full_rbf: replacedBy === undefined || signalled === undefined ? null : !signalled,
  }
}
