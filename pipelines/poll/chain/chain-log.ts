import type { ChainEvent, Resume } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { isBlock } from '../../chain/block.js'
import { hexOf } from '../../chain/hash.js'
import type { Network } from '../../chain/networks.js'
import { decodeChainEvent } from '../../events/chain-event.js'
import type { EventLog, LogRecord } from '../../log/port.js'
import { batchesBack, recordsOf } from '../../log/records.js'
import { LogLostError } from '../errors.js'

/** A block of the log's chain, as it is kept in memory. */
export interface Link {
  readonly height: number
  readonly hash: string
  readonly prevHash: string
  /** Total work, 64 hex digits. */
  readonly work: string
  /** The position of the event that connected it. */
  readonly position: number
}

/** The block at which an epoch that repairs the log resumes. */
export interface Resumed {
  /** -1 for no block. */
  readonly height: number
  /** Empty for no block. */
  readonly hash: string
  /** Total work of the tip that the index publishes meanwhile, 64 hex digits; empty for none. */
  readonly settledWork: string
}

/** An event of topic `chain` without the bytes of its block. */
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
      /** The block at which the chain resumes; undefined if the epoch does not repair the log. */
      readonly resume: Resumed | undefined
    }
  | { readonly kind: 'connect'; readonly link: Link }
  | { readonly kind: 'disconnect'; readonly height: number; readonly hash: string; readonly prevHash: string }
)

/** The number of records read at once, which contain whole blocks. */
const CHUNK = 32

/**
 * Decodes an event of topic `chain`. Returns undefined for an unknown event: no poller wrote it, so it changes nothing here. The
 * materializer stops at it.
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

/** Returns an event without the bytes of its block. */
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
      throw new Error('the event has no case')
  }
}

function resumedAt(resume: Resume | undefined): Resumed | undefined {
  if (resume === undefined) return undefined
  const height = Number(resume.height)
  return { height, hash: height < 0 ? '' : hexOf(resume.hash), settledWork: hexOf(resume.settledWork) }
}

/** Reads the events from a position back to the first one, newest first. */
export async function* backwards(log: EventLog, from: number, network: Network): AsyncGenerator<ChainNote> {
  const keep = (record: LogRecord): ChainNote | undefined => {
    const event = decodeChain(record, network)
    return event && noteOf(record.position, event)
  }
  for await (const notes of batchesBack(log, 'chain', from, keep, { atOnce: CHUNK })) yield* notes.reverse()
}

/** Reads the events between two positions, both inclusive. @param network undefined to skip the check of blocks. */
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
 * Finds the newest event at or before `from` that connected a block. Ignores epochs, since a hash identifies the same block in
 * all of them.
 * @throws LogLostError if there is none: the log has lost events in between.
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
