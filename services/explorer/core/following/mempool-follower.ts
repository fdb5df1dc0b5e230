import { type Heartbeat, PoolLeft_Reason } from '../../../../proto/gen/headwater/events/v1/events_pb.js'
import type { Logger } from '../../../../pipelines/logger.js'
import { lastHeartbeat } from '../../../../pipelines/log/heartbeat.js'
import type { EventLog } from '../../../../pipelines/log/port.js'
import type { Head } from '../../../../pipelines/tables/head.js'
import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import { heightsOf } from '../tables/blocks.js'
import { resolveCoins } from '../mempool/coins.js'
import { mempool } from '../feed/channels.js'
import type { Feed } from '../feed/feed.js'
import { publishDelta } from '../feed/mempool-events.js'
import { overlayBySearch, type Span } from '../state/overlay.js'
import type { Overlay } from '../mempool/mempool.js'
import {
  type MempoolDelta,
  MempoolEvents,
  type MempoolStep,
} from '../../../../pipelines/mempool/mempool-events.js'
import type { MempoolEntry } from '../../../../pipelines/mempool/mempool-tx.js'
import { isResolved, shownTx, type ShownTx } from '../mempool/shown-tx.js'
import { retrying } from '../tables/retry.js'
import { endsBefore } from '../../../../pipelines/log/replacement.js'
import { pause } from '../../../../pipelines/pause.js'
import { nodeProgress } from '../state/indexer-status.js'
import type { State } from '../state/state.js'
import type { Tables } from '../tables/tables.js'
import type { WhaleWatch } from '../feed/whale-watch.js'

export interface MempoolFollowerParts {
  readonly state: State
  readonly feed: Feed
  readonly log: EventLog
  readonly tables: Tables
  readonly whales: WhaleWatch
  readonly logger: Logger
  /** Called at each defect; following continues. */
  readonly onDefect?: () => void
}

const READ_AT_ONCE = 256
const READ_BYTES = 4 * 2 ** 20
const WAIT_MS = 1_000

/**
 * Applies the events of topic `node` to the mempool. An event takes effect when the head has reached the position of topic `chain`
 * at which it was observed, after the inputs of its transactions were looked up. If the head is further, the overlays of the
 * heads beyond that position stay on top.
 */
export class MempoolFollower {
  readonly #parts: MempoolFollowerParts
  #events: MempoolEvents
  #next = 0
  /** The mempool holds an overlay for each head beyond this position. */
  #overlaidFrom = -1
  /** Overlays up to this position were made by search: they do not cover transactions that enter later. */
  #searchedTo = -1
  /** Position of topic `chain` at which the last applied event was observed. */
  #seenAt = -1
  /** Transactions with an input whose output has not been found. */
  #unresolved = new Set<string>()

  constructor(parts: MempoolFollowerParts) {
    this.#parts = parts
    this.#events = new MempoolEvents(parts.log, parts.logger)
  }

  /** Position of the next event of topic `node` to read. */
  get next(): number {
    return this.#next
  }

