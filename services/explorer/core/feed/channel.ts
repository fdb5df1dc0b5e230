import type { TObject } from '@sinclair/typebox'

/** The parts of a channel's declaration that describe it. */
export interface ChannelText {
  readonly name: string
  /** When an event is sent, for the documentation of the API. */
  readonly about: string
  /** The schema of an event's data. */
  readonly event: TObject
}

/**
 * The origin of the numbers of a channel's events. `log`: the heads or the log, so that the numbers are equal on every explorer and
 * continue after its restart; `publish` receives them. Otherwise each explorer numbers the events that `announce` receives, all of
 * its processes together, from the time of its start on.
 */
export type Numbering = 'log' | Once | Paced

/** An event is published once, however many processes announce it. */
export interface Once {
  /** The number of last events whose identifiers are remembered. */
  readonly remembered: number
}

/** An event is a state: one is published after each event of another channel, and otherwise at most one in an interval. */
export interface Paced {
  /** A channel that is numbered by the log. */
  readonly after: string
  readonly everyMs: number
}

/** The declaration of a channel. All transports, the numbers of its events, and their documentation are derived from it. */
export interface ChannelDeclaration extends ChannelText {
  readonly numbering: Numbering
  /** The number of past events that can be sent again. */
  readonly history: number
  /**
   * The number of past events that can be sent again to clients that ask for `removals`: what leaves as well as what enters, in one
   * sequence of numbers of its own. Not set: the channel has no removals.
   */
  readonly historyWithRemovals?: number
}

/** Declares a channel. Its name and its numbering stay known to the compiler. */
export const declareChannel = <const D extends ChannelDeclaration>(channel: D): D => channel
