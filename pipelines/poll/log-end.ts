import type { EventLog } from '../log/port.js'
import { backwards, findConnected, forwards, noteOf, type ChainNote, type Link } from './chain-log.js'

/** The most events that one append writes, and so the most that a poller can write after it has been superseded. */
export const MAX_BATCH = 64

/** Where the log's topic `chain` stands: all that a poller remembers. */
export interface LogEnd {
  /** Of the last record, -1 for an empty log. */
  readonly position: number
  /** The newest that has started, 0 for none. */
  readonly epoch: number
  readonly tip: Link | undefined
  /** Whether the state as it stands may be shown. */
  readonly settled: boolean
  /** Total work of the last tip that could be shown, 64 hex digits; empty for none. */
  readonly settledWork: string
  /** Which chain the log holds; undefined for an empty log. */
  readonly identity: { readonly chain: string; readonly genesisHash: string } | undefined
}

const EMPTY: LogEnd = {
  position: -1,
  epoch: 0,
  tip: undefined,
  settled: true,
  settledWork: '',
  identity: undefined,
}

interface Fold {
  epoch: number
  change: Change | undefined
  settledChange: Change | undefined
}

type Change = Exclude<ChainNote, { kind: 'epoch' }>

/** Reads the end of topic `chain`, as far back as needed. @throws where the log contradicts itself. */
export async function readLogEnd(log: EventLog): Promise<LogEnd> {
  const position = await log.last('chain')
  if (position < 0) return EMPTY
  const fold = await foldBack(log, position)
  const { epoch, change, settledChange } = fold
  return {
    position,
    epoch,
    tip: await tipAfter(log, change),
    settled: change === undefined || change.settled,
    settledWork: (await tipAfter(log, settledChange))?.work ?? '',
    identity: await identityOf(log),
  }
}

/** Reads back until the last change and the last one that could be shown are certain. */
async function foldBack(log: EventLog, position: number): Promise<Fold> {
  const newestFirst: ChainNote[] = []
  let lookAt = 2 * MAX_BATCH
  for await (const note of backwards(log, position)) {
    newestFirst.push(note)
    if (newestFirst.length < lookAt) continue
    const fold = foldForward(newestFirst)
    // What stands within a batch of the oldest one read may be of a poller that was superseded still further back, or a retry.
    const certainFrom = note.position + MAX_BATCH
    if ((fold.settledChange?.position ?? -1) >= certainFrom) return fold
    lookAt *= 4
  }
  return foldForward(newestFirst)
}

/**
 * As every consumer folds: events of an epoch older than the newest seen are dropped, and those that came before or do not
 * follow.
 */
function foldForward(newestFirst: readonly ChainNote[]): Fold {
  const fold: Fold = { epoch: 0, change: undefined, settledChange: undefined }
  let sequence = -1n
  for (let i = newestFirst.length - 1; i >= 0; i--) {
    const note = newestFirst[i]
    if (note === undefined || note.epoch < fold.epoch) continue
    if (note.epoch === fold.epoch && note.sequence <= sequence) continue
    fold.epoch = note.epoch
    sequence = note.sequence
    if (note.kind === 'epoch' || !follows(fold.change, note)) continue
    fold.change = note
    if (note.settled) fold.settledChange = note
  }
  return fold
}

/** The materializer lays what does not follow aside, when it is told to go on; it must not mislead the poller either. */
function follows(before: Change | undefined, note: Change): boolean {
  if (before === undefined) return true
  const tip = before.kind === 'connect' ? before.link.hash : before.prevHash
  return (note.kind === 'connect' ? note.link.prevHash : note.hash) === tip
}

async function tipAfter(log: EventLog, change: Change | undefined): Promise<Link | undefined> {
  if (change === undefined) return undefined
  if (change.kind === 'connect') return change.link
  return change.height === 0 ? undefined : findConnected(log, change.prevHash, change.position)
}

async function identityOf(log: EventLog): Promise<LogEnd['identity']> {
  for await (const { position, event } of forwards(log, 0, 0)) {
    const note = noteOf(position, event)
    if (note.kind === 'epoch') return { chain: note.chain, genesisHash: note.genesisHash }
  }
  throw new Error(
    'the log does not begin with the start of an epoch: it is not a log of this poller, or has lost its beginning',
  )
}