  /** Follows until the signal aborts. Marks the mempool as loaded when all events up to the start have been applied. */
  async run(signal: AbortSignal): Promise<void> {
    const { state, log, logger } = this.#parts
    const reading = <T>(read: () => Promise<T>): Promise<T | undefined> =>
      retrying('the mempool in the log', () => this.#noting(read()), this.#parts, signal)
    await state.until(() => state.chainLoaded, undefined, signal)
    this.#overlaidFrom = Math.max(this.#overlaidFrom, state.chain.position)
    const start = await reading(() => this.#events.findStart(state.chain.position))
    this.#next = start?.from ?? 0
    await reading(() => this.#publishBefore(this.#next))
    while (!signal.aborted) {
      if (this.#next > (start?.last ?? -1)) await this.#finishLoading(signal)
      const records = await reading(() => log.read('node', this.#next, READ_AT_ONCE, READ_BYTES))
      if (records === undefined) return
      const steps = this.#events.steps(records)
      this.#storeHeartbeat(this.#events.heartbeat)
      for (const step of steps) await this.#take(step, signal)
      await this.#resolveAgain().catch(() => undefined)
      const last = records.at(-1)
      if (last !== undefined) this.#next = last.position + 1
      else {
        // Brokers that have just elected a leader may return fewer records than the topic contains.
        const isAll = async (): Promise<boolean> =>
          state.isMempoolLoaded || this.#next > (await log.last('node'))
        if ((await reading(isAll)) === true) await this.#finishLoading(signal)
        await log.wait('node', this.#next, WAIT_MS, signal).catch(() => pause(WAIT_MS, signal))
        if (await endsBefore(log, 'node', this.#next)) {
          this.#events = new MempoolEvents(log, logger)
          this.#next = (await reading(() => this.#events.findStart(state.chain.position)))?.from ?? 0
        }
      }
    }
  }

  /** Returns whether heads need no overlays, because the mempool is empty and stays so. Call in the turn of the adoption. */
  canSkip(heads: readonly Head[]): boolean {
    return this.#parts.state.mempool.isEmpty && heads.every((head) => head.disconnected.length === 0)
  }

  /** Records that a head was adopted without an overlay. The overlay is made if an older event of the mempool arrives later. */
  skipped(position: number): void {
    this.#overlaidFrom = position
    this.#parts.state.mempool.forgetOverlays(position)
  }

  /** Looks up again the outputs that were not found. */
  async #resolveAgain(): Promise<void> {
    if (this.#unresolved.size === 0) return
    const { state, tables, whales } = this.#parts
    const open = [...this.#unresolved]
      .map((txid) => state.mempool.getAny(txid))
      .filter((tx) => tx !== undefined)
    this.#unresolved = new Set(open.map((tx) => tx.txid))
    const updates = await resolveCoins(open, (txid) => state.mempool.getAny(txid), tables)
    for (const tx of updates) if (isResolved(tx)) this.#unresolved.delete(tx.txid)
    if (updates.length === 0) return
    state.mempool.update(updates)
    whales.inMempool(updates)
  }

  async #take(step: MempoolStep, signal: AbortSignal): Promise<void> {
    const { state, feed, whales } = this.#parts
    const { seenAt } = step
    if (state.chain.position < seenAt) {
      // The event needs a later head than the current one. Until that is adopted, the mempool is as complete as it can be.
      await this.#finishLoading(signal)
      await this.#untilAdopted(seenAt, signal)
    }
    if (signal.aborted) return
    if (step.kind === 'snapshot') {
      const { enteredBefore, leftBefore } = step
      const entries = await this.#resolved(step.entries)
      await this.#apply(seenAt, entries, signal, () => {
        state.drops.reach(step.time, step.position)
        state.mempool.replace(entries, seenAt)
        whales.inMempool(entries)
        if (feed.lastOf('mempool') < enteredBefore) feed.begin('mempool', enteredBefore)
        const both = enteredBefore + leftBefore
        if (feed.lastOf('mempool-with-removals') < both) feed.begin('mempool-with-removals', both)
      })
      return
    }
    const entered = await this.#resolved(step.deltas.flatMap((delta) => delta.entered))
    const isAhead = state.chain.position > seenAt
    const stale = isAhead ? await this.#staleConfirmers(step.deltas, signal) : new Set<string>()
    await this.#apply(seenAt, entered, signal, () => {
      let next = 0
      for (const delta of step.deltas) {
        const some = entered.slice(next, (next += delta.entered.length))
        const left = delta.left.map(({ txid }) => txid)
        const back = delta.left.filter(({ by }) => stale.has(by))
        const restorable = back.map(({ txid }) => state.mempool.getAny(txid)).filter((tx) => tx !== undefined)
        state.drops.note(delta)
        state.mempool.change(some, left, seenAt)
        if (restorable.length > 0) state.mempool.restore(restorable)
        publishDelta(feed, delta, some)
      }
      whales.inMempool(entered)
    })
  }

  /**
   * Publishes the events before the start, so that clients can resume although a snapshot was written during a restart. What left by
   * them may not be in the tables yet.
   */
  async #publishBefore(start: number): Promise<void> {
    const { network } = this.#parts.state.chain
    if (network === undefined) return
    for (const delta of await this.#events.deltasBefore(start, mempool.history)) {
      const txs = delta.entered.map((entry) => shownTx({ ...entry, network }))
      this.#parts.state.drops.note(delta)
      publishDelta(this.#parts.feed, delta, txs)
    }
  }

  /**
   * Returns the blocks that confirmed transactions of these deltas and are not on the chain of the current head. A block that was
   * disconnected before it was written has no row.
   */
  async #staleConfirmers(deltas: readonly MempoolDelta[], signal: AbortSignal): Promise<Set<string>> {
    const { state, tables } = this.#parts
    const left = deltas.flatMap((delta) => delta.left)
    const blocks = left.filter(({ reason }) => reason === PoolLeft_Reason.CONFIRMED).map(({ by }) => by)
    const stale = new Set(blocks)
    for (const hash of stale) {
      const read = () => heightsOf(tables, [hash])
      const height = (await retrying('a confirming block', read, this.#parts, signal))?.get(hash)
      if (height !== undefined && state.chain.view?.isCanonical(height, hash) === true) stale.delete(hash)
    }
    return stale
  }

  /** Waits for the head. Meanwhile reads heartbeats ahead: the node's height shows how far the head is behind. */
  async #untilAdopted(position: number, signal: AbortSignal): Promise<void> {
    const { state, log } = this.#parts
    const isAdopted = (): boolean => state.chain.position >= position
    for (let next = this.#next; !signal.aborted && !(await state.until(isAdopted, WAIT_MS, signal));) {
      const records = await this.#noting(log.read('node', next, READ_AT_ONCE, READ_BYTES)).catch(() => [])
      next = (records.at(-1)?.position ?? next - 1) + 1
      this.#storeHeartbeat(lastHeartbeat(records))
    }
  }

  /** Notes in the state whether the log could be read. */
  async #noting<T>(read: Promise<T>): Promise<T> {
    const { state } = this.#parts
    try {
      const result = await read
      state.isLogReadable = true
      return result
    } catch (error) {
      state.isLogReadable = false
      throw error
    }
  }

  #storeHeartbeat(heartbeat: Heartbeat | undefined): void {
    const { state } = this.#parts
    const timeMs = Number(heartbeat?.timeMs ?? 0)
    if (heartbeat === undefined || timeMs <= (state.nodeSeen?.timeMs ?? 0)) return
    const { pollIntervalMs } = heartbeat
    state.nodeSeen = { timeMs, pollIntervalMs, ...nodeProgress(heartbeat) }
    state.relayFees = heartbeat.relayFees
  }

  /** Parses entries and looks up the outputs that they spend. Outputs that cannot be found now are left out. */
  async #resolved(entries: readonly MempoolEntry[]): Promise<ShownTx[]> {
    const { state, tables, logger } = this.#parts
    const { network } = state.chain
    if (network === undefined) return []
    const txs = entries.map((entry) => {
      const previous = state.mempool.getAny(entry.txid)
      if (previous?.fee === entry.fee && previous.firstSeen === entry.firstSeen) return previous
      return shownTx({ ...entry, network }, previous?.coins)
    })
    const updates = await resolveCoins(txs, (txid) => state.mempool.getAny(txid), tables).catch(
      (error: unknown) => {
        logger.warn({ err: error }, 'cannot look up inputs of the mempool, retrying')
        return []
      },
    )
    const byTxid = new Map(updates.map((tx) => [tx.txid, tx]))
    const all = txs.map((tx) => byTxid.get(tx.txid) ?? tx)
    for (const tx of all) if (!isResolved(tx)) this.#unresolved.add(tx.txid)
    return all
  }

  /**
   * Changes the mempool in one turn with its precondition: that each head beyond the position at which the change was observed has
   * its overlay. Until the mempool is loaded nothing reads it; the overlays are made at the end of loading.
   */
  async #apply(
    seenAt: number,
    entered: readonly ShownTx[],
    signal: AbortSignal,
    make: () => void,
  ): Promise<void> {
    const { state } = this.#parts
    for (let lastTo = -1; state.isMempoolLoaded && !signal.aborted;) {
      const to = Math.max(this.#overlaidFrom, this.#searchedTo)
      if (seenAt >= to || lastTo === to) break
      if (await this.#addOverlay([...state.mempool.entries(), ...entered], { from: seenAt, to }, signal))
        lastTo = to
    }
    if (signal.aborted) return
    this.#seenAt = seenAt
    make()
  }

  /** Makes the missing overlays, and marks the mempool as loaded. */
  async #finishLoading(signal: AbortSignal): Promise<void> {
    const { state } = this.#parts
    while (!state.isMempoolLoaded && !signal.aborted) {
      const span = { from: this.#seenAt, to: this.#overlaidFrom }
      if (span.from >= span.to || (await this.#addOverlay([...state.mempool.entries()], span, signal)))
        state.mempoolLoaded()
    }
  }

  /**
   * Adds the overlay of heads that were adopted without one.
   * @returns false if another head was adopted without one meanwhile; nothing changes then.
   */
  async #addOverlay(txs: readonly ShownTx[], span: Span, signal: AbortSignal): Promise<boolean> {
    const { state, tables } = this.#parts
    if (state.chain.view === undefined) return true
    const search = async (): Promise<Overlay> => {
      const { view, fence, blocks } = state.chain
      if (view === undefined) throw new DatabaseUnavailable('no head is available any more')
      const overlay = await overlayBySearch(txs, span, { view, blocks }, state.mempool, tables)
      if ((await tables.fence()) === fence) return overlay
      throw new DatabaseUnavailable('another writer took over during the search')
    }
    const overlay = await retrying('the blocks since the mempool event', search, this.#parts, signal)
    if (overlay === undefined || this.#overlaidFrom > span.to) return false
    state.mempool.advance(overlay)
    this.#searchedTo = Math.max(this.#searchedTo, span.to)
    this.#overlaidFrom = Math.min(this.#overlaidFrom, span.from)
    return true
  }
}
