import { hexOf } from '../../chain/hash.js'
import { positionOf } from '../../events/positions.js'
import type { EventLog } from '../../log/port.js'
import type { Logger } from '../../logger.js'
import { loadChainView } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'
import { copyHeads, type Head, headsAfter, latestHead } from '../../tables/head.js'
import { postponeMerges, resumeMerges } from '../../tables/merges.js'
import { createTables } from '../../tables/schema-version.js'
import { claimWriting, handOver, assertNewestWriter } from '../../tables/writers.js'
import { BATCH_BYTES, BATCH_EVENTS, BlockPipeline, CACHED_SCRIPTS } from '../apply/block-pipeline.js'
import { BlockWriter } from '../apply/block-writer.js'
import { readDeadLetters } from '../dead-letters.js'
import { ChainReader } from '../chain-reader.js'
import type { PositionedEvent } from '../events.js'
import { LogShrank } from '../poison.js'
import { BalanceWriting } from './balance-writing.js'
import { RankingBuilder } from '../lists/ranking-builder.js'
import { assertContains, repair } from './repair.js'
import { type Change, hashesOf, WorkingChain } from '../working-chain.js'

export interface SuccessorOptions {
  /** The database that is built. */
  readonly db: Database
  /** The database that serves meanwhile, and is replaced. */
  readonly old: Database
  readonly log: EventLog
  readonly logger: Logger
  /** Called when the blocks up to a height are written, with the height of the tip. */
  readonly progress: (height: number, tip: number) => void
  /** See `OwnRowsOptions`. */
  readonly hasBodies?: boolean | undefined
  /** Called before the switch, for tests that interrupt it. */
  readonly beforeSwitch?: () => void | Promise<void>
}

/**
 * Builds a second database from the log while the first database serves. Both publish the same heads, so that the numbers of the
 * feed, which derive from heads, are equal too. When the second database is level, it replaces the first in one step.
 * Delivery: as the materializer's; after an interruption it continues from its newest head.
 */
export class Successor {
  readonly #options: SuccessorOptions
  readonly #writer: BlockWriter
  readonly #pipeline: BlockPipeline
  readonly #rankings: RankingBuilder
  readonly #balances: BalanceWriting
  #number = 0n
  #working = new WorkingChain()
  #reader: ChainReader | undefined
  /** Events that were read and are not applied yet. */
  #events: readonly PositionedEvent[] = []
  /** The newest head that is published, or will be after the running inserts. */
  #published = { position: -1, writtenAt: -1 }
  /** The next heads of the first database. */
  #ahead: Head[] = []
  /** The final height of the first database. */
  #final = Number.POSITIVE_INFINITY
  /** The blocks that these heads connect. */
  #named: ReadonlySet<string> = new Set()

