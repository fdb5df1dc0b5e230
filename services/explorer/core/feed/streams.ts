import { BadArgument } from '../reads/read.js'
import type { ChannelDeclaration, Numbering } from './channel.js'
import { ADDRESS_CHANNEL, CHANNELS } from './channels.js'

type Declared = (typeof CHANNELS)[number]

/** The name of a channel. */
export type Channel = Declared['name']
/** The name of a channel whose events each explorer numbers. */
export type NumberedChannel = Exclude<Declared, { numbering: 'log' }>['name']
type WithRemovals = Extract<Declared, { historyWithRemovals: number }>['name']
/** The name of a sequence of numbers: a channel has one sequence, and a second one if clients can ask for its removals too. */
export type Stream = Channel | `${WithRemovals}-with-removals`
/** The name of a sequence that is numbered by the heads or the log. */
export type PositionedStream = Exclude<Stream, NumberedChannel>

/** A sequence of numbers. */
export interface StreamOf<S extends Stream = Stream> {
  readonly name: S
  readonly channel: Channel
  readonly history: number
  readonly numbering: Numbering
}

const declared: readonly (ChannelDeclaration & { readonly name: Channel })[] = CHANNELS

/** The sequences of all channels. */
export const STREAMS: readonly StreamOf[] = declared.flatMap(
  ({ name, history, historyWithRemovals, numbering }) => [
    { name, channel: name, history, numbering },
    ...(historyWithRemovals === undefined
      ? []
      : [{ name: streamOf(name, true), channel: name, history: historyWithRemovals, numbering }]),
  ],
)

/** The sequences that are numbered by the heads and the log: an event has one number in all processes. */
export const POSITIONED = STREAMS.filter(({ numbering }) => numbering === 'log').map(
  ({ name }) => name,
) as readonly PositionedStream[]

/** The sequences that each explorer numbers. */
export const NUMBERED = STREAMS.filter(
  ({ numbering }) => numbering !== 'log',
) as readonly (StreamOf<NumberedChannel> & { readonly numbering: Exclude<Numbering, 'log'> })[]

/** The names of the channels that have removals. */
export const REMOVABLE: readonly string[] = declared
  .filter(({ historyWithRemovals }) => historyWithRemovals !== undefined)
  .map(({ name }) => name)

/** Returns the sequences of a channel. */
export const streamsOf = (channel: Channel): readonly Stream[] =>
  STREAMS.filter((stream) => stream.channel === channel).map(({ name }) => name)

const isChannel = (name: unknown): name is Channel => declared.some((channel) => channel.name === name)

function streamOf(channel: Channel, withRemovals: boolean): Stream {
  return withRemovals ? (`${channel}-with-removals` as Stream) : channel
}

const BAD_SINCE = `since must be an integer from 0 to ${String(Number.MAX_SAFE_INTEGER)}`
const BAD_REMOVALS = `removals must be true or false, and true only with channel ${REMOVABLE.join(' or ')}`
const NAMES = declared.map(({ name }) => name).join(', ')
const BAD_CHANNEL = `channel must be one of ${NAMES}, or ${ADDRESS_CHANNEL} and an address`

/** Checks that a client may ask for the removals of a channel. @throws BadArgument. */
export function assertRemovals(channel: unknown, removals: unknown): asserts removals is boolean {
  if (typeof removals !== 'boolean' || (removals && !REMOVABLE.some((name) => name === channel)))
    throw new BadArgument(BAD_REMOVALS)
}

/** Returns the channel of a name. @throws BadArgument. */
export function requestedChannel(name: unknown): Channel {
  if (!isChannel(name)) throw new BadArgument(BAD_CHANNEL)
  return name
}

/** Returns the sequence of the channel that a client asks for, with or without removals. @throws BadArgument. */
export function requestedStream(channel: unknown, removals: unknown): Stream {
  const name = requestedChannel(channel)
  assertRemovals(name, removals)
  return streamOf(name, removals)
}

/** Returns the number of the last event that a client knows; undefined if it names none. @throws BadArgument. */
export function requestedSince(since: unknown): number | undefined {
  if (since === undefined || (Number.isSafeInteger(since) && Number(since) >= 0)) return since as undefined
  throw new BadArgument(BAD_SINCE)
}
