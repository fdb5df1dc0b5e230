import { fromBinary } from '@bufbuild/protobuf'
import {
  CommittedEventSchema,
  type Alert,
  type CommittedEvent,
  type HeartbeatApplied,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { Logger } from '../../pipelines/logger.js'
import type { EventLog, LogRecord } from '../../pipelines/log/port.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { type ChainView, loadChainView, nextChainView } from '../../pipelines/tables/chain-view.js'
import { type Head, headsAfter, latestHead } from '../../pipelines/tables/head.js'
import type { FeedWriter } from './feed-writer.js'
import { overlayBySearch, overlayOf } from './overlay.js'
import type { PoolFollower } from './pool-follow.js'
import { blockAt } from './block-table.js'
import { nextDays } from './days.js'
import { commonLength, nextRecentBlocks } from './recent-blocks.js'
import { pause, retrying } from './retry.js'
import { type ChainState, NO_CHAIN, type State } from './state.js'
import type { AppliedHeartbeat } from './status.js'
import type { Tables } from './tables.js'

export interface HeadFollowerParts {
  readonly state: State
  readonly writer: FeedWriter
  readonly pool: PoolFollower
  readonly log: EventLog
  readonly db: Database
  readonly tables: Tables
  readonly logger: Logger
}

const READ_AT_ONCE = 256
const WAIT_MS = 1_000
/** Heads that connect more blocks come of a backfill: the pool is searched in the chain instead of the chain in the pool. */
const MOST_BLOCKS_READ = 2_000

/**
 * Follows topic `committed`: applied heartbeats are taken as they come; an announced head is read from the tables, adopted in
 * one turn together with what it does to the pool, and then told to the feed, in this order.
 */
export class HeadFollower {
  readonly #parts: HeadFollowerParts
  #next = 0
  /** Newest position of a head that was announced. */
  #announced = -1
  /** Whether the tables may hold a head that was not adopted. */
  #isBehind = false
  #catchingUp: Promise<void> | undefined

  constructor(parts: HeadFollowerParts) {
    this.#parts = parts
  }

  /** Position of the next event of topic `committed` that is looked at. */
  get next(): number {
    return this.#next
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log, logger } = this.#parts
    await retrying(() => this.#lookBack(), { what: 'the last heartbeat in the log', logger, signal })
    await retrying(() => this.#load(), { what: 'the head', logger, signal })
    while (!signal.aborted) {
      const read = () => log.read('committed', this.#next, READ_AT_ONCE)
      const records = await retrying(read, { what: 'the log', logger, signal })
      if (records === undefined) break
      if (records.length === 0)
        await log.wait('committed', this.#next, WAIT_MS, signal).catch(() => pause(WAIT_MS, signal))
      for (const record of records) this.#take(record)
      this.#next = (records.at(-1)?.position ?? this.#next - 1) + 1
      if (this.#isBehind) this.#catchUp(signal)
    }
    await this.#catchingUp
  }

  /** Takes the last heartbeat that was applied, and begins after the events that are there now. */
  async #lookBack(): Promise<void> {
    const { log } = this.#parts
    const [first, last] = await Promise.all([log.first('committed'), log.last('committed')])
    this.#next = last + 1
    for (let end = last + 1; end > first; end -= READ_AT_ONCE) {
      const from = Math.max(first, end - READ_AT_ONCE)
      const records = await log.read('committed', from, end - from)
      for (const record of records) this.#take(record)
      if (this.#parts.state.heartbeat !== undefined) return
    }
  }

  #take({ position, value }: LogRecord): void {
    const { event } = this.#decode(position, value) ?? { event: undefined }
    if (event?.case !== undefined) this.#parts.state.alert = undefined
    if (event?.case === 'alert') this.#parts.state.alert = inWords(event.value)
    if (event?.case === 'head') {
      this.#announced = Math.max(this.#announced, Number(event.value.position))
      this.#isBehind = true
    }
    if (event?.case === 'heartbeat') {
      this.#parts.state.heartbeat = appliedHeartbeat(event.value) ?? this.#parts.state.heartbeat
    }
  }

  #decode(position: number, value: Uint8Array): CommittedEvent | undefined {
    try {
      return fromBinary(CommittedEventSchema, value)
    } catch (error) {
      this.#parts.logger.error(
        { err: error, topic: 'committed', position },
        'an event that cannot be decoded',
      )
      return undefined
    }
  }

  /** The first look at the tables. */
  async #load(): Promise<void> {
    const { db, state, writer } = this.#parts
    const head = await latestHead(db)
    if (head === undefined) {
      await writer.begin(undefined)
      state.adopt(NO_CHAIN)
      return
    }
    const next = await this.#stateOf(await loadChainView(db, head), head)
    await writer.begin(head)
    state.adopt(next)
  }

  /** One at a time; heartbeats go on meanwhile. */
  #catchUp(signal: AbortSignal): void {
    const { logger } = this.#parts
    if (this.#catchingUp !== undefined) return
    this.#catchingUp = (async () => {
      while (this.#isBehind && !signal.aborted) {
        this.#isBehind = false
        await retrying(() => this.#advance(), { what: 'the heads that were announced', logger, signal })
      }
    })().finally(() => {
      this.#catchingUp = undefined
    })
  }

  /** Adopts the heads after the adopted one: also one at its own position, which lowers the final height. */
  async #advance(): Promise<void> {
    const { db, state, writer, logger } = this.#parts
    const heads = await headsAfter(db, state.chain.position, state.chain.view?.head.writtenAt)
    const head = heads.at(-1)
    if (head === undefined) {
      if (this.#announced > state.chain.position)
        throw new Error('a head was announced that the tables do not show')
      return
    }
    // There may be more than are read at once.
    this.#isBehind = true
    const next = await this.#stateOf(await this.#viewOf(heads, head), head)
    const events = await writer.eventsOf(heads)
    await this.#adopt(heads, next)
    writer.tell(events)
    logger.debug({ height: next.height, tip: next.tipHash, position: next.position }, 'head adopted')
  }

  /** Adopts heads in the very turn in which what they do to the pool is known. */
  async #adopt(heads: readonly Head[], next: ChainState): Promise<void> {
    const { state, pool, tables } = this.#parts
    const span = { from: state.chain.position, to: next.position }
    const { view } = next
    const isLong = heads.reduce((sum, head) => sum + head.connected.length, 0) > MOST_BLOCKS_READ
    while (!pool.canSkip(heads)) {
      const { version } = state.pool
      const overlay =
        isLong && view !== undefined
          ? await overlayBySearch([...state.pool.entries()], span, view, state.pool, tables)
          : await overlayOf(heads, state.pool, tables)
      if (isLong && version !== state.pool.version) continue
      state.adopt(next, overlay)
      return
    }
    pool.skipped(next.position)
    state.adopt(next)
  }

  async #viewOf(heads: Head[], head: Head): Promise<ChainView> {
    const { db, state } = this.#parts
    const { view } = state.chain
    return view === undefined ? loadChainView(db, head) : nextChainView(db, view, heads)
  }

  async #stateOf(view: ChainView, head: Head): Promise<ChainState> {
    const { tables, state } = this.#parts
    const { tipHeight: height } = head
    const tipHash = height < 0 ? '' : head.tipHash
    const tip = height < 0 ? undefined : await blockAt(tables, height, tipHash)
    if (height >= 0 && tip === undefined) throw new Error(`the tip ${tipHash} is not in the tables`)
    const reorgs = head.reorgsBefore + (head.disconnected.length > 0 ? 1 : 0)
    const before = state.chain
    const fork = before.recent[commonLength(before.recent, view) - 1]?.height ?? -1
    const [recent, days] = await Promise.all([
      nextRecentBlocks(tables, before.recent, view),
      nextDays(tables, before.days, view, fork),
    ])
    return { view, position: head.position, chain: head.chain, height, tipHash, tip, reorgs, recent, days }
  }
}

function inWords({ topic, partition, position, reason }: Alert): string {
  const where =
    position < 0n ? '' : `topic ${topic}, partition ${String(partition)}, offset ${String(position)}: `
  return `the materializer stopped: ${where}${reason}`
}

function appliedHeartbeat({ heartbeat, appliedMs }: HeartbeatApplied): AppliedHeartbeat | undefined {
  if (heartbeat === undefined) return undefined
  return {
    timeMs: Number(heartbeat.timeMs),
    nodeHeight: heartbeat.nodeHeight,
    nodeHash: Buffer.from(heartbeat.nodeHash).toString('hex'),
    pollIntervalMs: heartbeat.pollIntervalMs,
    appliedMs: Number(appliedMs),
  }
}
