import type {
  BlockConnected,
  BlockDisconnected,
  Resume,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { BlockId } from '../chain/block.js'
import { hexOf } from '../chain/hash.js'
import { type Network, networkNamed } from '../chain/networks.js'
import { decodeChainEvent, isChecked } from '../events/chain-event.js'
import { offsetOf, positionOf } from '../events/positions.js'
import type { EventLog, LogRecord } from '../log/port.js'
import { batchesBack } from '../log/records.js'
import { isAfter, type Written } from '../log/written.js'
import type { Head } from '../tables/head.js'
import { decodeBlock, decodeEvent } from './apply/decode.js'
import { chainOf, assertConnects, assertDisconnects, type PositionedEvent } from './events.js'
import { LogShrank, PoisonEvent } from './poison.js'

/** Where a reader begins. */
export interface ReaderStart {
  readonly log: EventLog
  /** The state that was applied last; undefined for none. A log that replaces a lost one must have its final block, too. */
  readonly head:
    | Pick<Head, 'position' | 'epoch' | 'sequence' | 'chain' | 'tipHeight' | 'tipHash' | 'finalHeight'>
    | undefined
  /** Positions of topic `chain` in the dead-letter topic: skipped. */
  readonly deadLettered: ReadonlySet<number>
  /** Returns the hash of a block of the chain that is in the tables; `most` is the highest height that may be asked for soon. */
  readonly hashAt: (height: number, most: number) => Promise<string | undefined>
  /** Whether blocks are decoded here; those of events without a checksum always are. */
  readonly decodes: boolean
  /** Set where the log does not hold the event that was applied last. */
  readonly lost?: LogShrank | undefined
}

/** Hashes kept in memory: of more blocks than are ever read ahead of what is in the tables. */
const KEPT = 8192

/**
 * Reads the valid events of topic `chain` in order: the one rule, for all who apply them, of what is superseded (see decision
 * 23). At damage it goes on at the newest epoch behind it that resumes at a block of the chain as it is there. Events that repeat
 * blocks of the chain after a resume are left out; where another block follows, the blocks above the fork are disconnected first.
 */
export class ChainReader {
  readonly #start: ReaderStart
  /** Of the last event that was applied before the start, with its generation. */
  readonly #position: number
  /** The last position that was read. */
  #cursor: number
  #lastId: Written
  #network: Network | undefined
  #genesis = ''
  #tip: BlockId
  /** Hashes by height above `#low`: up to there no event that is not in the tables yet has changed the chain. */
  readonly #hashes = new Map<number, string>()
  #low: number
  /** While a resumed epoch repeats blocks of the chain: the height of the last one that it repeated. */
  #repeated: number | undefined
  /** Total work of what the index published for which that epoch was written. */
  #settledWork = ''
  #damage: PoisonEvent | LogShrank | undefined
  /** Up to here no epoch resumes behind the damage. */
  #seen = -1

  constructor(start: ReaderStart) {
    this.#start = start
    const { position = -1, epoch = 0, sequence = -1n, chain, tipHeight = -1, tipHash = '' } = start.head ?? {}
    this.#position = position
    this.#cursor = offsetOf(position)
    this.#lastId = { epoch, sequence }
    this.#network = chain === undefined ? undefined : networkNamed(chain)
    this.#tip = { height: tipHeight, hash: tipHash }
    this.#low = tipHeight
    this.#damage = start.lost
    if (start.lost?.below !== undefined) this.#seen = this.#cursor
  }

  /** The position of topic `chain` whose event is read next, or may end the damage. */
  get next(): number {
    return (this.#damage === undefined ? this.#cursor : this.#seen) + 1
  }

  /** Returns whether it has read more than a log holds that ends at a position. */
  isBeyond(last: number): boolean {
    return this.#damage === undefined && this.#cursor > last
  }

  /** What it stands at, or is about to: call `take` again. */
  get damage(): PoisonEvent | LogShrank | undefined {
    return this.#damage
  }

  /** How far the log was read: the last valid event, -1 where the log was lost; and the last one that was looked at. */
  get read(): { readonly good: number; readonly seen: number; readonly epoch: number } {
    const good = this.#damage instanceof LogShrank ? -1 : this.#cursor
    return { good, seen: this.#seen, epoch: this.#lastId.epoch }
  }

  /** Returns the hash of a block of the chain as it is after the events that were returned; undefined above its tip. */
  async hashAt(height: number): Promise<string | undefined> {
    if (height < 0 || height > this.#tip.height) return undefined
    return height > this.#low ? this.#hashes.get(height) : this.#start.hashAt(height, this.#low)
  }

  /**
   * Reads the next events.
   * @returns undefined where there are none yet; an empty list where those that were read change nothing.
   * @throws PoisonEvent, LogShrank at damage that no epoch has repaired yet; call it again.
   */
  async take(limit: number, maxBytes: number): Promise<PositionedEvent[] | undefined> {
    if (this.#damage !== undefined) await this.#resume(this.#damage)
    const records = await this.#start.log.read('chain', this.#cursor + 1, limit, maxBytes)
    const [first] = records
    if (first === undefined) return undefined
    const events: PositionedEvent[] = []
    try {
      if (first.position !== this.#cursor + 1) throw this.#gone(first.position)
      for (const record of records) {
        events.push(...(await this.#takeOne(record)))
        this.#cursor = record.position
      }
    } catch (error) {
      if (!(error instanceof PoisonEvent)) throw error
      this.#damage = error
      this.#seen = error.position
    }
    return events
  }

  #gone(first: number): PoisonEvent {
    const last = String(first - 1)
    return new PoisonEvent(
      'chain',
      this.#cursor + 1,
      `the log no longer contains the events up to ${last} any more`,
    )
  }

  /** @throws PoisonEvent for an event that does not follow. */
  async #takeOne(record: LogRecord): Promise<PositionedEvent[]> {
    const { position } = record
    if (this.#start.deadLettered.has(position)) return []
    const event = decodeEvent(record)
    if (!isAfter(event, this.#lastId)) return []
    const positioned: PositionedEvent = { ...record, event }
    const taken = await this.#valid(positioned)
    this.#lastId = { epoch: event.epoch, sequence: event.sequence }
    return taken
  }

  async #valid(positioned: PositionedEvent): Promise<PositionedEvent[]> {
    const { position, event } = positioned
    switch (event.event.case) {
      case 'epochStarted': {
        const { chain, genesisHash, resume } = event.event.value
        const network = chainOf(position, chain, this.#network)
        await this.#assertGenesis(position, hexOf(genesisHash))
        if (resume !== undefined) await this.#rewind(position, resume)
        this.#network = network
        // A part of the chain is nothing to publish: another index, which is not as far, may have asked for this epoch.
        return [
          this.#repeated === undefined ? positioned : { ...positioned, event: { ...event, settled: false } },
        ]
      }
      case 'blockConnected':
        if (this.#network === undefined) throw new PoisonEvent('chain', position, 'a block before any epoch')
        return this.#connect(positioned, event.event.value, this.#network)
      case 'blockDisconnected':
        return this.#disconnect(positioned, event.event.value)
      case undefined:
        throw new PoisonEvent('chain', position, 'contains no event that this version knows')
    }
  }

  /** @throws PoisonEvent where an epoch is of a chain with another block 0. */
  async #assertGenesis(position: number, genesis: string): Promise<void> {
    const own = await this.hashAt(0)
    if (own !== undefined && genesis !== '' && own !== genesis)
      throw new PoisonEvent(
        'chain',
        position,
        `is an epoch of a chain with block 0 ${genesis}, expected ${own}`,
      )
    this.#genesis = genesis
  }

  async #rewind(position: number, resume: Resume): Promise<void> {
    if (!(await this.#has(resume))) {
      const at = `block ${hexOf(resume.hash)} at ${String(resume.height)}`
      throw new PoisonEvent('chain', position, `resumes at ${at}, which is not part of the chain before it`)
    }
    const height = Number(resume.height)
    this.#repeated = height < this.#tip.height ? height : undefined
    this.#settledWork = hexOf(resume.settledWork)
  }

  async #has({ height, hash }: Resume): Promise<boolean> {
    return height < 0n || (await this.hashAt(Number(height))) === hexOf(hash)
  }

  async #connect(
    positioned: PositionedEvent,
    block: BlockConnected,
    network: Network,
  ): Promise<PositionedEvent[]> {
    const { position } = positioned
    const hash = hexOf(block.hash)
    const at = await this.#at()
    assertConnects(position, block, at)
    if (block.height === 0 && this.#genesis !== '' && hash !== this.#genesis)
      throw new PoisonEvent(
        'chain',
        position,
        `block 0 is ${hash}, that of the epoch's chain ${this.#genesis}`,
      )
    if (this.#repeated !== undefined && (await this.hashAt(block.height)) === hash) {
      this.#repeated = block.height < this.#tip.height ? block.height : undefined
      if (!positioned.event.settled) return []
      // One that is settled by its work is more than the index had for which the epoch was written, and not more than this one has.
      if (this.#repeated !== undefined && hexOf(block.chainwork) > this.#settledWork) return []
      return this.#unrepeat(positioned, true)
    }
    const decodes = this.#start.decodes || !isChecked(positioned.event)
    const decoded = decodes ? { ...positioned, block: decodeBlock(position, block, network) } : positioned
    const gone = await this.#unrepeat(positioned, false)
    this.#raise(block.height, hash)
    return [...gone, decoded]
  }

  async #disconnect(positioned: PositionedEvent, block: BlockDisconnected): Promise<PositionedEvent[]> {
    const at = await this.#at()
    assertDisconnects(positioned.position, block, at)
    if (this.#repeated !== undefined) {
      this.#repeated = at.height - 1
      return positioned.event.settled ? this.#unrepeat(positioned, true) : []
    }
    this.#lower(hexOf(block.prevHash))
    return [positioned]
  }

  /** The block that the next event has to join. */
  async #at(): Promise<BlockId> {
    if (this.#repeated === undefined) return this.#tip
    return { height: this.#repeated, hash: (await this.hashAt(this.#repeated)) ?? '' }
  }

  /**
   * Ends the repetition of blocks: those of the chain that were not repeated are disconnected.
   * @param settled whether the state after them may be published; then there is an event for it also where none is disconnected.
   */
  async #unrepeat(cause: PositionedEvent, settled: boolean): Promise<PositionedEvent[]> {
    const { epoch, sequence, generation } = cause.event
    const to = this.#repeated ?? this.#tip.height
    this.#mustKeepFinal(cause.position, to)
    this.#repeated = undefined
    const gone: PositionedEvent[] = []
    const put = (event: PositionedEvent['event']['event'], isLast: boolean): void => {
      const fields = { epoch, sequence, generation, settled: isLast && settled, event }
      gone.push({ ...cause, event: { ...cause.event, ...fields } })
    }
    while (this.#tip.height > to) {
      const { height, hash } = this.#tip
      const prevHash = (await this.hashAt(height - 1)) ?? '00'.repeat(32)
      const value = { height, hash: Buffer.from(hash, 'hex'), prevHash: Buffer.from(prevHash, 'hex') }
      this.#lower(prevHash)
      const fields = { ...value, $typeName: 'headwater.events.v1.BlockDisconnected' as const }
      put({ case: 'blockDisconnected', value: fields }, this.#tip.height === to)
    }
    if (settled && gone.length === 0 && cause.event.event.case !== 'epochStarted')
      put({ case: undefined }, true)
    return gone
  }

  /** @throws PoisonEvent where what replaces a lost log leads to another chain: it may have been repaired for another index. */
  #mustKeepFinal(position: number, to: number): void {
    const { lost, head } = this.#start
    const finalHeight = head?.finalHeight ?? -1
    if (lost === undefined || to >= Math.min(finalHeight, this.#tip.height)) return
    const reason = `leads to a chain without the index's final block ${String(finalHeight)}`
    throw new PoisonEvent('chain', position, reason)
  }

  #raise(height: number, hash: string): void {
    this.#hashes.set(height, hash)
    this.#tip = { height, hash }
    if (this.#hashes.size <= 2 * KEPT) return
    while (this.#low < height - KEPT) this.#hashes.delete(++this.#low)
  }

  #lower(prevHash: string): void {
    const height = this.#tip.height - 1
    this.#hashes.delete(this.#tip.height)
    this.#low = Math.min(this.#low, height)
    this.#tip = { height, hash: height < 0 ? '' : prevHash }
  }

  /** Goes to the newest epoch behind the damage that resumes at a block of this chain. @throws the damage where there is none. */
  async #resume(damage: PoisonEvent | LogShrank): Promise<void> {
    const { log } = this.#start
    const last = await log.last('chain')
    const resumes = (record: LogRecord) => this.#resumeIn(record)
    for await (const found of batchesBack(log, 'chain', last, resumes, { downTo: this.#seen + 1 })) {
      for (const { position, resume } of found.reverse()) {
        if (!(await this.#has(resume))) continue
        this.#damage = undefined
        this.#repeated = undefined
        this.#cursor = position - 1
        return
      }
    }
    this.#seen = last
    throw damage
  }

  /** Returns where an epoch resumes that can end the damage; undefined for every other record, and one that is no event. */
  #resumeIn({ position, value }: LogRecord): { position: number; resume: Resume } | undefined {
    try {
      const { epoch, generation, event } = decodeChainEvent(value)
      // One that ends lower than what is published was written for another index, or for none: its heads would count for nothing.
      const isAbove = epoch > this.#lastId.epoch && positionOf(generation, position) > this.#position
      const resume = isAbove && event.case === 'epochStarted' ? event.value.resume : undefined
      return resume && { position, resume }
    } catch {
      return undefined
    }
  }
}
