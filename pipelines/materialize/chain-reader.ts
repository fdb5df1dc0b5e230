import type {
  BlockConnected,
  BlockDisconnected,
  Resume,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { BlockId } from '../chain/block.js'
import { hexOf } from '../chain/hash.js'
import { type Network, networkNamed } from '../chain/networks.js'
import { decodeChainEvent } from '../events/chain-event.js'
import { offsetOf, positionOf } from '../events/positions.js'
import type { EventLog, LogRecord } from '../log/port.js'
import { batchesBack } from '../log/records.js'
import { isAfter, type Written } from '../log/written.js'
import type { Head } from '../tables/head.js'
import { decodeBlock, decodeEvent } from './apply/decode.js'
import { chainOf, assertConnects, assertDisconnects, type PositionedEvent } from './events.js'
import { LogShrank, PoisonEvent } from './poison.js'

/** The state from which a reader starts. */
export interface ReaderStart {
  readonly log: EventLog
  /** The state that was applied last; undefined for none. A log that replaces a lost one must contain its final block, too. */
  readonly head:
    | Pick<Head, 'position' | 'epoch' | 'sequence' | 'chain' | 'tipHeight' | 'tipHash' | 'finalHeight'>
    | undefined
  /** Positions of dead-lettered events of topic `chain`, which are skipped. */
  readonly deadLettered: ReadonlySet<number>
  /** Returns the hash of a block of the chain, from the tables; `most` is the highest height that may be needed soon. */
  readonly hashAt: (height: number, most: number) => Promise<string | undefined>
  /** True to decode all blocks, to find invalid ones before later events are returned. */
  readonly decodes: boolean
  /** Set if the log does not contain the event that was applied last. */
  readonly lost?: LogShrank | undefined
}

/**
 * The minimum number of hashes kept in memory: more than the number of blocks that are ever read before they are in the tables.
 */
const KEPT = 8192

/**
 * Reads the valid events of topic `chain` in order. It alone decides which events are superseded (see decision 23). At damage
 * it continues with the newest epoch after it that resumes at a block of the chain at that point. After a resume it skips
 * events that repeat blocks of the chain; before the first different block it disconnects the blocks above the fork point.
 */
export class ChainReader {
  readonly #start: ReaderStart
  /** The position, with its generation, of the last event applied before the start. */
  readonly #position: number
  /** The last position that was read. */
  #cursor: number
  /** The epoch and sequence of the last valid event. */
  #lastId: Written
  #network: Network | undefined
  #genesis = ''
  #tip: BlockId
  /** Hashes by height above `#low`. Events that are not in the tables yet have changed the chain above `#low` only. */
  readonly #hashes = new Map<number, string>()
  #low: number
  /** The height of the last block that a resumed epoch has repeated; undefined if it repeats none. */
  #repeated: number | undefined
  /** Total work of the tip that was published by the index for which that epoch was written. */
  #settledWork = ''
  #damage: PoisonEvent | LogShrank | undefined
  /** The position up to which no epoch resumes after the damage. */
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

  /** The position of topic `chain` that is read next; after damage, the next position whose event may end the damage. */
  get next(): number {
    return (this.#damage === undefined ? this.#cursor : this.#seen) + 1
  }

  /** Returns whether the reader is ahead of a log that ends at a position. */
  isBeyond(last: number): boolean {
    return this.#damage === undefined && this.#cursor > last
  }

  /** The damage at which the reader has stopped, or will stop at the next call of `take`; undefined for none. */
  get damage(): PoisonEvent | LogShrank | undefined {
    return this.#damage
  }

  /** The position of the last valid event, -1 if the log was lost; the position of the last checked event; and the epoch. */
  get read(): { readonly good: number; readonly seen: number; readonly epoch: number } {
    const good = this.#damage instanceof LogShrank ? -1 : this.#cursor
    return { good, seen: this.#seen, epoch: this.#lastId.epoch }
  }

  /** Returns the hash of a block of the chain after the events that were returned; undefined above its tip. */
  async hashAt(height: number): Promise<string | undefined> {
    if (height < 0 || height > this.#tip.height) return undefined
    return height > this.#low ? this.#hashes.get(height) : this.#start.hashAt(height, this.#low)
  }

  /**
   * Reads the next events.
   * @returns undefined if there are none yet; an empty list if the events change nothing.
   * @throws PoisonEvent, LogShrank at damage that no epoch has repaired yet. Call it again later.
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
    return new PoisonEvent('chain', this.#cursor + 1, `the log no longer contains the events up to ${last}`)
  }

  /** Returns the events that result from a record. @throws PoisonEvent for an event that does not follow. */
  async #takeOne(record: LogRecord): Promise<PositionedEvent[]> {
    const { position } = record
    if (this.#start.deadLettered.has(position)) return []
    const event = decodeEvent(record)
    if (!isAfter(event, this.#lastId)) return []
    const positioned: PositionedEvent = { ...record, event }
    const events = await this.#valid(positioned)
    this.#lastId = { epoch: event.epoch, sequence: event.sequence }
    return events
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
        // A part of the chain must not be published: the epoch may have been written for another index, which is behind this one.
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

  /** Checks block 0 of an epoch's chain. @throws PoisonEvent if it is another one. */
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
      // Settled by its work: it exceeds the work of the index for which the epoch was written, but not the work of this index.
      if (this.#repeated !== undefined && hexOf(block.chainwork) > this.#settledWork) return []
      return this.#unrepeat(positioned, true)
    }
    if (this.#start.decodes) decodeBlock(position, block, network)
    const disconnected = await this.#unrepeat(positioned, false)
    this.#raise(block.height, hash)
    return [...disconnected, positioned]
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

  /** Returns the block that the next event has to follow. */
  async #at(): Promise<BlockId> {
    if (this.#repeated === undefined) return this.#tip
    return { height: this.#repeated, hash: (await this.hashAt(this.#repeated)) ?? '' }
  }

  /**
   * Ends the repetition of blocks, and disconnects the blocks of the chain that were not repeated.
   * @param settled whether the state after that may be published; then there is an event for it even if no block is disconnected.
   */
  async #unrepeat(cause: PositionedEvent, settled: boolean): Promise<PositionedEvent[]> {
    const { epoch, sequence, generation } = cause.event
    const to = this.#repeated ?? this.#tip.height
    this.#assertKeepsFinal(cause.position, to)
    this.#repeated = undefined
    const disconnected: PositionedEvent[] = []
    const put = (event: PositionedEvent['event']['event'], isLast: boolean): void => {
      const fields = { epoch, sequence, generation, settled: isLast && settled, event }
      disconnected.push({ ...cause, event: { ...cause.event, ...fields } })
    }
    while (this.#tip.height > to) {
      const { height, hash } = this.#tip
      const prevHash = (await this.hashAt(height - 1)) ?? '00'.repeat(32)
      const value = { height, hash: Buffer.from(hash, 'hex'), prevHash: Buffer.from(prevHash, 'hex') }
      this.#lower(prevHash)
      const fields = { ...value, $typeName: 'headwater.events.v1.BlockDisconnected' as const }
      put({ case: 'blockDisconnected', value: fields }, this.#tip.height === to)
    }
    if (settled && disconnected.length === 0 && cause.event.event.case !== 'epochStarted')
      put({ case: undefined }, true)
    return disconnected
  }

  /**
   * Checks that a log that replaces a lost one leads to the index's final block. @throws PoisonEvent if it does not: it may
   * have been repaired for another index.
   */
  #assertKeepsFinal(position: number, to: number): void {
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

  /** Moves to the newest epoch after the damage that resumes at a block of this chain. @throws the damage if there is none. */
  async #resume(damage: PoisonEvent | LogShrank): Promise<void> {
    const { log } = this.#start
    const last = await log.last('chain')
    const resumes = (record: LogRecord) => this.#resumeIn(record)
    for await (const batch of batchesBack(log, 'chain', last, resumes, { downTo: this.#seen + 1 })) {
      for (const { position, resume } of batch.reverse()) {
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

  /** Returns the block at which a record's epoch resumes, if that can end the damage; undefined for all other records. */
  #resumeIn({ position, value }: LogRecord): { position: number; resume: Resume } | undefined {
    try {
      const { epoch, generation, event } = decodeChainEvent(value)
      // An epoch at a lower position than the published head was written for another index, or for none: its heads would not
      // count.
      const isAbove = epoch > this.#lastId.epoch && positionOf(generation, position) > this.#position
      const resume = isAbove && event.case === 'epochStarted' ? event.value.resume : undefined
      return resume && { position, resume }
    } catch {
      return undefined
    }
  }
}
