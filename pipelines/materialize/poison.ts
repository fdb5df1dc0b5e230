import { coded } from '../errors.js'
import { PARTITION, type Topic } from '../log/port.js'

/** An event that is wrong at its right position: nothing after it may be folded. */
export class PoisonEvent extends coded('HW_POISON_EVENT') {
  constructor(
    readonly topic: Extract<Topic, 'chain' | 'dead-letters'>,
    readonly position: number,
    readonly reason: string,
  ) {
    super(`topic ${topic}, partition ${String(PARTITION)}, offset ${String(position)}: ${reason}`)
  }
}

/** The log does not hold what was indexed: it is not the log that was indexed, or it lost its end or its beginning. */
export class LogShrank extends coded('HW_LOG_SHRANK') {
  constructor(
    message: string,
    /** Height of the highest block below those that the log lacks and the index needs; undefined where that is its tip. */
    readonly below?: number,
  ) {
    super(message)
  }
}
