import type { ChainEvent, Resume } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { isBlock } from '../../chain/block.js'
import { hexOf } from '../../chain/hash.js'
import type { Network } from '../../chain/networks.js'
import { decodeChainEvent } from '../../events/chain-event.js'
import type { EventLog, LogRecord } from '../../log/port.js'
import { batchesBack, recordsOf } from '../../log/records.js'
import { LogLostError } from '../errors.js'

/** A block of our own chain: what is kept in memory of it. */
export interface Link {
  readonly height: number
  readonly hash: string
  readonly prevHash: string
  /** Total work, 64 hex digits. */
  readonly work: string
  /** Of the event that connected it. */
  readonly position: number
}

/** Where an epoch that repairs the log goes on. */
export interface Resumed {
  /** -1 for no block. */
  readonly height: number
  /** Empty for no block. */
  readonly hash: string
  /** Total work of what the index publishes meanwhile, 64 hex digits; empty for nothing. */
  readonly settledWork: string
}

/** An event of topic `chain` without its blocks' bytes. */
export type ChainNote = {
  readonly position: number
  readonly epoch: number
  readonly sequence: bigint
  readonly settled: boolean
  readonly generation: number
} & (
  | {
      readonly kind: 'epoch'
      readonly chain: string
      readonly genesisHash: string
      /** The block at which the chain goes on, where the epoch repairs the log. */
      readonly resume: Resumed | undefined
    }
  | { readonly kind: 'connect'; readonly link: Link }
  | { readonly kind: 'disconnect'; readonly height: number; readonly hash: string; readonly prevHash: string }
)

/** Records asked for at once: they hold whole blocks. */
const CHUNK = 32

/**
 * Undefined for a record that is no event that we know: no poller wrote it, so it changes nothing here. The materializer is the
 * one that stops for it.
 */
function decodeChain({ value }: LogRecord, network: Network | undefined): ChainEvent | undefined {
  try {
    const event = decodeChainEvent(value)
    const { case: kind, value: data } = event.event
    if (kind === undefined) return undefined
    if (kind !== 'blockConnected' || network === undefined) return event
    return isBlock(data, network) ? event : undefined
  } catch {
    return undefined
  }
}

export function noteOf(
  position: number,
  { epoch, sequence, settled, generation, event }: ChainEvent,
): ChainNote {
  const base = { position, epoch, sequence, settled, generation }
  switch (event.case) {
    case 'epochStarted': {
      const { chain, genesisHash, resume } = event.value
      return { ...base, kind: 'epoch', chain, genesisHash: hexOf(genesisHash), resume: resumedAt(resume) }
    }
    case 'blockConnected': {
      const { height, hash, prevHash, chainwork } = event.value
      const link = { height, hash: hexOf(hash), prevHash: hexOf(prevHash), work: hexOf(chainwork), position }
      return { ...base, kind: 'connect', link }
    }
    case 'blockDisconnected': {
      const { height, hash, prevHash } = event.value
      return { ...base, kind: 'disconnect', height, hash: hexOf(hash), prevHash: hexOf(prevHash) }
    }
    case undefined:
      throw new Error('an event without a case was let through')
  }
}

function resumedAt(resume: Resume | undefined): Resumed | undefined {
  if (resume === undefined) return undefined
  const height = Number(resume.height)
  return { height, hash: height < 0 ? '' : hexOf(resume.hash), settledWork: hexOf(resume.settledWork) }
}

/** The events from a position back to the first, newest first. */
export async function* backwards(log: EventLog, from: number, network: Network): AsyncGenerator<ChainNote> {
  const keep = (record: LogRecord): ChainNote | undefined => {
    const event = decodeChain(record, network)
    return event && noteOf(record.position, event)
  }
  for await (const notes of batchesBack(log, 'chain', from, keep, { atOnce: CHUNK })) yield* notes.reverse()
}

/** The events between two positions, both included. @param network undefined where blocks do not matter: they are not checked. */
export async function* forwards(
  log: EventLog,
  start: number,
  end: number,
  network: Network | undefined,
): AsyncGenerator<{ readonly position: number; readonly event: ChainEvent }> {
  for await (const record of recordsOf(log, 'chain', start, end, CHUNK)) {
    const event = decodeChain(record, network)
    if (event !== undefined) yield { position: record.position, event }
  }
}

/**
 * The block by its hash, from the newest event at or before `from` that connected it. Epochs need no look here: what a hash
 * names is the same in all of them.
 * @throws LogLostError where it is not there: the log has lost its middle.
 */
export async function findConnected(
  log: EventLog,
  hash: string,
  from: number,
  network: Network,
): Promise<Link> {
  for await (const note of backwards(log, from, network)) {
    if (note.kind === 'connect' && note.link.hash === hash) return note.link
  }
  throw new LogLostError(
    `block ${hash} is on the log's chain, but no event at or before position ${String(from)} connects it`,
  )
}
