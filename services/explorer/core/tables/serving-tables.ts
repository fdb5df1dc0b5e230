import { Tables } from './tables.js'

/**
 * The tables of the database that serves at the moment. Tables made by `withSignal` stay with their database, so that each answer
 * reads from one database.
 */
export class ServingTables extends Tables {
  constructor(first: Tables) {
    super(first.runner, undefined, first)
  }

  /** Switches to the tables of another database. Call in the turn in which its state is adopted. */
  moveTo(other: Tables): void {
    this.take(other)
  }
}
