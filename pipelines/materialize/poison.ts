import { coded } from '../errors.js'
import { PARTITION, type Topic } from '../log/port.js'

/** Thrown for an invalid event of the log: no event after it may be applied. */
export class PoisonEvent extends coded('HW_POISON_EVENT') {
  constructor(
    readonly topic: Extract<Topic, 'chain' | 'dead-letters'>,
    readonly position: number,
    readonly reason: string,
  ) {
    super(`topic ${topic}, partition ${String(PARTITION)}, offset ${String(position)}: ${reason}`)
  }
}

/** Thrown if the log lacks events that were indexed: it is another log, or it has lost its end or its beginning. */
export class LogShrank extends coded('HW_LOG_SHRANK') {
  constructor(
    message: string,
    /** Height of the block below the lowest block that the index needs and the log lacks; undefined if that is the index's tip. */
    readonly below?: number,
  ) {
    super(message)
  }
}
