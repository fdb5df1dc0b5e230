import { positionOf } from '../../events/positions.js'
import type { EventLog } from '../../log/port.js'
import type { Logger } from '../../logger.js'
import { loadChainView } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'
import { copyHeads, type Head, headsAfter, latestHead } from '../../tables/head.js'
import { migrate } from '../../tables/migrate.js'
import { claimWriting, handOver, assertNewestWriter } from '../../tables/writers.js'
import { CumulativeRows } from '../apply/block-applier.js'
import { BlockWriter } from '../apply/block-writer.js'
import { readDeadLetters } from '../dead-letters.js'
import { ChainReader } from '../chain-reader.js'
import type { PositionedEvent } from '../events.js'
import { type BlockEvent, type Made, ScriptChangesMaker } from '../apply/script-changes-maker.js'
import { OwnRows } from '../apply/own-rows.js'
import { LogShrank } from '../poison.js'
import { RankingBuilder } from '../lists/ranking-builder.js'
import { mustHold, repair } from './repair.js'
import { type Change, hashesOf, WorkingChain } from '../working-chain.js'

/** Larger than the materializer's: nobody waits for a head of these, and an insert's own cost is the largest part of it. */
const BATCH_EVENTS = 1000
const BATCH_BYTES = 8 << 20
/** Blocks that are given to the other thread at once. */
const BLOCKS_AT_ONCE = 50
/** How often this may be before what it makes of the first is folded: it is never without work, and never far ahead. */
const MOST_PENDING = 2
/** Parts that are merged at once, at least, while nobody reads them: so each row is merged once, and not once per doubling. */
const PARTS_MERGED = 32
/** Totals of this many scripts are kept at hand: some 100 MB. */
const CACHED_SCRIPTS = 250_000

export interface SuccessorOptions {
  /** The one that is built. */
  readonly db: Database
  /** The one that serves meanwhile, and whose place it takes. */
  readonly old: Database
  readonly log: EventLog
  readonly logger: Logger
  /** Called when the blocks up to a height are written, of those up to another one. */
  readonly progress: (height: number, tip: number) => void
  /** For tests that interrupt it: called when all is ready for the one step that switches. */
  readonly beforeSwitch?: () => void | Promise<void>
}

/** An event that connects a block. */
interface Connecting extends BlockEvent {
  readonly hash: string
}

/** Blocks that the other thread is at work on. */
interface PendingBlocks {
  readonly blocks: readonly Connecting[]
  readonly made: Promise<Made>
}

/**
 * Builds a second database from the log behind the one that serves, head by head: it shows the very heads that the first one
 * has shown, so that the numbers of the feed, which are counted by heads, are the same in both. When it is level, it takes the
 * first one's place in one step. Delivery: as the materializer's; broken off, it goes on from its newest head.
 */
export class Successor {
  readonly #options: SuccessorOptions
  readonly #writer: BlockWriter
  readonly #maker = new ScriptChangesMaker()
  #number = 0n
  #working = new WorkingChain()
  #reader: ChainReader | undefined
  /** Events that were read and are not applied yet. */
  #events: readonly PositionedEvent[] = []
  /** The newest head that is shown, or will be when what is on its way has arrived. */
  #shown = { position: -1, writtenAt: -1 }
  /** Heads of the first database that come next. */
  #ahead: Head[] = []
  /** Blocks that these connect. */
  #named: ReadonlySet<string> = new Set()
  #unsent: Connecting[] = []
  /** What comes next to be folded. */
  readonly #pending: PendingBlocks[] = []
  /** Of the blocks that are not sent. */
  #rows = { applied: new CumulativeRows(), own: new OwnRows() }
  /** The inserts of the batch before: they travel while the next one is folded. */
  #inserting: Promise<void> = Promise.resolve()
  /** How many scripts `#rows`, and the rows that travel, touch: the tables do not know their totals yet. */
  #scripts = { applied: 0, travelling: 0 }

  constructor(options: SuccessorOptions) {
    this.#options = options
    this.#writer = new BlockWriter(options.db, CACHED_SCRIPTS)
  }

  /**
   * Builds, follows the first database until both show the same head, and switches.
   * @returns the head at which it did.
   * @throws Superseded where another took over either of them; PoisonEvent, LogShrank; DatabaseUnavailable.
   */
  async run(): Promise<Head> {
    try {
      return await this.#build()
    } finally {
      await this.#maker.close()
    }
  }

