import { fromBinary } from '@bufbuild/protobuf'
import { type Heartbeat, NodeEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { LogRecord } from './port.js'

/** The last heartbeat among records of topic `node`; what is none, or cannot be decoded, is passed over. */
export function lastHeartbeat(records: readonly LogRecord[]): Heartbeat | undefined {
  for (let index = records.length - 1; index >= 0; index--) {
    const heartbeat = heartbeatIn(records[index]?.value)
    if (heartbeat !== undefined) return heartbeat
  }
  return undefined
}

function heartbeatIn(value: Uint8Array | undefined): Heartbeat | undefined {
  try {
    const { event } = fromBinary(NodeEventSchema, value ?? new Uint8Array())
    return event.case === 'heartbeat' ? event.value : undefined
  } catch {
    return undefined
  }
}
