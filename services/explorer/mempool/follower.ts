import { type Heartbeat, PoolLeft_Reason } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import type { Logger } from '../../../pipelines/logger.js'
import { lastHeartbeat } from '../../../pipelines/log/heartbeat.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import type { Head } from '../../../pipelines/tables/head.js'
import { DatabaseUnavailable } from '../../../pipelines/tables/clickhouse.js'
import { heightOf } from '../tables/blocks.js'
import { resolveCoins } from './coins.js'
import type { Feed } from '../feed/feed.js'
import { overlayBySearch, type Span } from './overlay.js'
import type { Overlay } from './mempool.js'
import {
  type MempoolDelta,
  MempoolEvents,
  type MempoolStep,
} from '../../../pipelines/mempool/mempool-events.js'
import type { MempoolEntry } from '../../../pipelines/mempool/mempool-tx.js'
import { isResolved, shownTx, type ShownTx } from './shown-tx.js'
import { endsBefore, pause, retrying } from '../state/retry.js'
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
  /** Called at each error of our own; the following goes on. */
  readonly onDefect?: () => void
}

const READ_AT_ONCE = 256
const READ_BYTES = 4 * 2 ** 20
const WAIT_MS = 1_000

/**
 * Follows topic `node` into the mempool. An event takes effect when the head has reached the position of the chain at which it was
 * seen, with the inputs of its transactions found; where the head is ahead, the overlays of the heads beyond it stay on top.
 */
export class MempoolFollower {
  readonly #parts: MempoolFollowerParts
  #events: MempoolEvents
  #next = 0
  /** The mempool holds an overlay for each head beyond this position. */
  #overlaidFrom = -1
  /** Overlays up to this position were made by search: they know nothing of transactions that enter after it. */
  #searchedTo = -1
  /** Position of the chain at which the last event that was taken was seen. */
  #seenAt = -1
  /** Transactions of which some input's value is not known. */
  #unresolved = new Set<string>()

  constructor(parts: MempoolFollowerParts) {
    this.#parts = parts
    this.#events = new MempoolEvents(parts.log, parts.logger)
  }

  /** Position of the next event of topic `node` that is looked at. */
  get next(): number {
    return this.#next
  }

