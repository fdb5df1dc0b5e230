import type { Network } from '../../chain/networks.js'
import type { EventLog } from '../../log/port.js'
import { isAfter } from '../../log/written.js'
import {
  backwards,
  type ChainNote,
  findConnected,
  forwards,
  type Link,
  noteOf,
  type Resumed,
} from './chain-log.js'
import { NO_HASH } from './verified-block.js'

/** The maximum number of events per append, which is also the most that a poller can write after it was superseded. */
export const MAX_BATCH = 64

/** The state at the end of topic `chain`. A poller has no other. */
export interface LogEnd {
  /** The position of the last record, -1 for an empty log. */
  readonly position: number
  /** The newest epoch, 0 for none. */
  readonly epoch: number
  /** The generation of the events of that epoch; see `positionOf`. */
  readonly generation: number
  readonly tip: Link | undefined
  /** True if the state may be published. */
  readonly settled: boolean
  /** Total work of the last tip that could be published, 64 hex digits; empty for none. */
  readonly settledWork: string
  /** The chain of the log, with an empty name if that is lost; undefined for an empty log. */
  readonly identity: { readonly chain: string; readonly genesisHash: string } | undefined
}

const EMPTY: LogEnd = {
  position: -1,
  epoch: 0,
  generation: 0,
  tip: undefined,
  settled: true,
  settledWork: '',
  identity: undefined,
}

const NO_CHANGE = { change: undefined, settledChange: undefined }

interface Fold {
  epoch: number
  generation: number
  change: Change | undefined
  settledChange: Change | undefined
  /** Total work of the tip that the index publishes after a repair of the log, until a later state is settled. */
  settledWork: string | undefined
}

/** An event that changes the tip. An epoch that resumes at a block is one. */
type Change = Exclude<ChainNote, { kind: 'epoch' }> | Resuming
type Resuming = Omit<Extract<ChainNote, { kind: 'epoch' }>, 'resume'> & { readonly resume: Resumed }

/** Reads the end of topic `chain`, as far back as needed. @throws LogLostError if the log lacks blocks that its end builds on. */
export async function readLogEnd(log: EventLog, network: Network): Promise<LogEnd> {
  const position = await log.last('chain')
  if (position < 0) return EMPTY
  const fold = await foldBack(log, position, network)
  const { change, settledChange } = fold
  return {
    ...endOf(position, fold),
    tip: await tipAfter(log, change, network),
    settled: change === undefined || change.settled,
    settledWork: fold.settledWork ?? (await tipAfter(log, settledChange, network))?.work ?? '',
    identity: await identityOf(log, network),
  }
}

/** Reads the end of topic `chain` without its tip: the log may lack blocks that its end builds on. */
export async function readLogPosition(log: EventLog, network: Network): Promise<LogEnd> {
  const position = await log.last('chain')
  if (position < 0) return EMPTY
  return {
    ...EMPTY,
    ...endOf(position, await foldBack(log, position, network)),
    identity: await identityOf(log, network),
  }
}

function endOf(
  position: number,
  { epoch, generation }: Fold,
): Pick<LogEnd, 'position' | 'epoch' | 'generation'> {
  return { position, epoch, generation }
}

/** Reads back until the last change, and the last one whose state could be published, are certain. */
async function foldBack(log: EventLog, position: number, network: Network): Promise<Fold> {
  const newestFirst: ChainNote[] = []
  let checkAt = 2 * MAX_BATCH
  for await (const note of backwards(log, position, network)) {
    newestFirst.push(note)
    if (newestFirst.length < checkAt) continue
    const fold = foldForward(newestFirst)
    // Events within a batch of the oldest event read may be retries, or events of a poller that was superseded further back.
    const certainFrom = note.position + MAX_BATCH
    const settledAt = fold.settledWork === undefined ? fold.settledChange : fold.change
    if ((settledAt?.position ?? -1) >= certainFrom) return fold
    checkAt *= 4
  }
  return foldForward(newestFirst)
}

/**
 * Applies events as every consumer does (see `ChainReader`): drops duplicates, events of older epochs, and events that do not
 * follow their predecessor; an epoch that resumes supersedes the events after its block.
 */
function foldForward(newestFirst: readonly ChainNote[]): Fold {
  const fold: Fold = { epoch: 0, generation: 0, settledWork: undefined, ...NO_CHANGE }
  let sequence = -1n
  for (let i = newestFirst.length - 1; i >= 0; i--) {
    const note = newestFirst[i]
    if (note === undefined || !isAfter(note, { epoch: fold.epoch, sequence })) continue
    fold.epoch = note.epoch
    sequence = note.sequence
    if (note.kind === 'epoch') {
      fold.generation = note.generation
      if (note.resume === undefined) {
        if (note.settled) settle(fold)
        continue
      }
      fold.change = { ...note, resume: note.resume }
      fold.settledWork = note.resume.settledWork
      continue
    }
    if (!follows(fold.change, note)) continue
    fold.generation = note.generation
    fold.change = note
    if (!note.settled) continue
    settle(fold)
  }
  return fold
}

/** Notes that the state after the last change may be published. An epoch may mark it later than the change itself. */
function settle(fold: Fold): void {
  if (fold.change === undefined) return
  fold.change = { ...fold.change, settled: true }
  fold.settledChange = fold.change
  fold.settledWork = undefined
}

/**
 * Returns whether an event follows the last change. Such events may be in the log: the materializer sends them to the dead-letter
 * topic if the operator allows it.
 */
function follows(before: Change | undefined, note: Exclude<Change, Resuming>): boolean {
  if (before === undefined) return true
  const hash = note.kind === 'connect' ? note.link.prevHash : note.hash
  return hash === (tipHashAfter(before) || NO_HASH)
}

/** Returns the hash of the tip after a change; empty for none. */
function tipHashAfter(change: Change): string {
  if (change.kind === 'connect') return change.link.hash
  return change.kind === 'disconnect' ? change.prevHash : change.resume.hash
}

async function tipAfter(
  log: EventLog,
  change: Change | undefined,
  network: Network,
): Promise<Link | undefined> {
  if (change === undefined) return undefined
  if (change.kind === 'connect') return change.link
  const height = change.kind === 'disconnect' ? change.height - 1 : change.resume.height
  return height < 0 ? undefined : findConnected(log, tipHashAfter(change), change.position, network)
}

/** Reads the chain from the first epoch that the log still contains, or from block 0 alone if that comes first. */
async function identityOf(log: EventLog, network: Network): Promise<LogEnd['identity']> {
  const [first, last] = await Promise.all([log.first('chain'), log.last('chain')])
  for await (const { position, event } of forwards(log, first, last, network)) {
    const note = noteOf(position, event)
    if (note.kind === 'epoch') return { chain: note.chain, genesisHash: note.genesisHash }
    if (note.kind === 'connect' && note.link.height === 0) return { chain: '', genesisHash: note.link.hash }
  }
  return undefined
}
