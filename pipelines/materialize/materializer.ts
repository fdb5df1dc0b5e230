import { setTimeout as sleep } from 'node:timers/promises'
import { isDefect, StartRefused } from '../errors.js'
import { offsetOf, positionOf } from '../events/positions.js'
import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import { type ChainView, loadChainView, nextChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { type Head, latestHead, writeHead } from '../tables/head.js'
import { migrate } from '../tables/migrate.js'
import { claimAgain, claimWriting, assertNewestWriter, newestWriter, numberAfter } from '../tables/writers.js'
import { Announcer } from './announce.js'
import { BlockWriter } from './apply/block-writer.js'
import { ChainReader } from './chain-reader.js'
import { DamageReporter } from './damage.js'
import { readDeadLetters, writeDeadLetter } from './dead-letters.js'
import type { ConnectedBlock } from './apply/decode.js'
import { headsOf, type PositionedEvent } from './events.js'
import { LogShrank, PoisonEvent } from './poison.js'
import { RankingBuilder } from './lists/ranking-builder.js'
import { lostHead, repair } from './rebuild/repair.js'
import { UnspentLister } from './lists/unspent-lister.js'
import { type Change, hashesOf, WorkingChain } from './working-chain.js'

/** Events folded at once: enough to make inserts large, few enough for memory. */
const BATCH_EVENTS = 100
const BATCH_BYTES = 4 << 20
/** More blocks at once, or to the node's height, and the chain is being filled. */
const FILLING_BLOCKS = 10
const IDLE_WAIT_MS = 250
const LOOK_ROUND_MS = 1000
const LONGEST_BACKOFF_MS = 2000

export interface MaterializerOptions {
  readonly db: Database
  readonly log: EventLog
  readonly logger: Logger
  /** Blocks below the tip that stay filtered by hash. */
  readonly finalityDepth: number
  /** Rows of balances above a ranking from which on a new one is built. */
  readonly rankingTail?: number
  /** Changes of a script's outputs from which on they are listed anew. */
  readonly listTail?: number
  /** Sends an invalid event that the poller refuses to replace to topic `dead-letters`, and goes on with the next. */
  readonly deadLetterPoison?: boolean
  readonly hooks?: MaterializerHooks
  readonly observer?: MaterializerObserver
}

/** What a materializer reports while it works. */
export interface MaterializerObserver {
  /** A batch was applied, or there was none: events read, and blocks that came and left. */
  worked(events: number, blocks: { readonly connected: number; readonly disconnected: number }): void
  /** A step failed and is tried again. */
  failed(error: unknown): void
}

/** For tests that interrupt it at a given point. */
export interface MaterializerHooks {
  /** Called when the rows of a head are written and the head is not. */
  readonly beforeHead?: (head: Head) => void | Promise<void>
  /** Called when a head is written and nobody was told. */
  readonly afterHead?: () => void
  /** Called when a head is announced and the log's own offset is not committed. */
  readonly afterAnnouncement?: () => void
  /** False leaves out what a start writes again: a control, to show that it is needed. */
  readonly repairs?: boolean
}

/** What a head has of the one before. */
type Succession = Pick<
  Head,
  'previous' | 'blocksBefore' | 'reorgsBefore' | 'writtenAt' | 'writer' | 'reached'
>

/** What is folded and not yet shown. */
interface Pending {
  position: number
  epoch: number
  sequence: bigint
  disconnected: string[]
  connected: string[]
  /** Whether a block has left since the last head. */
  isReorganising: boolean
}

/**
 * Folds topic `chain` into the tables and makes each settled state visible by one head row.
 * Delivery: exactly once in effect. Its position is in the head; what a crash leaves above it is invisible and is written
 * again, the same.
 */
export class Materializer {
  readonly #options: MaterializerOptions
  readonly #writer: BlockWriter
  readonly #announcer: Announcer
  readonly #rankings: RankingBuilder
  readonly #lister: UnspentLister
  #view: ChainView | undefined
  #working = new WorkingChain()
  #pending: Pending = fresh(undefined)
  #unwritten: ConnectedBlock[] = []
  readonly #damage: DamageReporter
  #reader: ChainReader | undefined
  /** Its number among the writers; nothing before the first start. */
  #writing: bigint | undefined
  /** The number under which it takes over from itself; after an error that may have happened or not. */
  #claiming: bigint | undefined
  /** The largest final height of a head that was shown under its number: readers may take all below it for settled. */
  #shownFinal = -1
  #lookedAt = 0

  /** Blocks connected and disconnected, heads written and damages of the log repaired since the start. */
  readonly counts = { connected: 0, disconnected: 0, heads: 0, healed: 0 }

  constructor(options: MaterializerOptions) {
    this.#options = options
    const beside = {
      writer: () => this.#number,
      onFailure: (error: unknown) => options.observer?.failed(error),
    }
    this.#lister = new UnspentLister(options.db, options.logger, { ...beside, tail: options.listTail })
    this.#writer = new BlockWriter(options.db, undefined, (changes) => {
      this.#lister.count(changes)
    })
    this.#announcer = new Announcer(options.log)
    this.#damage = new DamageReporter({ ...options, announcer: this.#announcer })
    this.#rankings = new RankingBuilder(options.db, options.logger, { ...beside, tail: options.rankingTail })
  }

  get head(): Head | undefined {
    return this.#view?.head
  }

  /** What it stands at in the log until the poller has repaired it; undefined where the log is sound. */
  get damage(): PoisonEvent | LogShrank | undefined {
    return this.#damage.damage
  }

  /**
   * Runs until the signal aborts. Waits for what is unreachable, and for the repair of a damaged log.
   * @throws what waiting does not fix: PoisonEvent of topic `dead-letters`, Superseded, MigrationMismatch, and errors of our own,
   *   refused queries included.
   */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      try {
        const moved = await this.step()
        failures = 0
        if (!moved) await this.#lookRound()
        if (!moved) await this.#options.log.wait('chain', this.#next, IDLE_WAIT_MS, signal)
      } catch (error) {
        if (error instanceof PoisonEvent || error instanceof StartRefused || isDefect(error)) throw error
        // It may be rows that were lost.
        this.#reader = undefined
        this.#options.observer?.failed(error)
        const waitMs = Math.min(LONGEST_BACKOFF_MS, 100 * 2 ** failures++)
        this.#options.logger.warn({ err: error, waitMs }, 'applying events failed, retrying')
        await sleep(waitMs, undefined, { signal }).catch(() => undefined)
      }
    }
  }

  /** Resolves when nothing is being written beside the fold. */
  async idle(): Promise<void> {
    await Promise.all([this.#rankings.idle(), this.#lister.idle()])
  }

  /** Ends what is written beside the fold, after the step that is under way; a later start goes on with it. */
  async close(): Promise<void> {
    await Promise.all([this.#rankings.close(), this.#lister.close()])
  }

  /**
   * Applies the next batch of events, if there are any, and passes the newest heartbeat on. At damage it reports it instead.
   * @returns whether there were any. After an error the state is read from the tables again.
   */
  async step(): Promise<boolean> {
    const { connected, disconnected } = this.counts
    try {
      this.#reader ??= await this.#start()
      const events = await this.#reader.take(BATCH_EVENTS, BATCH_BYTES)
      if (this.#damage.repaired(this.#reader.damage)) this.counts.healed++
      if (events !== undefined) await this.#applyBatch(events)
      await this.#announcer.heartbeat()
      await this.#noteReached()
      this.#considerRanking(this.counts.connected - connected)
      this.#options.observer?.worked(events?.length ?? 0, {
        connected: this.counts.connected - connected,
        disconnected: this.counts.disconnected - disconnected,
      })
      return events !== undefined
    } catch (error) {
      if (error instanceof LogShrank || (error instanceof PoisonEvent && error.topic === 'chain'))
        return await this.#standAt(error)
      this.#reader = undefined
      if (this.#options.deadLetterPoison !== true || !(error instanceof PoisonEvent)) throw error
      return await this.#deadLetter(error)
    }
  }

  /** Reports damage in the log, for the poller to repair it. @returns whether to go on at once. */
  async #standAt(damage: PoisonEvent | LogShrank): Promise<boolean> {
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
    return true
  }

  /** Tells the explorers that it stands still, and why. */
  async alert(why: Error): Promise<void> {
    await this.#announcer.alert(why)
  }

  /** Where something new may be in topic `chain`. */
  get #next(): number {
    return this.#reader?.next ?? 0
  }

  async #start(): Promise<ChainReader> {
    const { db, log, logger } = this.#options
    // Not again: one that was dropped after another took its place must not come back.
    if (this.#writing === undefined) await migrate(db)
    await db.pinEngineRun()
    // Once in its life: one that was superseded must not take over again by itself.
    if (this.#writing === undefined)
      this.#writing = await claimWriting(db, (await latestHead(db))?.position ?? -1)
    else {
      if ((await newestWriter(db)) === this.#claiming) this.#writing = this.#claiming
      await assertNewestWriter(db, this.#writing)
    }
    const head = await latestHead(db)
    this.#shownFinal = Math.max(this.#shownFinal, head?.finalHeight ?? -1)
    this.#view = head === undefined ? undefined : await loadChainView(db, head)
    this.#reset()
    this.#writer.forget()
    const deadLettered = await readDeadLetters(log)
    const lost = head && (await lostHead(log, head))
    if (head !== undefined && this.#view !== undefined) {
      const rewriting = { db, log, writer: this.#writer, chain: this.#working, number: () => this.#number }
      const repairs = lost === undefined && this.#options.hooks?.repairs !== false
      if (repairs) await repair(rewriting, head, logger)
      await this.#announcer.head(this.#view)
      // What stood before that in topic `committed` counts no more.
      this.#damage.reportAgain()
    }
    logger.info(
      { position: head?.position ?? -1, height: head?.tipHeight ?? -1, last: await log.last('chain') },
      'materializing',
    )
    return this.#readerAt(lost, deadLettered)
  }

  /** A reader behind the head. */
  #readerAt(lost: LogShrank | undefined, deadLettered: ReadonlySet<number> = new Set()): ChainReader {
    const { db, log } = this.#options
    const hashAt = hashesOf(db, () => this.#working)
    return new ChainReader({ log, deadLettered, lost, head: this.head, decodes: true, hashAt })
  }

  /** Looks now and then whether another has taken over, or rows were lost: nothing else tells one that has nothing to write. */
  async #lookRound(): Promise<void> {
    if (performance.now() - this.#lookedAt < LOOK_ROUND_MS) return
    await assertNewestWriter(this.#options.db, this.#number)
    await this.#options.db.assertNoLostWrites()
    // A log that was replaced by a shorter one brings no event that tells so.
    if (this.#reader?.isBeyond(await this.#options.log.last('chain')) === true) this.#reader = undefined
    await this.#announcer.lookRound()
    this.#lookedAt = performance.now()
  }

  get #number(): bigint {
    if (this.#writing === undefined) throw new Error('cannot write before the start')
    return this.#writing
  }

  #reset(): void {
    this.#working = new WorkingChain(this.#view)
    this.#pending = fresh(this.#view?.head)
    this.#unwritten = []
  }

  /** Applies events and publishes each state that may be published, with a head of its own for each reorganisation. */
  async #applyBatch(events: readonly PositionedEvent[]): Promise<void> {
    const heads = headsOf(events, this.#pending.isReorganising)
    for (const head of heads) {
      await this.#apply(head)
      await this.#show()
    }
    await this.#apply(events.slice(heads.reduce((sum, head) => sum + head.length, 0)))
  }

  async #apply(events: readonly PositionedEvent[]): Promise<void> {
    for (const event of events) this.#applyEvent(event)
    await this.#writeBlocks()
  }

  #applyEvent(positioned: PositionedEvent): void {
    const { position, block, event } = positioned
    this.#pending.position = positionOf(event.generation, position)
    this.#pending.epoch = event.epoch
    this.#pending.sequence = event.sequence
    const change = this.#working.apply(positioned)
    if (change?.kind === 'disconnected') this.#disconnect(change)
    if (change?.kind !== 'connected') return
    if (block === undefined) throw new Error('the reader did not decode a block')
    this.#unwritten.push(block)
    this.counts.connected++
  }

  #disconnect({ hash, prevHash }: Change): void {
    this.counts.disconnected++
    this.#pending.isReorganising = true
    // Connected and disconnected within a batch: it leaves no row.
    if (this.#unwritten.pop() !== undefined) return
    if (this.#pending.connected.pop() === undefined) this.#pending.disconnected.push(hash)
    this.#writer.disconnected(this.#working.written.height)
    this.#working.leave(prevHash)
  }

  async #writeBlocks(): Promise<void> {
    const blocks = this.#unwritten
    const [first] = blocks
    if (first === undefined) return
    await this.#lowerFinality(first.height - 1)
    const parent = await this.#working.parentState(this.#options.db, this.#number)
    this.#working.write(blocks, await this.#writer.write(blocks, parent, true))
    this.#pending.connected.push(...blocks.map(({ hash }) => hash))
    this.#unwritten = []
  }

  /**
   * Readers do not filter by hash at and below the final height of their head. Before rows of another branch are written there,
   * a head shows the same state with a lower final height, and then the number of the writer changes: whoever has read under
   * the last one finds that out when it is done, and reads again under the new head.
   */
  async #lowerFinality(fork: number): Promise<void> {
    const { head } = this
    if (head === undefined || fork >= this.#shownFinal) return
    const { db, logger } = this.#options
    logger.warn({ from: this.#shownFinal, to: fork }, 'reorganisation below the final height')
    // The steps of a ranking, and lists, trust the old final height.
    await Promise.all([this.#rankings.abandonAbove(fork), this.#lister.pause()])
    const lowered = fork < head.finalHeight ? this.#again(head, { finalHeight: fork }) : head
    if (lowered !== head) await writeHead(db, lowered)
    this.#claiming = numberAfter(this.#number)
    await claimAgain(db, { last: this.#number, next: this.#claiming }, lowered.position)
    this.#writing = this.#claiming
    this.#shownFinal = lowered.finalHeight
    this.#view = await loadChainView(db, lowered)
    await this.#announcer.head(this.#view)
  }

  /** Writes into the head, once in the index's life, that it is as high as the node: readers then believe that there is no more. */
  async #noteReached(): Promise<void> {
    const { head } = this
    const { nodeHeight } = this.#announcer
    if (head === undefined || head.reached || nodeHeight === undefined || head.tipHeight < nodeHeight) return
    const { db, logger } = this.#options
    const again = this.#again(head, { reached: true })
    await writeHead(db, again)
    this.#view = await loadChainView(db, again)
    await this.#announcer.head(this.#view)
    logger.info({ height: head.tipHeight }, 'index level with the node')
  }

  /** A head of the same state, but for this, that takes the place of one. */
  #again(head: Head, change: Partial<Pick<Head, 'finalHeight' | 'reached'>>): Head {
    return {
      ...head,
      ...{ disconnected: [], connected: [] },
      ...this.#after(head),
      ...change,
    }
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

  #considerRanking(connected: number): void {
    if (this.#view === undefined) return
    const behind = (this.#announcer.nodeHeight ?? -1) - this.#view.head.tipHeight
    const isFilling = Math.max(connected, behind) > FILLING_BLOCKS
    this.#rankings.consider(this.#view, this.#writer.balanceRows, isFilling)
    this.#lister.consider(this.#view, isFilling)
    this.#writer.balanceRows = 0
  }

  /** Makes the folded state visible. */
  async #show(): Promise<void> {
    const { db, log, logger, finalityDepth, hooks } = this.#options
    const head = this.#nextHead(finalityDepth)
    if (head === undefined) return
    await hooks?.beforeHead?.(head)
    // Before it is written: after an error it may be there all the same.
    this.#shownFinal = Math.max(this.#shownFinal, head.finalHeight)
    await writeHead(db, head)
    hooks?.afterHead?.()
    this.#view = await nextChainView(db, this.#view, [head])
    await this.#announcer.head(this.#view)
    hooks?.afterAnnouncement?.()
    await log.commit('chain', 'materializer', offsetOf(head.position))
    this.counts.heads++
    if (head.disconnected.length > 0)
      logger.info({ depth: head.disconnected.length, tip: head.tipHash }, 'reorganised')
    this.#reset()
  }

  #nextHead(finalityDepth: number): Head | undefined {
    const { position, epoch, sequence, disconnected, connected } = this.#pending
    const { network, written } = this.#working
    if (network === undefined) return undefined
    // A block that left and came back is where it was.
    while (disconnected.length > 0 && disconnected.at(-1) === connected[0]) {
      disconnected.pop()
      connected.shift()
    }
    return {
      ...{ position, chain: network.name, tipHeight: written.height, tipHash: written.hash },
      finalHeight: Math.max(-1, written.height - finalityDepth),
      ...{ epoch, sequence, disconnected, connected },
      ...this.#after(this.head),
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
