import { setImmediate } from 'node:timers/promises'
import type { ChainEvent } from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { Chain } from '../chain/network.js'
import type { EventLog, LogRecord } from '../log/port.js'
import type { Logger } from '../logger.js'
import { loadChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { copyHeads, type Head, headsAfter, latestHead } from '../tables/head.js'
import { migrate } from '../tables/migrate.js'
import { claimWriting, giveWay, mustBeNewest } from '../tables/writers.js'
import { BlockWriter } from './block-writer.js'
import { readAside } from './dead-letters.js'
import { type ConnectedBlock, decodeBlock, hexOf } from './decode.js'
import { chainOf, mustConnect, mustDisconnect, newEvents } from './events.js'
import { LogShrank, PoisonEvent } from './poison.js'
import { RANKING_TAIL, RankingBuilder } from './ranking-builder.js'
import { mustHold, repair } from './repair.js'
import { WorkingChain } from './working-chain.js'

/** Larger than the materializer's: nobody waits for a head of these, and an insert's own cost is the largest part of it. */
const BATCH_EVENTS = 1000
const BATCH_BYTES = 8 << 20
/** Blocks decoded in one turn. */
const BLOCKS_AT_ONCE = 20
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

/**
 * Builds a second database from the log behind the one that serves, head by head: it shows the very heads that the first one
 * has shown, so that the numbers of the feed, which are counted by heads, are the same in both. When it is level, it takes the
 * first one's place in one step. Delivery: as the materializer's; broken off, it goes on from its newest head.
 */
export class Successor {
  readonly #options: SuccessorOptions
  readonly #writer: BlockWriter
  #number = 0n
  #working = new WorkingChain(undefined)
  #chain: Chain | undefined
  #last = { epoch: 0, sequence: -1n }
  #aside: ReadonlySet<number> = new Set()
  #cursor = -1
  /** The newest head that is shown, or will be when what is on its way has arrived. */
  #shown = { position: -1, writtenAt: -1 }
  /** Heads of the first database that come next. */
  #ahead: Head[] = []
  /** Blocks that these connect. */
  #named: ReadonlySet<string> = new Set()
  #unwritten: ConnectedBlock[] = []
  /** The inserts of the batch before: they travel while the next one is folded. */
  #inserting: Promise<void> = Promise.resolve()

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
    const { old, db, beforeSwitch } = this.#options
    await this.#begin()
    await this.#catchUp()
    await this.#rank()
    for (;;) {
      const head = await this.#catchUp()
      await beforeSwitch?.()
      if (await giveWay(old, db.name, head)) return head
    }
  }

  /** Begins where it was. @returns the height that is done. */
  async #begin(): Promise<void> {
    const { db, old, log, logger } = this.#options
    await migrate(db)
    const head = await latestHead(db)
    this.#number = await claimWriting(db, head?.position ?? -1, old.name)
    this.#aside = await readAside(log)
    if (head === undefined) return
    await mustHold(log, head)
    this.#working = new WorkingChain(await loadChainView(db, head))
    this.#chain = head.chain
    this.#last = head
    this.#cursor = head.position
    this.#shown = head
    await repair({ db, log, logger }, head, {
      writer: this.#writer,
      chain: this.#working,
      number: this.#number,
    })
  }

  /** Folds until both show the same head. @returns it. */
  async #catchUp(): Promise<Head> {
    const { old, db, progress } = this.#options
    for (;;) {
      let tip = (await latestHead(old))?.tipHeight ?? -1
      while (await this.#foldBatch()) {
        tip = Math.max(tip, this.#working.tipHeight)
        progress(this.#working.tipHeight, tip)
      }
      await this.#inserting
      await mustBeNewest(db, this.#number)
      const [theirs, ours] = await Promise.all([latestHead(old), latestHead(db)])
      if (theirs === undefined || ours === undefined) throw new LogShrank('there is no head to be level with')
      if (theirs.position !== ours.position || theirs.writtenAt !== ours.writtenAt) continue
      const { tipHeight, tipHash } = this.#working
      if (ours.tipHeight !== tipHeight || (tipHeight >= 0 && ours.tipHash !== tipHash))
        throw new LogShrank(`the log leads to block ${tipHash}, and ${old.name} shows ${ours.tipHash}`)
      return ours
    }
  }

  /** Folds up to a head of the first database and shows it. @returns whether there was one to go to. */
  async #foldBatch(): Promise<boolean> {
    const { old, log } = this.#options
    if (this.#ahead.length === 0) {
      this.#ahead = await headsAfter(old, this.#shown.position, this.#shown.writtenAt)
      this.#named = new Set(this.#ahead.flatMap((head) => head.connected))
    }
    const end = this.#ahead.at(-1)?.position
    if (end === undefined) return false
    const records = (await log.read('chain', this.#cursor + 1, BATCH_EVENTS, BATCH_BYTES)).filter(
      ({ position }) => position <= end,
    )
    const last = records.at(-1)?.position ?? this.#cursor
    if (records.length === 0 && last < end)
      throw new LogShrank(
        `topic chain ends at ${String(last)}, and ${old.name} shows what was made of ${String(end)}`,
      )
    const next = this.#ahead.findIndex(({ position }) => position > last)
    const heads = this.#ahead.splice(0, next < 0 ? this.#ahead.length : next)
    await this.#fold(records, heads.at(-1)?.position ?? last)
    const shown = heads.at(-1)
    if (shown !== undefined) this.#show(shown)
    return true
  }

  async #fold(records: readonly LogRecord[], to: number): Promise<void> {
    for (const { position, event } of newEvents(
      records.filter((each) => each.position <= to),
      this.#last,
      this.#aside,
    ))
      await this.#foldEvent(position, event)
    await this.#write()
    this.#cursor = to
  }

  async #foldEvent(position: number, { epoch, sequence, event }: ChainEvent): Promise<void> {
    this.#last = { epoch, sequence }
    switch (event.case) {
      case 'epochStarted':
        this.#chain = chainOf(position, event.value.chain, this.#chain)
        return
      case 'blockConnected':
        mustConnect(position, event.value, this.#tip())
        this.#unwritten.push(decodeBlock(position, event.value))
        if (this.#unwritten.length % BLOCKS_AT_ONCE === 0) await setImmediate()
        return
      case 'blockDisconnected':
        return this.#disconnect(
          mustDisconnect(position, event.value, this.#tip()),
          hexOf(event.value.prevHash),
        )
      case undefined:
        throw new PoisonEvent('chain', position, 'holds no event that this version knows')
    }
  }

  async #disconnect(hash: string, prevHash: string): Promise<void> {
    // What no head names leaves no row, as in the first database.
    if (this.#unwritten.length > 0 && !this.#named.has(hash)) {
      this.#unwritten.pop()
      return
    }
    await this.#write()
    await this.#inserting
    this.#working.disconnect(prevHash)
    this.#writer.forget()
  }

  #tip(): { readonly height: number; readonly hash: string } {
    return this.#unwritten.at(-1) ?? { height: this.#working.tipHeight, hash: this.#working.tipHash }
  }

  /** Folds the blocks at hand; their rows are on their way when it resolves, and those of the batch before have arrived. */
  async #write(): Promise<void> {
    const blocks = this.#unwritten
    if (blocks.length === 0) return
    if (this.#chain === undefined)
      throw new PoisonEvent('chain', this.#cursor + 1, 'a block before any epoch')
    const filter = this.#working.filter(this.#working.tipHeight)
    const ground = { filter, sums: await this.#working.sums(this.#options.db), writer: this.#number }
    const { rows, sums } = await this.#writer.fold(blocks, this.#chain, ground, true)
    for (const [index, { hash }] of blocks.entries()) {
      const after = sums[index]
      if (after === undefined) throw new Error('a block was not folded')
      this.#working.connect(hash, after)
    }
    this.#unwritten = []
    await this.#inserting
    this.#send(() => this.#writer.insert(rows, this.#number))
  }

  #show(head: Head): void {
    const { old, db } = this.#options
    const after = this.#shown
    this.#shown = head
    this.#working.settle(head.finalHeight)
    this.#send(() => copyHeads(old, db, { after, to: head, writer: this.#number }))
  }

  #send(insert: () => Promise<void>): void {
    this.#inserting = this.#inserting.then(insert)
    // Told by whoever waits for it.
    this.#inserting.catch(() => undefined)
  }

  /** So that the rich list is no slower than it was. */
  async #rank(): Promise<void> {
    const { db, logger } = this.#options
    const head = await latestHead(db)
    if (head === undefined) return
    const rankings = new RankingBuilder(db, logger, RANKING_TAIL)
    rankings.consider(await loadChainView(db, head), 0, false)
    await rankings.idle()
  }
}
