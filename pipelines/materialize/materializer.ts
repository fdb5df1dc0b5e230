import { pause } from '../pause.js'
import { hexOf } from '../chain/hash.js'
import { isDefect, StartRefused } from '../errors.js'
import { offsetOf, positionOf } from '../events/positions.js'
import { type ChainView, continuedView, loadChainView, nextChainView } from '../tables/chain-view.js'
import { type Head, latestHead, writeHead } from '../tables/head.js'
import { postponeMerges, resumeMerges } from '../tables/merges.js'
import { createTables } from '../tables/schema-version.js'
import { claimAgain, claimWriting, assertNewestWriter, newestWriter, numberAfter } from '../tables/writers.js'
import { Announcer } from './announce.js'
import { BATCH_BYTES, BATCH_EVENTS, BlockPipeline, CACHED_SCRIPTS } from './apply/block-pipeline.js'
import { BlockWriter } from './apply/block-writer.js'
import { ChainReader } from './chain-reader.js'
import { DamageReporter } from './damage.js'
import { readDeadLetters, writeDeadLetter } from './dead-letters.js'
import { headsOf, type PositionedEvent } from './events.js'
import { assertNamed, assertOneChain, chainOfLog } from './one-chain.js'
import { LogCut } from './log-cut.js'
import type { MaterializerOptions } from './options.js'
import { LogShrank, PoisonEvent } from './poison.js'
import { BalanceWriting } from './rebuild/balance-writing.js'
import { RankingBuilder } from './lists/ranking-builder.js'
import { lostHead, repair } from './rebuild/repair.js'
import { UnspentLister } from './lists/unspent-lister.js'
import { type Change, hashesOf, WorkingChain } from './working-chain.js'

export type { MaterializerHooks, MaterializerObserver, MaterializerOptions } from './options.js'

/** The number of blocks in one batch, or below the node's tip, above which the chain counts as being backfilled. */
const FILLING_BLOCKS = 10
/** The number of blocks below the node's tip above which merges of a new index are postponed: fewer are soon written. */
const POSTPONING_BLOCKS = 1000
/** The time for which a batch waits for more blocks while the node has many more: large inserts cost less. */
const GATHER_MS = 1500
const IDLE_WAIT_MS = 250
const CHECK_MS = 1000
const MAX_BACKOFF_MS = 2000

/** The columns of a head that derive from the previous head. */
type Succession = Pick<
  Head,
  'previous' | 'blocksBefore' | 'reorgsBefore' | 'writtenAt' | 'writer' | 'reached'
>

/** Changes that are applied and not yet published. */
interface Pending {
  position: number
  epoch: number
  sequence: bigint
  disconnected: string[]
  connected: string[]
  /** True if a block was disconnected since the last head. */
  isReorganising: boolean
}

/**
 * Applies topic `chain` to the tables, and publishes each settled state with one row of `heads`. Delivery: exactly once in
 * effect. The head contains its position in the log. Rows that a crash leaves above it are invisible, and are written again
 * with the same contents.
 */
export class Materializer {
  readonly #options: MaterializerOptions
  readonly #writer: BlockWriter
  readonly #announcer: Announcer
  readonly #rankings: RankingBuilder
  readonly #balances: BalanceWriting
  readonly #lister: UnspentLister
  readonly #cut: LogCut
  #view: ChainView | undefined
  #working = new WorkingChain()
  #pending: Pending = fresh(undefined)
  #pipeline: BlockPipeline
  /** The newest head that is published, or will be after the running inserts. */
  #planned: Head | undefined
  /** True if the reader decodes all blocks: after an invalid block, to apply the blocks before it and to report its position. */
  #decodes = false
  readonly #damage: DamageReporter
  #reader: ChainReader | undefined
  /** Its writer number; undefined before the first start. */
  #writing: bigint | undefined
  /** The writer number under which it takes over from itself; after an error it is unknown whether it did. */
  #claiming: bigint | undefined
  /** The largest final height of the heads published under its number: readers may consider everything below it final. */
  #publishedFinal = -1
  #checkedAt = 0
  /** Ends `run`. */
  #signal: AbortSignal | undefined
  /** Undefined after the start: an earlier process may have postponed them. */
  #postponesMerges: boolean | undefined

