import {
  Alert_Kind,
  CommittedEventSchema,
  type Alert,
  type CommittedEvent,
  type HeartbeatApplied,
} from '../../../../proto/gen/headwater/events/v1/events_pb.js'
import { hexOf } from '../../../../pipelines/chain/hash.js'
import { networkNamed } from '../../../../pipelines/chain/networks.js'
import { WrongChainError } from '../../../../pipelines/errors.js'
import type { Logger } from '../../../../pipelines/logger.js'
import type { EventLog, LogRecord } from '../../../../pipelines/log/port.js'
import { batchesBack, messageIn } from '../../../../pipelines/log/records.js'
import { assertOneChain } from '../../../../pipelines/materialize/one-chain.js'
import { type Database, DatabaseUnavailable, TableMissing } from '../../../../pipelines/tables/clickhouse.js'
import {
  type ChainView,
  continuedView,
  loadChainView,
  nextChainView,
} from '../../../../pipelines/tables/chain-view.js'
import { type Head, headsAfter, latestHead, MAX_HEADS } from '../../../../pipelines/tables/head.js'
import { SchemaMismatch, tablesOf } from '../../../../pipelines/tables/schema-version.js'
import { servingDatabase } from '../../../../pipelines/tables/serving.js'
import { newestClaim, newestFence } from '../../../../pipelines/tables/writers.js'
import type { FeedWriter } from '../feed/feed-writer.js'
import { overlayBySearch, overlaysOf, type TxidsOf } from '../state/overlay.js'
import type { MempoolFollower } from './mempool-follower.js'
import { nextCanonicalBlocks } from '../tables/canonical-blocks.js'
import { AnnouncedHeads } from './announced-heads.js'
import { touchedBy } from './touched.js'
import { type Days, grownDays, nextDays } from '../state/days.js'
import { newBlocks } from '../tables/new-blocks.js'
import { commonLength, nextRecentBlocks, type RecentBlocks } from '../state/recent-blocks.js'
import { retrying } from '../tables/retry.js'
import { endsBefore } from '../../../../pipelines/log/replacement.js'
import { pause } from '../../../../pipelines/pause.js'
import { type ChainState, NO_CHAIN, type State } from '../state/state.js'
import { type AppliedHeartbeat, nodeProgress } from '../state/indexer-status.js'
import type { ServingTables } from '../tables/serving-tables.js'
import type { Tables } from '../tables/tables.js'
import { blockKey } from '../tables/point-keys.js'
import { BlockContents } from '../tables/transactions.js'

export interface HeadFollowerParts {
  readonly state: State
  readonly writer: FeedWriter
  readonly mempool: MempoolFollower
  readonly log: EventLog
  /** The configured database; if another database has replaced it, that database is looked up. */
  readonly db: Database
  /** The tables of `db` at first; moved to another database together with the state. */
  readonly tables: ServingTables
  /** Returns the tables of another database of the same server. */
  readonly tablesOf: (db: Database) => Tables
  readonly logger: Logger
  /** The name of the network that log and tables must be of; undefined for any. */
  readonly chain?: string | undefined
  /** Called at each defect; following continues. */
  readonly onDefect?: () => void
  /** Called when the materializer reports a defect. */
  readonly onIndexerDefect?: () => void
}

/** The reasons for which an explorer cannot run with its database. */
export type Refusal = SchemaMismatch | WrongChainError

/** A database and its tables for reads. */
interface Source {
  readonly db: Database
  readonly tables: Tables
}

const READ_AT_ONCE = 256
const WAIT_MS = 1_000
/** An explorer that is further behind the node is in a backfill. */
const MAX_BLOCKS_BEHIND = 6
/** Heads that connect more blocks come from a backfill: instead of reading these, the mempool is looked up in the chain. */
const MAX_BLOCKS_READ = 2_000
/** More new blocks would make the conditions of `continuedView` too long. */
const MAX_BLOCKS_CONTINUED = 100

/**
 * Follows topic `committed`. Applied heartbeats are stored immediately. An announced head is read from the tables, adopted in one
 * turn together with its changes of the mempool, and then published to the feed, in this order. After a switch to another
 * database, its complete state is read beside the old one, and adopted in one turn together with its tables.
 */