  async #build(): Promise<Head> {
    const { old, db, beforeSwitch } = this.#options
    await this.#start()
    await this.#catchUp()
    await this.#alterMerges('RESET SETTING min_parts_to_merge_at_once')
    await this.#rank()
    for (;;) {
      const head = await this.#catchUp()
      await beforeSwitch?.()
      if (await handOver(old, db.name, head)) return head
    }
  }

  /** Begins where it was. */
  async #start(): Promise<void> {
    const { db, old, log, logger } = this.#options
    await migrate(db)
    await db.pinEngineRun()
    await this.#alterMerges(`MODIFY SETTING min_parts_to_merge_at_once = ${String(PARTS_MERGED)}`)
    const head = await latestHead(db)
    this.#number = await claimWriting(db, head?.position ?? -1, old.name)
    if (head !== undefined) {
      await mustHold(log, head)
      this.#working = new WorkingChain(await loadChainView(db, head))
      this.#shown = head
    }
    const hashAt = hashesOf(db, () => this.#working)
    this.#reader = new ChainReader({
      log,
      deadLettered: await readDeadLetters(log),
      head,
      decodes: false,
      hashAt,
    })
    const rewriting = { db, log, writer: this.#writer, chain: this.#working, number: () => this.#number }
    if (head !== undefined) await repair(rewriting, head, logger)
  }

  async #alterMerges(change: string): Promise<void> {
    const { db } = this.#options
    const sql =
      "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'"
    for (const { name } of await db.query<{ name: string }>(sql))
      await db.command(`ALTER TABLE ${name} ${change}`)
  }

  /** Folds until both show the same head. @returns it. */
  async #catchUp(): Promise<Head> {
    const { old, db, progress } = this.#options
    for (;;) {
      let tip = (await latestHead(old))?.tipHeight ?? -1
      while (await this.#applyBatch()) {
        const { height } = this.#working.written
        tip = Math.max(tip, height)
        progress(height, tip)
      }
      await this.#inserting
      await assertNewestWriter(db, this.#number)
      const [theirs, ours] = await Promise.all([latestHead(old), latestHead(db)])
      if (theirs === undefined || ours === undefined) throw new LogShrank('there is no head to reach')
      if (theirs.position !== ours.position || theirs.writtenAt !== ours.writtenAt) continue
      const { height, hash } = this.#working.written
      if (ours.tipHeight !== height || (height >= 0 && ours.tipHash !== hash))
        throw new LogShrank(`the log leads to block ${hash}, and ${old.name} shows ${ours.tipHash}`)
      return ours
    }
  }

  /**
   * Applies a batch of events, up to the newest head of the first database at most, and publishes the heads that it reaches.
   * @returns whether there was a head to go to.
   */
  async #applyBatch(): Promise<boolean> {
    const { old } = this.#options
    if (this.#ahead.length === 0) {
      this.#ahead = await headsAfter(old, this.#shown.position, this.#shown.writtenAt)
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
      throw new LogShrank(`topic chain does not lead to position ${String(end)}, which ${old.name} shows`)
    await this.#apply(events.slice(0, reached.events))
    this.#events = this.#events.slice(reached.events)
    const reachedHead = this.#ahead.splice(0, reached.heads).at(-1)
    if (reachedHead !== undefined) this.#show(reachedHead)
    return true
  }

  async #isAllRead(): Promise<boolean> {
    return (this.#reader?.next ?? 0) > (await this.#options.log.last('chain'))
  }

  /**
   * How many of the next heads these events reach, and with how many of the events; all of them where they reach none. Heads that
   * were made of events of a log that was lost since are published with the next one that was not.
   */
  #reachedBy(events: readonly PositionedEvent[]): { readonly heads: number; readonly events: number } {
    const lastOf = new Map(events.map((event, index) => [orderOf(event), index]))
    const isReached = (head: Head): boolean => {
      if (head.position === this.#shown.position) return true
      const event = events[lastOf.get(head.position) ?? -1]?.event
      return event?.epoch === head.epoch && event.sequence === head.sequence
    }
    const last = this.#ahead.findLastIndex(isReached)
    const head = this.#ahead[last]
    if (head === undefined) return { heads: 0, events: events.length }
    // One at the place of the head that is published has nothing to apply.
    return { heads: last + 1, events: (lastOf.get(head.position) ?? -1) + 1 }
  }

  async #apply(events: readonly PositionedEvent[]): Promise<void> {
    for (const each of events) await this.#applyEvent(each)
    await this.#applyAll()
  }

  async #applyEvent(positioned: PositionedEvent): Promise<void> {
    const { position, value } = positioned
    const change = this.#working.apply(positioned)
    if (change?.kind === 'connected') await this.#connect({ position, value, hash: change.hash })
    if (change?.kind === 'disconnected') await this.#disconnect(change)
  }

  async #connect(block: Connecting): Promise<void> {
    this.#unsent.push(block)
    // One that no head names may leave without a row.
    if (this.#unsent.length < BLOCKS_AT_ONCE || !this.#named.has(block.hash)) return
    this.#ask()
    while (this.#pending.length > MOST_PENDING) await this.#applyNext()
  }

  async #disconnect({ hash, prevHash }: Change): Promise<void> {
    // What no head names leaves no row, as in the first database.
    if (this.#unsent.length > 0 && !this.#named.has(hash)) {
      this.#unsent.pop()
      return
    }
    await this.#applyAll()
    await this.#arrived()
    this.#writer.disconnected(this.#working.written.height)
    this.#working.leave(prevHash)
  }

  #ask(): void {
    const blocks = this.#unsent
    const { network } = this.#working
    if (blocks.length === 0 || network === undefined) return
    this.#pending.push({ blocks, made: this.#maker.make(blocks, network) })
    this.#unsent = []
  }

  /** Folds all that was read, and sends it. */
  async #applyAll(): Promise<void> {
    this.#ask()
    while (this.#pending.length > 0) await this.#applyNext()
    await this.#send()
  }

  async #applyNext(): Promise<void> {
    const [next] = this.#pending
    if (next === undefined) return
    const { rows, scriptChanges } = await next.made
    await this.#makeRoom()
    const parent = await this.#working.parentState(this.#options.db, this.#number)
    this.#rows.own.take(rows)
    const { sums, scripts } = await this.#writer.apply(this.#rows.applied, scriptChanges, parent, true)
    this.#working.write(next.blocks, sums)
    this.#scripts.applied += scripts
    this.#pending.shift()
  }

  /** So that no totals that the tables do not know drop out of the cache. */
  async #makeRoom(): Promise<void> {
    const isFull = (): boolean => this.#scripts.applied + this.#scripts.travelling > CACHED_SCRIPTS / 2
    if (isFull()) await this.#send()
    if (isFull()) await this.#arrived()
  }

  /** The rows of what is folded are on their way when it resolves, and those before them have arrived. */
  async #send(): Promise<void> {
    const { applied, own } = this.#rows
    if (applied.blocks.length === 0) return
    await this.#arrived()
    this.#scripts = { applied: 0, travelling: this.#scripts.applied }
    this.#rows = { applied: new CumulativeRows(), own: new OwnRows() }
    this.#then(() => this.#writer.insert(applied, own, this.#number))
  }

  async #arrived(): Promise<void> {
    await this.#inserting
    this.#scripts.travelling = 0
  }

  #show(head: Head): void {
    const { old, db } = this.#options
    const after = this.#shown
    this.#shown = head
    this.#working.settle(head.finalHeight)
    this.#then(() => copyHeads(old, db, { after, to: head, writer: this.#number }))
  }

  #then(insert: () => Promise<void>): void {
    this.#inserting = this.#inserting.then(insert)
    // Told by whoever waits for it.
    this.#inserting.catch(() => undefined)
  }

  /** So that the rich list is no slower than it was. */
  async #rank(): Promise<void> {
    const { db, logger } = this.#options
    const head = await latestHead(db)
    if (head === undefined) return
    const rankings = new RankingBuilder(db, logger, { writer: () => this.#number })
    rankings.consider(await loadChainView(db, head), 0, false)
    await rankings.idle()
    await rankings.close()
  }
}

/** As heads name it. */
function orderOf({ position, event }: PositionedEvent): number {
  return positionOf(event.generation, position)
}