  /** The numbers of blocks connected and disconnected, heads written and damages of the log repaired since the start. */
  readonly counts = { connected: 0, disconnected: 0, heads: 0, healed: 0 }

  constructor(options: MaterializerOptions) {
    this.#options = options
    const background = {
      writer: () => this.#number,
      onFailure: (error: unknown) => options.observer?.failed(error),
    }
    this.#lister = new UnspentLister(options.db, options.logger, { ...background, tail: options.listTail })
    const onChanges = (changes: ReadonlyMap<string, number>): void => {
      this.#lister.count(changes)
    }
    this.#writer = new BlockWriter(options.db, CACHED_SCRIPTS, onChanges, options.hasBodies)
    this.#pipeline = this.#newPipeline()
    this.#announcer = new Announcer(options.log)
    this.#cut = new LogCut(options)
    this.#damage = new DamageReporter({ ...options, announcer: this.#announcer })
    this.#rankings = new RankingBuilder(options.db, options.logger, {
      ...background,
      tail: options.rankingTail,
    })
    const { db, log } = options
    const [writer, rankings] = [this.#writer, this.#rankings]
    this.#balances = new BalanceWriting({ db, log, writer, rankings, number: () => this.#number })
  }

  get head(): Head | undefined {
    return this.#view?.head
  }

  /** The damage in the log at which it waits for the poller's repair; undefined for none. */
  get damage(): PoisonEvent | LogShrank | undefined {
    return this.#damage.damage
  }

  /**
   * Runs until the signal aborts. Waits for unreachable servers, and for the repair of a damaged log.
   * @throws errors that waiting does not fix: PoisonEvent of topic `dead-letters`, StartRefused (among them Superseded and
   * SchemaMismatch), and defects, which include refused queries.
   */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0
    this.#signal = signal
    while (!signal.aborted) {
      try {
        const moved = await this.step()
        failures = 0
        if (!moved) await this.#check()
        if (!moved) await this.#options.log.wait('chain', this.#next, IDLE_WAIT_MS, signal)
      } catch (error) {
        if (error instanceof PoisonEvent || error instanceof StartRefused || isDefect(error)) throw error
        // Rows may have been lost.
        this.#reader = undefined
        this.#options.observer?.failed(error)
        const waitMs = Math.min(MAX_BACKOFF_MS, 100 * 2 ** failures++)
        this.#options.logger.warn({ err: error, waitMs }, 'applying events failed, retrying')
        await pause(waitMs, signal)
      }
    }
  }

  /** Resolves when nothing is being built in the background. */
  async idle(): Promise<void> {
    await Promise.all([this.#rankings.idle(), this.#lister.idle()])
  }

  /**
   * Waits for the running inserts, and stops the background builds after their current steps; a later start continues them. Call
   * it after `run`.
   */
  async close(): Promise<void> {
    await this.#pipeline.settled()
    await Promise.all([this.#pipeline.rest(), this.#rankings.close(), this.#lister.close()])
  }

  /**
   * Applies the next batch of events, if there are any, and publishes the newest heartbeat. Reports damage of the log instead.
   * After an error the next step reads the state from the tables again.
   * @returns whether there were events.
   */
  async step(): Promise<boolean> {
    const { connected, disconnected } = this.counts
    try {
      this.#reader ??= await this.#start()
      const events = await this.#take(this.#reader)
      if (this.#damage.repaired(this.#reader.damage)) {
        this.counts.healed++
        this.#decodes = false
      }
      if (events !== undefined) await this.#applyBatch(events)
      // Also while the poller is the slower one.
      const isFilling = this.#isFilling(this.counts.connected - connected)
      if (events === undefined || !isFilling) await this.#finish()
      await this.#announcer.heartbeat()
      await this.#noteReached()
      await this.#considerMerges()
      await this.#considerLists(isFilling)
      await this.#cut.consider(this.head)
      this.#options.observer?.worked(events?.length ?? 0, {
        connected: this.counts.connected - connected,
        disconnected: this.counts.disconnected - disconnected,
      })
      return events !== undefined
    } catch (error) {
      if (error instanceof LogShrank || (error instanceof PoisonEvent && error.topic === 'chain')) {
        if (this.#decodes || this.#reader === undefined || this.#reader.damage !== undefined)
          return await this.#standAt(error)
        // The reader is already ahead of the invalid block.
        this.#decodes = true
        this.#reader = undefined
        return true
      }
      this.#reader = undefined
      if (this.#options.deadLetterPoison !== true || !(error instanceof PoisonEvent)) throw error
      return await this.#deadLetter(error)
    }
  }

  /** Reports damage in the log, for the poller to repair it. @returns whether to continue at once. */
  async #standAt(damage: PoisonEvent | LogShrank): Promise<boolean> {
    await this.#pipeline.sent()
    // A log that was empty at the start may be that of another chain by now: no repair leads from one to the other.
    await assertOneChain(this.#options, this.#options.chain)
    const { head } = this
    const shrank = damage instanceof LogShrank ? damage : undefined
    const common = (head?.tipHeight ?? -1) - this.#pending.disconnected.length
    const reader = this.#reader ?? this.#readerAt(shrank)
    if (await this.#damage.report(damage, { head, common, neededAbove: shrank?.below, reader }))
      this.#options.observer?.failed(damage)
    if (this.#damage.refusal === '' || damage instanceof LogShrank) return false
    return this.#options.deadLetterPoison === true && this.#deadLetter(damage)
  }

  async #deadLetter(poison: PoisonEvent): Promise<boolean> {
    const { code, topic, position, message } = poison
    this.#options.logger.error({ code, topic, position }, `sent to topic dead-letters: ${message}`)
    await writeDeadLetter(this.#options.log, poison)
    this.#damage.forget()
    this.#reader = undefined
    this.#decodes = false
    return true
  }

  /** Reports to the explorers that the materializer has stopped, and why. */
  async alert(why: Error): Promise<void> {
    await this.#announcer.alert(why)
  }

  /** The position of topic `chain` at which the next event is expected. */
  get #next(): number {
    return this.#reader?.next ?? 0
  }

  async #start(): Promise<ChainReader> {
    const { db, log, logger } = this.#options
    // What is still running may publish heads.
    await this.#pipeline.settled()
    await this.#pipeline.rest()
    // Only at the first start: a database that was dropped after another replaced it must not be created again.
    if (this.#writing === undefined) {
      assertNamed(await chainOfLog(log), this.#options.chain)
      await createTables(db)
      await assertOneChain(this.#options, this.#options.chain)
    }
    await db.pinEngineRun()
    // Only at the first start: a superseded materializer must not take over again by itself.
    if (this.#writing === undefined)
      this.#writing = await claimWriting(db, (await latestHead(db))?.position ?? -1)
    else {
      if ((await newestWriter(db)) === this.#claiming) this.#writing = this.#claiming
      await assertNewestWriter(db, this.#writing)
    }
    const head = await latestHead(db)
    this.#publishedFinal = Math.max(this.#publishedFinal, head?.finalHeight ?? -1)
    this.#view = head === undefined ? undefined : await loadChainView(db, head)
    this.#reset()
    this.#writer.forget()
    await this.#balances.start()
    const deadLettered = await readDeadLetters(log)
    const lost = head && (await lostHead(log, head))
    if (head !== undefined && this.#view !== undefined) {
      const rewriting = { db, log, writer: this.#writer, chain: this.#working, number: () => this.#number }
      const repairs = lost === undefined && this.#options.hooks?.repairs !== false
      if (repairs) await repair(rewriting, head, logger)
      await this.#announcer.head(head, this.#view)
      // A head in topic `committed` clears the reports before it.
      this.#damage.reportAgain()
    }
    logger.info(
      { position: head?.position ?? -1, height: head?.tipHeight ?? -1, last: await log.last('chain') },
      'materializing',
    )
    return this.#readerAt(lost, deadLettered)
  }

  /** Returns a reader of the events after the head. */
  #readerAt(lost: LogShrank | undefined, deadLettered: ReadonlySet<number> = new Set()): ChainReader {
    const { db, log } = this.#options
    const hashAt = hashesOf(db, () => this.#working)
    return new ChainReader({ log, deadLettered, lost, head: this.head, decodes: this.#decodes, hashAt })
  }

  /** Checks every second whether another materializer has taken over, or rows were lost: without writes nothing else shows it. */
  async #check(): Promise<void> {
    if (performance.now() - this.#checkedAt < CHECK_MS) return
    await assertNewestWriter(this.#options.db, this.#number)
    await this.#options.db.assertNoLostWrites()
    // No event shows that the log was replaced by a shorter one.
    if (this.#reader?.isBeyond(await this.#options.log.last('chain')) === true) this.#reader = undefined
    await this.#announcer.check()
    this.#checkedAt = performance.now()
  }

  get #number(): bigint {
    if (this.#writing === undefined) throw new Error('cannot write before the start')
    return this.#writing
  }

  #reset(): void {
    this.#working = new WorkingChain(this.#view)
    this.#pending = fresh(this.#view?.head)
    this.#planned = this.#view?.head
    this.#pipeline = this.#newPipeline()
  }

  #newPipeline(): BlockPipeline {
    return new BlockPipeline({
      db: this.#options.db,
      writer: this.#writer,
      chain: () => this.#working,
      number: () => this.#number,
    })
  }

  /** Reads the next events; while the node has many more blocks, waits a little for a larger batch. */
  async #take(reader: ChainReader): Promise<PositionedEvent[] | undefined> {
    const events = await reader.take(BATCH_EVENTS, BATCH_BYTES)
    const until = performance.now() + GATHER_MS
    let bytes = 0
    for (let counted = 0; events !== undefined;) {
      for (; counted < events.length; counted++) bytes += events[counted]?.value.length ?? 0
      const leftMs = until - performance.now()
      const isFull = events.length >= BATCH_EVENTS || bytes >= BATCH_BYTES
      // Nothing is read beyond damage, so that the events before it are applied first.
      if (
        isFull ||
        leftMs <= 0 ||
        this.#signal?.aborted === true ||
        reader.damage !== undefined ||
        this.#behind(events.length) <= FILLING_BLOCKS
      )
        break
      await this.#options.log.wait('chain', reader.next, Math.min(leftMs, IDLE_WAIT_MS), this.#signal)
      await this.#announcer.heartbeat()
      events.push(...((await reader.take(BATCH_EVENTS - events.length, BATCH_BYTES - bytes)) ?? []))
    }
    return events
  }

  /** Returns how many blocks the node has above the newest head and `more` blocks. */
  #behind(more: number): number {
    return (this.#announcer.nodeHeight ?? -1) - (this.#planned?.tipHeight ?? -1) - more
  }

  /** Returns whether the chain is being backfilled. @param connected the number of blocks of the last batch. */
  #isFilling(connected: number): boolean {
    return Math.max(connected, this.#behind(0)) > FILLING_BLOCKS
  }

  /** Waits until all applied blocks are published. */
  async #finish(): Promise<void> {
    await this.#pipeline.sent()
    await this.#pipeline.rest()
  }

  /** Applies events, and publishes each state that may be published, with a separate head for each reorganisation. */
  async #applyBatch(events: readonly PositionedEvent[]): Promise<void> {
    const { height } = this.#working.written
    const final = (this.#announcer.nodeHeight ?? Number.POSITIVE_INFINITY) - this.#options.finalityDepth
    await this.#balances.resumeBefore(height, height + events.length, final)
    const heads = headsOf(events, this.#pending.isReorganising)
    for (const head of heads) {
      await this.#apply(head)
      this.#publish()
    }
    await this.#apply(events.slice(heads.reduce((sum, head) => sum + head.length, 0)))
  }

  async #apply(events: readonly PositionedEvent[]): Promise<void> {
    for (const event of events) await this.#applyEvent(event)
    await this.#pipeline.applyAll()
  }

  async #applyEvent(positioned: PositionedEvent): Promise<void> {
    const { position, value, event } = positioned
    this.#pending.position = positionOf(event.generation, position)
    this.#pending.epoch = event.epoch
    this.#pending.sequence = event.sequence
    const change = this.#working.apply(positioned)
    if (event.event.case === 'epochStarted')
      assertNamed(
        {
          where: 'the log',
          name: event.event.value.chain,
          genesisHash: hexOf(event.event.value.genesisHash),
        },
        this.#options.chain,
      )
    if (change?.kind === 'disconnected') await this.#disconnect(change)
    if (change?.kind !== 'connected') return
    this.counts.connected++
    await this.#lowerFinality(change.height - 1)
    this.#pending.connected.push(change.hash)
    await this.#pipeline.add({ position, value, hash: change.hash })
  }

  async #disconnect({ hash, prevHash }: Change): Promise<void> {
    this.counts.disconnected++
    this.#pending.isReorganising = true
    if (this.#pending.connected.pop() === undefined) this.#pending.disconnected.push(hash)
    // Such a block has left no rows.
    if (this.#pipeline.remove()) return
    await this.#pipeline.applyAll()
    await this.#pipeline.sent()
    this.#writer.disconnected(this.#working.written)
    this.#working.leave(prevHash)
  }

  /**
   * Lowers the final height before rows of another branch are written at or below it, where readers do not filter by hash:
   * publishes a head of the current state with a lower final height, and then changes the writer number. Readers that have read
   * under the previous number notice that afterwards, and read again under the new head.
   */
  async #lowerFinality(fork: number): Promise<void> {
    if (this.#planned === undefined || fork >= this.#publishedFinal) return
    await this.#pipeline.sent()
    const { head } = this
    if (head === undefined) return
    const { db, logger } = this.#options
    logger.warn({ from: this.#publishedFinal, to: fork }, 'reorganisation below the final height')
    // The steps of a ranking, and lists, rely on the old final height.
    await Promise.all([this.#rankings.abandonAbove(fork), this.#lister.pause()])
    const lowered = fork < head.finalHeight ? this.#revised(head, { finalHeight: fork }) : head
    if (lowered !== head) await writeHead(db, lowered)
    this.#claiming = numberAfter(this.#number)
    await claimAgain(db, { last: this.#number, next: this.#claiming }, lowered.position)
    this.#writing = this.#claiming
    this.#publishedFinal = lowered.finalHeight
    this.#planned = lowered
    this.#view = await loadChainView(db, lowered)
    await this.#announcer.head(lowered, this.#view)
  }

  /** Notes in the head, once per index, that the index has reached the node: from then on readers trust empty results. */
  async #noteReached(): Promise<void> {
    const { head } = this
    const { nodeHeight, isDownloading } = this.#announcer
    if (head === undefined || head !== this.#planned || isDownloading) return
    if (head.reached || nodeHeight === undefined || head.tipHeight < nodeHeight) return
    const { db, logger } = this.#options
    const revised = this.#revised(head, { reached: true })
    await writeHead(db, revised)
    this.#planned = revised
    this.#view = await loadChainView(db, revised)
    await this.#announcer.head(revised, this.#view)
    logger.info({ height: head.tipHeight }, 'index level with the node')
  }

  /**
   * Postpones merges until the index has reached the node for the first time, because until then readers do not rely on it. A server
   * of a cluster that is not reached at that moment resumes merging when the materializer starts again.
   */
  async #considerMerges(): Promise<void> {
    const isNew = this.head?.reached !== true
    const postpones = isNew && this.#behind(0) > POSTPONING_BLOCKS
    if (this.#postponesMerges === postpones || (isNew && !postpones)) return
    const { db } = this.#options
    await (postpones ? postponeMerges(db) : resumeMerges(db))
    this.#postponesMerges = postpones
  }

  /** Returns a head of the current state with changed columns, which replaces the head. */
  #revised(head: Head, change: Partial<Pick<Head, 'finalHeight' | 'reached'>>): Head {
    return { ...head, disconnected: [], connected: [], ...this.#after(head), ...change }
  }

  #after(head: Head | undefined): Succession {
    return {
      previous: head?.position ?? -1,
      blocksBefore: (head?.blocksBefore ?? 0) + (head?.connected.length ?? 0),
      reorgsBefore:
        (head?.reorgsBefore ?? 0) + (head === undefined || head.disconnected.length === 0 ? 0 : 1),
      writtenAt: Math.max(Date.now(), (head?.writtenAt ?? 0) + 1),
      writer: this.#number,
      reached: head?.reached ?? false,
    }
  }

  async #considerLists(isFilling: boolean): Promise<void> {
    if (this.#view === undefined) return
    const { balanceRows } = this.#writer
    this.#writer.balanceRows = 0
    const isPublished = this.#working.written.hash === this.#view.head.tipHash
    await this.#balances.consider(balanceRows, isFilling, isPublished ? this.#view : undefined)
    this.#rankings.consider(this.#view, balanceRows, isFilling)
    this.#lister.consider(this.#view, isFilling)
  }

  /** Publishes the applied state, after the rows of its blocks are inserted. */
  #publish(): void {
    const head = this.#nextHead(this.#options.finalityDepth)
    if (head === undefined) return
    // Noted before the write, which may succeed even if it returns an error.
    this.#publishedFinal = Math.max(this.#publishedFinal, head.finalHeight)
    this.#planned = head
    this.#pending = fresh(head)
    this.#pipeline.queue(() => this.#publishHead(head))
  }

  async #publishHead(head: Head): Promise<void> {
    const { db, log, logger, hooks } = this.#options
    await hooks?.beforeHead?.(head)
    await writeHead(db, head)
    hooks?.afterHead?.()
    const before = this.#view
    const chain = before && continuedView(before, [head])
    if (chain !== undefined) await this.#announcer.head(head, chain)
    this.#view = await nextChainView(db, before, [head])
    if (chain === undefined) await this.#announcer.head(head, this.#view)
    hooks?.afterAnnouncement?.()
    await this.#working.settle(db, head.finalHeight, this.#view.stale)
    await log.commit('chain', 'materializer', offsetOf(head.position))
    this.counts.heads++
    if (head.disconnected.length > 0)
      logger.info({ depth: head.disconnected.length, tip: head.tipHash }, 'reorganised')
  }

  #nextHead(finalityDepth: number): Head | undefined {
    const { position, epoch, sequence, disconnected, connected } = this.#pending
    const { network, written } = this.#working
    if (network === undefined) return undefined
    // Blocks that were disconnected and connected again have not changed.
    while (disconnected.length > 0 && disconnected.at(-1) === connected[0]) {
      disconnected.pop()
      connected.shift()
    }
    return {
      position,
      chain: network.name,
      tipHeight: written.height,
      tipHash: written.hash,
      finalHeight: Math.max(-1, written.height - finalityDepth),
      epoch,
      sequence,
      disconnected,
      connected,
      ...this.#after(this.#planned),
    }
  }
}

function fresh(head: Head | undefined): Pending {
  return {
    position: head?.position ?? -1,
    epoch: head?.epoch ?? 0,
    sequence: head?.sequence ?? -1n,
    disconnected: [],
    connected: [],
    isReorganising: false,
  }
}
