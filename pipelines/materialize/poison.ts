import { PARTITION, type Topic } from '../log/port.js'

/** An event that is wrong at its right position: nothing after it may be folded. */
export class PoisonEvent extends Error {
  override readonly name = 'PoisonEvent'
  constructor(
    readonly topic: Extract<Topic, 'chain' | 'dead-letters'>,
    readonly position: number,
    readonly reason: string,
  ) {
    super(`topic ${topic}, partition ${String(PARTITION)}, offset ${String(position)}: ${reason}`)
  }
}

/** The log ends before the event that the newest head was made of: it is not the log that was indexed, or it lost its end. */
export class LogShrank extends Error {
  override readonly name = 'LogShrank'
}
