import { type Heartbeat, NodeEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { LogRecord } from './port.js'
import { messageIn } from './records.js'

/** Returns the last heartbeat among records of topic `node`. Skips other events and records that cannot be decoded. */
export function lastHeartbeat(records: readonly LogRecord[]): Heartbeat | undefined {
  for (const record of records.toReversed()) {
    const event = messageIn(NodeEventSchema, record)?.event
    if (event?.case === 'heartbeat') return event.value
  }
  return undefined
}