  constructor(options: SuccessorOptions) {
    this.#options = options
    const { db, log, logger } = options
    const number = (): bigint => this.#number
    this.#writer = new BlockWriter(db, CACHED_SCRIPTS, undefined, options.hasBodies)
    const [writer, chain] = [this.#writer, () => this.#working]
    this.#pipeline = new BlockPipeline({ db, writer, chain, number })
    // Nothing reads this database yet, so that there is nothing to pause for.
    this.#rankings = new RankingBuilder(db, logger, { writer: number, rest: 0 })
    this.#balances = new BalanceWriting({ db, log, number, writer: this.#writer, rankings: this.#rankings })
  }

  /**
   * Builds the database, follows the first database until both have the same head, and switches.
   * @returns the head at the switch.
   * @throws Superseded if another process took over either of them; PoisonEvent; LogShrank; DatabaseUnavailable.
   */
  async run(): Promise<Head> {
    try {
      return await this.#build()
    } finally {
      await Promise.all([this.#pipeline.rest(), this.#rankings.close()])
    }
  }

  async #build(): Promise<Head> {
    const { old, db, beforeSwitch } = this.#options
    await this.#start()
    await this.#catchUp()
    await resumeMerges(db)
    await this.#rank()
    for (;;) {
      const head = await this.#catchUp()
      await beforeSwitch?.()
      if (await handOver(old, db.name, head)) return head
    }
  }

  /** Starts from the newest head of the database that is built. */
  async #start(): Promise<void> {
    const { db, old, log, logger } = this.#options
    await createTables(db)
    await db.pinEngineRun()
    await postponeMerges(db)
    const head = await latestHead(db)
    this.#number = await claimWriting(db, head?.position ?? -1, old.name)
    if (head !== undefined) {
      await assertContains(log, head)
      this.#working = new WorkingChain(await loadChainView(db, head))
      this.#published = head
    }
    const hashAt = hashesOf(db, () => this.#working)
    this.#reader = new ChainReader({
      log,
      deadLettered: await readDeadLetters(log),
      head,
      decodes: false,
      hashAt,
    })
    await this.#balances.start()
    if (this.#writer.writesBalances && head === undefined) await this.#balances.stop()
    const rewriting = { db, log, writer: this.#writer, chain: this.#working, number: () => this.#number }
    if (head !== undefined) await repair(rewriting, head, logger)
  }

  /** Applies events until both databases have the same head. @returns that head. */
  async #catchUp(): Promise<Head> {
    const { old, db, progress } = this.#options
    for (;;) {
      const newest = await latestHead(old)
      let tip = newest?.tipHeight ?? -1
      this.#final = newest?.finalHeight ?? -1
      while (await this.#applyBatch()) {
        const { height } = this.#working.written
        tip = Math.max(tip, height)
        progress(height, tip)
      }
      await this.#pipeline.sent()
      await assertNewestWriter(db, this.#number)
      const [theirs, ours] = await Promise.all([latestHead(old), latestHead(db)])
      if (theirs === undefined || ours === undefined) throw new LogShrank('there is no head to reach')
      if (theirs.position !== ours.position || theirs.writtenAt !== ours.writtenAt) continue
      const { height, hash } = this.#working.written
      if (ours.tipHeight !== height || (height >= 0 && ours.tipHash !== hash))
        throw new LogShrank(`the log leads to block ${hash}, but ${old.name} has published ${ours.tipHash}`)
      return ours
    }
  }

  /**
   * Applies a batch of events, at most up to the newest head of the first database, and publishes the heads that it reaches.
   * @returns whether there was a head to reach.
   */
  async #applyBatch(): Promise<boolean> {
    const { old } = this.#options
    if (this.#ahead.length === 0) {
      this.#ahead = await headsAfter(old, this.#published.position, this.#published.writtenAt)
      this.#named = new Set(this.#ahead.flatMap((head) => head.connected))
    }
    const end = this.#ahead.at(-1)?.position
    if (end === undefined) return false
    if (this.#events.length < BATCH_EVENTS / 2)
      this.#events = [...this.#events, ...((await this.#reader?.take(BATCH_EVENTS, BATCH_BYTES)) ?? [])]
    const count = this.#events.findLastIndex((event) => orderOf(event) <= end) + 1
    const events = this.#events.slice(0, count)
    const reached = this.#reachedBy(events)
    if (count + reached.heads === 0 && (this.#events.length > 0 || (await this.#isAllRead())))
      throw new LogShrank(
        `topic chain does not lead to position ${String(end)}, which ${old.name} has published`,
      )
    const ready = reached.events + this.#connecting(events.slice(reached.events))
    const { height } = this.#working.written
    await this.#balances.resumeBefore(height, height + ready, this.#final)
    await this.#apply(events.slice(0, ready))
    this.#events = this.#events.slice(ready)
    const published = this.#ahead.splice(0, reached.heads).at(-1)
    if (published !== undefined) this.#publish(published)
    return true
  }

  async #isAllRead(): Promise<boolean> {
    return (this.#reader?.next ?? 0) > (await this.#options.log.last('chain'))
  }

  /**
   * Returns the number of the next heads that events reach, and of the events up to the last of them; of all events if they reach
   * none. Heads that were made from events of a lost log are published with the next head from this log.
   */
  #reachedBy(events: readonly PositionedEvent[]): { readonly heads: number; readonly events: number } {
    const lastOf = new Map(events.map((event, index) => [orderOf(event), index]))
    const isReached = (head: Head): boolean => {
      if (head.position === this.#published.position) return true
      const event = events[lastOf.get(head.position) ?? -1]?.event
      return event?.epoch === head.epoch && event.sequence === head.sequence
    }
    const last = this.#ahead.findLastIndex(isReached)
    const head = this.#ahead[last]
    if (head === undefined) return { heads: 0, events: events.length }
    // A head at the position of the published one needs no events.
    return { heads: last + 1, events: (lastOf.get(head.position) ?? -1) + 1 }
  }

  /**
   * Returns the number of events that connect blocks of later heads, before anything else happens: they need not wait for their
   * head, and fewer batches cost less.
   */
  #connecting(events: readonly PositionedEvent[]): number {
    const end = events.findIndex(
      ({ event: { event } }) => event.case !== 'blockConnected' || !this.#named.has(hexOf(event.value.hash)),
    )
    return end < 0 ? events.length : end
  }

  async #apply(events: readonly PositionedEvent[]): Promise<void> {
    for (const each of events) await this.#applyEvent(each)
    await this.#pipeline.applyAll()
  }

  async #applyEvent(positioned: PositionedEvent): Promise<void> {
    const { position, value } = positioned
    const change = this.#working.apply(positioned)
    // A block that no head contains may be disconnected without leaving a row.
    if (change?.kind === 'connected')
      await this.#pipeline.add({ position, value, hash: change.hash }, this.#named.has(change.hash))
    if (change?.kind === 'disconnected') await this.#disconnect(change)
  }

  async #disconnect({ hash, prevHash }: Change): Promise<void> {
    // A block that no head contains leaves no row, as in the first database.
    if (!this.#named.has(hash) && this.#pipeline.remove()) return
    await this.#pipeline.applyAll()
    await this.#pipeline.sent()
    this.#writer.disconnected(this.#working.written)
    this.#working.leave(prevHash)
  }

  #publish(head: Head): void {
    const { old, db } = this.#options
    const after = this.#published
    this.#published = head
    this.#pipeline.queue(async () => {
      await copyHeads(old, db, { after, to: head, writer: this.#number })
      await this.#working.settle(db, head.finalHeight)
    })
  }

  /** Builds a ranking, so that the rich list does not have to wait for it after the switch. */
  async #rank(): Promise<void> {
    const { db } = this.#options
    const head = await latestHead(db)
    if (head === undefined) return
    const view = await loadChainView(db, head)
    await this.#balances.consider(0, false, view)
    this.#rankings.consider(view, 0, false)
    await this.#rankings.idle()
  }
}

/** Returns the position of an event as heads contain it. */
function orderOf({ position, event }: PositionedEvent): number {
  return positionOf(event.generation, position)
}
