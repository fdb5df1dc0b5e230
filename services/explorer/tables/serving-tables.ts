import { Tables } from './tables.js'

/**
 * The tables of the database that serves, whichever it is: what is asked of them goes to the one of that moment. Those that
 * `withSignal` made stay with theirs, so that an answer has one database for its whole life.
 */
export class ServingTables extends Tables {
  constructor(first: Tables) {
    super(first.requested, undefined, first)
  }

  /** Call in the turn in which a state of the other database is adopted. */
  moveTo(other: Tables): void {
    this.take(other)
  }
}