  /** Follows until the signal aborts. The state is told when all that was there at the start is in. */
  async run(signal: AbortSignal): Promise<void> {
    const { state, log, logger } = this.#parts
    const reading = <T>(read: () => Promise<T>): Promise<T | undefined> =>
      retrying('the mempool in the log', read, this.#parts, signal)
    await state.until(() => state.chainLoaded, undefined, signal)
    this.#overlaidFrom = Math.max(this.#overlaidFrom, state.chain.position)
    const start = await reading(() => this.#events.findStart(state.chain.position))
    this.#next = start?.from ?? 0
    while (!signal.aborted) {
      if (this.#next > (start?.last ?? -1)) await this.#finishLoading(signal)
      const records = await reading(() => log.read('node', this.#next, READ_AT_ONCE, READ_BYTES))
      if (records === undefined) return
      const steps = this.#events.steps(records)
      this.#see(this.#events.heartbeat)
      for (const step of steps) await this.#take(step, signal)
      await this.#resolveAgain().catch(() => undefined)
      const last = records.at(-1)
      if (last !== undefined) this.#next = last.position + 1
      else {
        // Brokers that have just chosen a leader may hand out less than there is.
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

  /** Whether heads may be adopted without an overlay: there is nothing to lay it upon. Ask in the turn of the adoption. */
  canSkip(heads: readonly Head[]): boolean {
    return this.#parts.state.mempool.isEmpty && heads.every((head) => head.disconnected.length === 0)
  }

  /** A head was adopted without an overlay; should an older event of the mempool come yet, it is made then. */
  skipped(position: number): void {
    this.#overlaidFrom = position
    this.#parts.state.mempool.forgetOverlays(position)
  }

  /** Looks again for what inputs spend, where it was not found. */
  async #resolveAgain(): Promise<void> {
    if (this.#unresolved.size === 0) return
    const { state, tables, whales } = this.#parts
    const open = [...this.#unresolved]
      .map((txid) => state.mempool.known(txid))
      .filter((tx) => tx !== undefined)
    this.#unresolved = new Set(open.map((tx) => tx.txid))
    const found = await resolveCoins(open, (txid) => state.mempool.known(txid), tables)
    for (const tx of found) if (isResolved(tx)) this.#unresolved.delete(tx.txid)
    if (found.length === 0) return
    state.mempool.update(found)
    whales.inMempool(found)
  }

  async #take(step: MempoolStep, signal: AbortSignal): Promise<void> {
    const { state, feed, whales } = this.#parts
    const { seenAt } = step
    if (state.chain.position < seenAt) {
      // The mempool beside a chain that is not shown yet: nothing more can be told until it is.
      await this.#finishLoading(signal)
      await this.#untilShown(seenAt, signal)
    }
    if (signal.aborted) return
    if (step.kind === 'snapshot') {
      const { enteredBefore } = step
      const entries = await this.#resolved(step.entries)
      await this.#apply(seenAt, entries, signal, () => {
        state.mempool.replace(entries, seenAt)
        whales.inMempool(entries)
        if (feed.lastOf('mempool') < enteredBefore) feed.begin('mempool', enteredBefore)
      })
      return
    }
    const entered = await this.#resolved(step.deltas.flatMap((delta) => delta.entered))
    const isAhead = state.chain.position > seenAt
    const passedOver = isAhead ? await this.#passedOver(step.deltas, signal) : new Set<string>()
    await this.#apply(seenAt, entered, signal, () => {
      let next = 0
      for (const delta of step.deltas) {
        const some = entered.slice(next, (next += delta.entered.length))
        const left = delta.left.map(({ txid }) => txid)
        const back = delta.left.filter(({ by }) => passedOver.has(by))
        const known = back.map(({ txid }) => state.mempool.known(txid)).filter((tx) => tx !== undefined)
        state.mempool.change(some, left, seenAt)
        if (known.length > 0) state.mempool.giveBack(known)
        for (const [index, { txid, fee, vsize }] of some.entries())
          feed.publish('mempool', { txid, fee: fee.toString(), vsize }, delta.enteredBefore + index + 1)
      }
      whales.inMempool(entered)
    })
  }

  /** Blocks that confirmed some of these and are not of the chain that is shown by now; one that came and went left no row. */
  async #passedOver(deltas: readonly MempoolDelta[], signal: AbortSignal): Promise<Set<string>> {
    const { state, tables } = this.#parts
    const left = deltas.flatMap((delta) => delta.left)
    const blocks = left.filter(({ reason }) => reason === PoolLeft_Reason.CONFIRMED).map(({ by }) => by)
    const passed = new Set(blocks)
    for (const hash of passed) {
      const look = () => heightOf(tables, hash)
      const height = await retrying('a block that confirmed', look, this.#parts, signal)
      if (height !== undefined && state.chain.view?.isCanonical(height, hash) === true) passed.delete(hash)
    }
    return passed
  }

  /** Waits for the head. Meanwhile heartbeats are read ahead: how far the node has gone on tells how far behind the head is. */
  async #untilShown(position: number, signal: AbortSignal): Promise<void> {
    const { state, log } = this.#parts
    const isShown = (): boolean => state.chain.position >= position
    for (let next = this.#next; !signal.aborted && !(await state.until(isShown, WAIT_MS, signal));) {
      const records = await log.read('node', next, READ_AT_ONCE, READ_BYTES).catch(() => [])
      next = (records.at(-1)?.position ?? next - 1) + 1
      this.#see(lastHeartbeat(records))
    }
  }

  #see(heartbeat: Heartbeat | undefined): void {
    const { state } = this.#parts
    const timeMs = Number(heartbeat?.timeMs ?? 0)
    if (heartbeat === undefined || timeMs <= (state.nodeSeen?.timeMs ?? 0)) return
    state.nodeSeen = { timeMs, nodeHeight: heartbeat.nodeHeight }
  }

  /** Entries with what their inputs spend, as far as that is found now. */
  async #resolved(entries: readonly MempoolEntry[]): Promise<ShownTx[]> {
    const { state, tables, logger } = this.#parts
    const { network } = state.chain
    if (network === undefined) return []
    const txs = entries.map((entry) => {
      const known = state.mempool.known(entry.txid)
      if (known?.fee === entry.fee && known.firstSeen === entry.firstSeen) return known
      return shownTx({ ...entry, network }, known?.coins)
    })
    const found = await resolveCoins(txs, (txid) => state.mempool.known(txid), tables).catch(
      (error: unknown) => {
        logger.warn({ err: error }, 'cannot look up inputs of the mempool, retrying')
        return []
      },
    )
    const byTxid = new Map(found.map((tx) => [tx.txid, tx]))
    const all = txs.map((tx) => byTxid.get(tx.txid) ?? tx)
    for (const tx of all) if (!isResolved(tx)) this.#unresolved.add(tx.txid)
    return all
  }

  /**
   * Makes a change of the mempool in one turn with its precondition: that each head beyond the position at which the change was
   * seen has its overlay. Until the mempool is loaded nobody looks at it, so that then all are made at once.
   */
  async #apply(
    seenAt: number,
    entered: readonly ShownTx[],
    signal: AbortSignal,
    make: () => void,
  ): Promise<void> {
    const { state } = this.#parts
    for (let done = -1; state.isMempoolLoaded && !signal.aborted;) {
      const to = Math.max(this.#overlaidFrom, this.#searchedTo)
      if (seenAt >= to || done === to) break
      if (await this.#layBySearch([...state.mempool.entries(), ...entered], { from: seenAt, to }, signal))
        done = to
    }
    if (signal.aborted) return
    this.#seenAt = seenAt
    make()
  }

  /** Tells the state that the mempool is there, as it stands beside the head. */
  async #finishLoading(signal: AbortSignal): Promise<void> {
    const { state } = this.#parts
    while (!state.isMempoolLoaded && !signal.aborted) {
      const span = { from: this.#seenAt, to: this.#overlaidFrom }
      if (span.from >= span.to || (await this.#layBySearch([...state.mempool.entries()], span, signal)))
        state.mempoolLoaded()
    }
  }

  /**
   * Lays the overlay of heads that were adopted without one.
   * @returns whether it could be: not where another head was adopted meanwhile without one.
   */
  async #layBySearch(txs: readonly ShownTx[], span: Span, signal: AbortSignal): Promise<boolean> {
    const { state, tables } = this.#parts
    if (state.chain.view === undefined) return true
    const search = async (): Promise<Overlay> => {
      const { view, fence } = state.chain
      if (view === undefined) throw new DatabaseUnavailable('the chain is not available any more')
      const overlay = await overlayBySearch(txs, span, view, state.mempool, tables)
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