export class HeadFollower {
  readonly #parts: HeadFollowerParts
  #next = 0
  /** The highest position of an announced head. */
  #announced = -1
  /** Hash of the tip of that head. */
  #announcedTip = ''
  readonly #coming = new AnnouncedHeads()
  /** True while the tables may contain a head that was not adopted. */
  #isBehind = false
  #catchingUp: Promise<void> | undefined
  #signal: AbortSignal | undefined
  #source: Source
  /** Databases that this follower has opened, by name. */
  readonly #opened = new Map<string, Source>()
  /** Resolves with the error if the database has the schema of another version, or another chain; nothing is read from it then. */
  readonly refused: Promise<Refusal>
  #refuse: (error: Refusal) => void = () => undefined
  /** True if the database was replaced by one of another version. */
  #isOutdated = false

  constructor(parts: HeadFollowerParts) {
    this.#parts = parts
    this.refused = new Promise((resolve) => (this.#refuse = resolve))
    this.#source = { db: parts.db, tables: parts.tables }
  }

  /** The database of the current state. */
  get db(): Database {
    return this.#source.db
  }

  /** Position of the next event of topic `committed` to read. */
  get next(): number {
    return this.#next
  }

  /** Reads the heads without waiting for the log. Call when the tables contain a newer writer than the state. */
  refresh(): void {
    this.#isBehind = true
    if (this.#signal !== undefined && this.#parts.state.chainLoaded) this.#catchUp(this.#signal)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log, state } = this.#parts
    const reading = <T>(what: string, read: () => Promise<T>): Promise<T | undefined> =>
      retrying(what, read, this.#parts, signal)
    this.#signal = signal
    await reading('the last heartbeat in the log', () => this.#readBack())
    while (!signal.aborted && !state.chainLoaded) {
      const refusal = await reading('the head', () => this.#load())
      if (refusal === undefined) continue
      this.#refuse(refusal)
      break
    }
    while (!signal.aborted && state.chainLoaded) {
      const records = await reading('the log', () => log.read('committed', this.#next, READ_AT_ONCE))
      if (records === undefined) break
      if (records.length === 0) {
        await log.wait('committed', this.#next, WAIT_MS, signal).catch(() => pause(WAIT_MS, signal))
        if (await endsBefore(log, 'committed', this.#next)) {
          await reading('the last heartbeat in the log', () => this.#readBack())
          this.#isBehind = true
        }
      }
      for (const record of records) this.#take(record)
      this.#next = (records.at(-1)?.position ?? this.#next - 1) + 1
      if (this.#isBehind) this.#catchUp(signal)
    }
    await this.#catchingUp
    await Promise.all([...this.#opened.values()].map(({ db }) => db.close()))
  }

  /** Reads the last applied heartbeat, and continues after the events that the log contains now. */
  async #readBack(): Promise<void> {
    const { log } = this.#parts
    const last = await log.last('committed')
    this.#next = last + 1
    const backlog: LogRecord[] = []
    for await (const records of batchesBack(log, 'committed', last, (record) => record)) {
      backlog.unshift(...records)
      if (records.some((record) => this.#decode(record)?.event.case === 'heartbeat')) break
    }
    for (const record of backlog) this.#take(record)
  }

  #take(record: LogRecord): void {
    const { event } = this.#decode(record) ?? { event: undefined }
    if (event?.case !== undefined) this.#takeDamage(event.case === 'alert' ? event.value : undefined)
    if (event?.case === 'alert') {
      this.#parts.state.alert = alertText(event.value)
      // Defects before this start were counted then.
      if (event.value.kind === Alert_Kind.DEFECT && record.position >= this.#next)
        this.#parts.onIndexerDefect?.()
    }
    if (event?.case === 'head') {
      this.#coming.add(event.value)
      const position = Number(event.value.position)
      if (position >= this.#announced) this.#announcedTip = hexOf(event.value.tipHash)
      this.#announced = Math.max(this.#announced, position)
      this.#isBehind = true
    }
    if (event?.case === 'heartbeat') {
      const { state } = this.#parts
      state.heartbeat = appliedHeartbeat(event.value) ?? state.heartbeat
      // An announcement may be missing if the log was replaced by another one; a head that is being adopted is not.
      const isComing = this.#announced > state.chain.position
      const expected = isComing ? this.#announcedTip : state.chain.tipHash
      if (state.heartbeat?.nodeHash !== expected) this.#isBehind = true
    }
  }

  /** Stores the damage of the log that an alert reports; any other event means that there is none. */
  #takeDamage(alert: Alert | undefined): void {
    const { state } = this.#parts
    state.alert = undefined
    const before = state.logDamage
    state.logDamage = alert?.index === undefined ? 'none' : alert.refused ? 'refused' : 'healing'
    if (before === 'none' && state.logDamage !== 'none') state.logDamages++
  }

  #decode(record: LogRecord): CommittedEvent | undefined {
    return messageIn(CommittedEventSchema, record, { logger: this.#parts.logger, topic: 'committed' })
  }

  /**
   * Loads the first state from the tables. Adopts nothing if another writer took over meanwhile.
   * @returns a SchemaMismatch if the tables belong to another version; a WrongChainError if log or tables are of another chain.
   */
  async #load(): Promise<Refusal | undefined> {
    const { state, writer } = this.#parts
    this.#moveTo(this.#open(await servingDatabase(this.#parts.db)))
    const { db, tables } = this.#source
    const present = await tablesOf(db)
    if (present instanceof SchemaMismatch) return present
    const wrong = await this.#wrongChain(db)
    if (wrong !== undefined) return wrong
    const fence = await newestFence(db)
    const head = await latestHead(db)
    const view = head === undefined ? undefined : await loadChainView(db, head)
    const next = await stateOf(view, fence, tables, NO_CHAIN)
    await writer.begin(head)
    if ((await tables.fence()) === fence) state.adopt(next)
    return undefined
  }

  async #wrongChain(db: Database): Promise<WrongChainError | undefined> {
    try {
      await assertOneChain({ db, log: this.#parts.log }, this.#parts.chain)
      return undefined
    } catch (error) {
      if (error instanceof WrongChainError) return error
      throw error
    }
  }

  #open(name: string): Source {
    const existing = name === this.#source.db.name ? this.#source : this.#opened.get(name)
    if (existing !== undefined) return existing
    const db = this.#parts.db.sibling(name)
    const source = { db, tables: this.#parts.tablesOf(db) }
    this.#opened.set(name, source)
    return source
  }

  /** Switches the reads to a database. Call in the turn in which its state is adopted. */
  #moveTo(source: Source): void {
    if (source === this.#source) return
    this.#source = source
    this.#parts.tables.moveTo(source.tables)
  }

  /** Adopts new heads in the background, one run at a time, while heartbeats are followed. */
  #catchUp(signal: AbortSignal): void {
    if (this.#catchingUp !== undefined) return
    this.#catchingUp = (async () => {
      while (this.#isBehind && !signal.aborted) {
        this.#isBehind = false
        await retrying('the heads that were announced', () => this.#advance(), this.#parts, signal)
      }
    })().finally(() => {
      this.#catchingUp = undefined
    })
  }

  /**
   * Adopts the heads after the current head, including a head at its position, which lowers the final height. Under a newer
   * writer, nothing that was read before is trusted: the state is loaded again, even if there is no newer head.
   */
  async #advance(): Promise<void> {
    const { state } = this.#parts
    const { db } = this.#source
    const { view, fence: writer } = state.chain
    // A head that is announced while the tables are read may be missing from what was read; it is read next.
    const expected = this.#announced
    const announced = view === undefined ? [] : this.#coming.takeAfter(view.head, writer)
    if (view !== undefined && announced.length > 0) {
      for (const { position } of announced) db.noteHead(position)
      await this.#continueWith(announced, view, writer)
      return
    }
    const newHeads = (): Promise<Head[]> => headsAfter(db, state.chain.position, view?.head.writtenAt)
    const [claim, candidates] = await Promise.all([newestClaim(db), newHeads()]).catch(
      async (error: unknown) => {
        // A database that was replaced may have been dropped before this process knew of its successor.
        const serving = error instanceof TableMissing ? await servingDatabase(this.#parts.db) : db.name
        if (serving === db.name) throw error
        return [{ newest: writer, successor: serving }, [] as Head[]] as const
      },
    )
    const { newest: fence, successor } = claim
    if (successor !== '') {
      const source = this.#open(successor)
      if (await this.#isReadable(source)) await this.#switchTo(source)
      return
    }
    const isNewWriter = fence !== writer
    // Under a new writer, what was found may have been read before its claim.
    const heads = isNewWriter ? await newHeads() : candidates
    if (heads.length === 0 && !isNewWriter) {
      if (expected > state.chain.position)
        throw new DatabaseUnavailable('an announced head is missing from the tables')
      return
    }
    if (view !== undefined && !isNewWriter) {
      await this.#continueWith(heads, view, fence)
      return
    }
    const head = heads.at(-1) ?? view?.head
    const newest = await latestHead(db)
    // The new writer respects the final height of the newest valid head; the current head may be invalid by now.
    const finalHeight = Math.min(head?.finalHeight ?? -1, newest?.finalHeight ?? -1)
    const next = head === undefined ? undefined : await loadChainView(db, { ...head, finalHeight })
    await this.#advanceTo(heads, next, fence, this.#source)
  }

  /** Adopts heads that follow the head of a view and have its writer. */
  async #continueWith(heads: readonly Head[], view: ChainView, fence: bigint): Promise<void> {
    const settled = nextChainView(this.#source.db, view, heads)
    const isShort = connectedBy(heads) <= MAX_BLOCKS_CONTINUED
    const continued = isShort ? continuedView(view, heads) : undefined
    await this.#advanceTo(heads, continued ?? (await settled), fence, this.#source, settled)
  }

  /**
   * Returns whether the tables of a database are those of this version. If not, the explorer keeps the state of the database that was
   * replaced until it is stopped: explorers of the other version serve the new one.
   */
  async #isReadable({ db }: Source): Promise<boolean> {
    const present = await tablesOf(db)
    if (!(present instanceof SchemaMismatch)) return true
    if (!this.#isOutdated) {
      const { code, message } = present
      this.#parts.logger.error({ code }, `the data grows old until this process is replaced: ${message}`)
    }
    this.#isOutdated = true
    return false
  }

  /** Switches to the database that has replaced the current database. It contains the heads of the current database, and further ones. */
  async #switchTo(source: Source): Promise<void> {
    const { state, logger } = this.#parts
    const { position, view } = state.chain
    const fence = await newestFence(source.db)
    const newest = await latestHead(source.db)
    // Read last: a head that is written meanwhile is then among these, and its events are published.
    const heads = await headsAfter(source.db, position, view?.head.writtenAt)
    const head = heads.at(-1) ?? newest
    // A head that was written at the moment of the switch is not valid, and is written again in the new database.
    if (head === undefined || head.position < position)
      throw new DatabaseUnavailable(
        `database ${source.db.name} does not show position ${String(position)} yet`,
      )
    await this.#advanceTo(heads, await loadChainView(source.db, head), fence, source)
    logger.info({ database: source.db.name, height: head.tipHeight }, 'switched to another database')
  }

  /**
   * Adopts the state of a view, which is the result of these heads, and publishes their events. Does nothing if another writer
   * took over meanwhile: the heads are then read again.
   * @param settled see `stateOf`.
   */
  async #advanceTo(
    heads: readonly Head[],
    view: ChainView | undefined,
    fence: bigint,
    source: Source,
    settled: Promise<ChainView | undefined> = Promise.resolve(view),
  ): Promise<void> {
    const { state, writer, logger } = this.#parts
    // The first head of tables that were empty at the start.
    if (state.chain.view === undefined) {
      const wrong = await this.#wrongChain(source.db)
      if (wrong !== undefined) {
        this.#refuse(wrong)
        return
      }
    }
    const before = source === this.#source ? state.chain : NO_CHAIN
    // There may be more heads than one query returns, and further writers or databases.
    const hasMore = heads.length === MAX_HEADS || before.fence !== fence
    const contents = new BlockContents(source.tables)
    const { txids } = contents
    const [next, touched, events] = await Promise.all([
      stateOf(view, fence, source.tables, before, settled),
      this.#touchedBy(heads, fence, source, txids),
      writer.eventsOf(heads, source.tables, contents),
    ])
    if (
      (await source.tables.fence()) !== fence ||
      !(await this.#adopt(heads, next, source, { touched, txids }))
    ) {
      this.#isBehind = true
      return
    }
    if (hasMore || this.#announced > next.position) this.#isBehind = true
    writer.publish(events)
    logger.debug({ height: next.height, tip: next.tipHash, position: next.position }, 'head adopted')
  }

  /**
   * Returns what heads touch; undefined if they are not known to continue the current state, as under a newer writer or in another
   * database.
   */
  async #touchedBy(
    heads: readonly Head[],
    fence: bigint,
    source: Source,
    txids: TxidsOf,
  ): Promise<ReadonlySet<string> | undefined> {
    const { chain, mempool, nodeHeight = -1 } = this.#parts.state
    // Before the first head, addresses of all networks are valid.
    if (chain.view === undefined || source !== this.#source || fence !== chain.fence) return undefined
    const height = heads.at(-1)?.tipHeight
    // During a backfill, answers are not worth that its blocks are read again.
    if (height === undefined || height < nodeHeight - MAX_BLOCKS_BEHIND) return undefined
    return touchedBy(heads, chain.position, mempool, source.tables, txids)
  }

  /**
   * Adopts heads in the turn in which their effect on the mempool is known.
   * @param touched the hashes that they touch; undefined if these are not known.
   * @returns false if another writer took over meanwhile; nothing is adopted then.
   */
  async #adopt(
    heads: readonly Head[],
    next: ChainState,
    source: Source,
    { touched, txids }: { readonly touched: ReadonlySet<string> | undefined; readonly txids: TxidsOf },
  ): Promise<boolean> {
    const { state, mempool } = this.#parts
    const { tables } = source
    const span = { from: state.chain.position, to: next.position }
    const { view } = next
    const isLong = connectedBy(heads) > MAX_BLOCKS_READ
    while (heads.length > 0 && !mempool.canSkip(heads)) {
      const { version } = state.mempool
      const overlays =
        isLong && view !== undefined
          ? [
              await overlayBySearch(
                [...state.mempool.entries()],
                span,
                { ...next, view },
                state.mempool,
                tables,
              ),
            ]
          : await overlaysOf(heads, state.mempool, tables, txids)
      if (isLong && (await tables.fence()) !== next.fence) return false
      if (isLong && version !== state.mempool.version) continue
      this.#moveTo(source)
      state.adopt(next, overlays, touched)
      return true
    }
    if (heads.length > 0) mempool.skipped(next.position)
    this.#moveTo(source)
    state.adopt(next, [], touched)
    return true
  }
}

const connectedBy = (heads: readonly Head[]): number =>
  heads.reduce((sum, { connected }) => sum + connected.length, 0)

/**
 * Loads the state of a view, reusing the parts of an earlier state that are still valid.
 * @param settled the final view of the chain of `view`, for the state: it may become known while the rows are read.
 */
async function stateOf(
  view: ChainView | undefined,
  fence: bigint,
  tables: Tables,
  before: ChainState,
  settled: Promise<ChainView | undefined> = Promise.resolve(view),
): Promise<ChainState> {
  if (view === undefined) return { ...NO_CHAIN, fence }
  const { head } = view
  const { tipHeight: height, position } = head
  const tipHash = height < 0 ? '' : head.tipHash
  const [tip, blocks, statistics, finalView] = await Promise.all([
    height < 0 ? undefined : tables.blocks.get(blockKey(height, tipHash)),
    nextCanonicalBlocks(tables, before.blocks, view),
    nextStatistics(tables, before, view),
    settled,
  ])
  if (height >= 0 && tip === undefined) throw new Error(`the tip ${tipHash} is missing from the tables`)
  const reorgs = head.reorgsBefore + (head.disconnected.length > 0 ? 1 : 0)
  const network = networkNamed(head.chain)
  return {
    view: finalView,
    position,
    fence,
    network,
    height,
    tipHash,
    tip,
    reorgs,
    blocks,
    ...statistics,
  }
}

async function nextStatistics(
  tables: Tables,
  before: ChainState,
  view: ChainView,
): Promise<{ readonly recent: RecentBlocks; readonly days: Days }> {
  const common = commonLength(before.recent, view)
  const fork = before.recent[common - 1]?.height
  const hasGrown = fork !== undefined && common === before.recent.length
  // Both share the query of the new blocks.
  const [recent, grown] = await Promise.all([
    nextRecentBlocks(tables, before.recent, view),
    hasGrown ? newBlocks(tables, view, fork + 1) : undefined,
  ])
  if (hasGrown && grown?.length === view.head.tipHeight - fork)
    return { recent, days: grownDays(before.days, grown) }
  const above = recent.filter(({ height }) => fork !== undefined && height > fork)
  const isComplete = fork !== undefined && above.length === view.head.tipHeight - fork
  const differing = [...before.recent.slice(common), ...above]
  const times = isComplete ? differing.map(({ time }) => time) : undefined
  return { recent, days: await nextDays(tables, before.days, view, times) }
}

/** Describes an alert of the materializer for operators. */
function alertText({ topic, partition, position, reason, index, refused }: Alert): string {
  const where =
    position < 0n ? '' : `topic ${topic}, partition ${String(partition)}, offset ${String(position)}: `
  const what = index === undefined ? 'the materializer has stopped' : 'the log is damaged'
  return `${what}${index === undefined || refused ? '' : ' and is being repaired'}: ${where}${reason}`
}

function appliedHeartbeat({ heartbeat, appliedMs }: HeartbeatApplied): AppliedHeartbeat | undefined {
  if (heartbeat === undefined) return undefined
  return {
    timeMs: Number(heartbeat.timeMs),
    ...nodeProgress(heartbeat),
    nodeHash: hexOf(heartbeat.nodeHash),
    pollIntervalMs: heartbeat.pollIntervalMs,
    appliedMs: Number(appliedMs),
  }
}
