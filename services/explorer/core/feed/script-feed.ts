import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import { isoTime } from '../../../../pipelines/chain/time.js'
import type { Logger } from '../../../../pipelines/logger.js'
import { pause } from '../../../../pipelines/pause.js'
import type { ShownTx } from '../mempool/shown-tx.js'
import { changeOf } from '../reads/script.js'
import type { AddressEvent } from '../reads/shapes.js'
import type { Change } from '../state/change.js'
import type { ChainState, State } from '../state/state.js'
import { retrying } from '../tables/retry.js'
import type { Tables } from '../tables/tables.js'
import { BEHIND_WAIT_MS, type FeedMessage } from './pull.js'
import { changesBetween, type Missed, missedOf, missedSince, type ScriptChanges } from './script-changes.js'

/** The change of a script, as the channel of an address sends it. */
export type ScriptEvent = Omit<AddressEvent, 'address'>

/** A message to a subscriber; its number is a position of the log. */
export interface ScriptMessage extends FeedMessage {
  readonly data: ScriptEvent | undefined
}

/** A script that a client subscribes to. */
export interface ScriptSubscription {
  /** The key of the script in the tables, see `scriptHash` and `scriptKeyOf`. */
  readonly script: string
  /** The position of the log up to which the client knows the script. Undefined: it wants what happens from now on. */
  readonly since: number | undefined
  readonly send: (message: ScriptMessage) => void
  /** The same object for all scripts that a client resumes at one position. Not set: the script has a position of its own. */
  readonly stream?: object
}

export interface ScriptFeedParts {
  readonly state: State
  readonly tables: Tables
  readonly logger: Logger
  readonly onDefect?: () => void
  /** Called when the tables have a newer writer than the state: the state must be loaded again. */
  readonly refreshHeads?: () => void
}

interface Subscriber extends ScriptSubscription {
  readonly stream: object
  hasLeft: boolean
}

/** A script with subscribers. */
interface Watched {
  readonly subscribers: Set<Subscriber>
  /** Its unconfirmed transactions as the subscribers know them. */
  unconfirmed: ReadonlyMap<string, ShownTx>
}

/** The kinds of changes after which the transactions of a script may be others. */
const CHANGES: ReadonlySet<Change['kind']> = new Set(['head', 'mempool'])

/** The number of scripts that are looked up in parallel. */
const SCRIPTS_AT_ONCE = 50

/**
 * Sends the changes of scripts: after each change of the state it compares the transactions of the scripts that the change
 * touches with their transactions at the previous state. Every event belongs to a state that this explorer has adopted. The position of
 * that state's head in the log, which each event carries, is enough to resume on any explorer.
 */
export class ScriptFeed {
  readonly #parts: ScriptFeedParts
  readonly #watched = new Map<string, Watched>()
  /** Subscribers that have not received the current state yet. */
  #joining: Subscriber[] = []
  /** The scripts that were touched since the last comparison; undefined if any may be. */
  #touched: Set<string> | undefined = new Set()
  /** The chain of the last comparison; undefined while nothing is watched. */
  #chain: ChainState | undefined
  #isRunning = false
  #isDirty = false
  #isWelcoming = false
  readonly #stop = new AbortController()

  constructor(parts: ScriptFeedParts) {
    this.#parts = parts
    parts.state.watch(({ kind, touched }) => {
      if (this.#chain === undefined || !CHANGES.has(kind)) return
      if (touched === undefined) this.#touched = undefined
      else if (this.#touched !== undefined)
        for (const script of this.#watched.keys()) if (touched.has(script)) this.#touched.add(script)
      this.#wake()
    })
  }

  /**
   * Calls back at each change of chain or mempool, in the turn in which it happens.
   * @param watcher receives the hashes that the change touches, see `Change`.
   */
  watch(watcher: (touched: ReadonlySet<string> | undefined) => void): void {
    this.#parts.state.watch(({ kind, touched }) => {
      if (CHANGES.has(kind)) watcher(touched)
    })
  }

  /** The number of subscriptions. */
  get size(): number {
    return [...this.#watched.values()].reduce((sum, { subscribers }) => sum + subscribers.size, 0)
  }

  /**
   * Subscribes to a script: first `send` receives what was missed since a position, then an event `synced`, then each change.
   * @returns a function that ends the subscription.
   */
  subscribe(subscription: ScriptSubscription): () => void {
    const subscriber: Subscriber = { stream: {}, ...subscription, hasLeft: false }
    const { script, since } = subscription
    const join = (): void => {
      if (subscriber.hasLeft) return
      this.#joining.push(subscriber)
      this.#wake()
    }
    const { state } = this.#parts
    const isBehind = since !== undefined && since > state.chain.position
    // The client comes from a process that is ahead of this one, or has invented the position. No other client waits for it.
    if (isBehind)
      void state.until(() => state.chain.position >= since, BEHIND_WAIT_MS, this.#stop.signal).then(join)
    else join()
    return () => {
      subscriber.hasLeft = true
      if (this.#joining.length > 0) this.#joining = this.#joining.filter((each) => each !== subscriber)
      this.#watched.get(script)?.subscribers.delete(subscriber)
      // A subscriber that is being welcomed is not in the set yet.
      if (!this.#isWelcoming) this.#forgetUnwatched([script])
    }
  }

  #forgetUnwatched(scripts: Iterable<string> = this.#watched.keys()): void {
    for (const script of scripts)
      if (this.#watched.get(script)?.subscribers.size === 0) this.#watched.delete(script)
    if (this.#watched.size === 0) this.#chain = undefined
  }

  close(): void {
    this.#stop.abort()
  }

  #wake(): void {
    this.#isDirty = true
    if (this.#isRunning) return
    this.#isRunning = true
    // After the turn, in which chain and mempool may both change.
    setImmediate(() => {
      void this.#run().finally(() => {
        this.#isRunning = false
        if (this.#isDirty && !this.#stop.signal.aborted) this.#wake()
      })
    })
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (this.#isDirty && !signal.aborted) {
      this.#isDirty = false
      await retrying('the changes of scripts', () => this.#compare(), this.#parts, signal)
      if (this.#joining.length > 0) await this.#welcome()
    }
  }

  /** Compares the current state with the state of the last comparison, and sends the difference. */
  async #compare(): Promise<void> {
    const { state, tables } = this.#parts
    const { chain } = state
    const before = this.#chain
    if (before === undefined) return
    const touched = this.#touched === undefined ? [...this.#watched.keys()] : [...this.#touched]
    const scripts = touched.filter((script) => this.#watched.has(script))
    const pending = this.#touched
    this.#touched = new Set()
    const unconfirmed = new Map(scripts.map((script) => [script, this.#unconfirmedOf(script)]))
    try {
      const changes =
        chain === before
          ? new Map<string, ScriptChanges>()
          : await mapOf(scripts, (script) => changesBetween(script, before, chain, tables))
      if (chain !== before && scripts.length > 0) await this.#assertFence(chain)
      this.#chain = this.#watched.size === 0 ? undefined : chain
      const messages: Outgoing[] = []
      for (const script of scripts) {
        const watched = this.#watched.get(script)
        if (watched === undefined) continue
        const now = unconfirmed.get(script) ?? new Map<string, ShownTx>()
        const events = eventsOf(script, changes.get(script) ?? NO_CHANGES, watched.unconfirmed, now, chain)
        watched.unconfirmed = now
        for (const subscriber of watched.subscribers)
          messages.push(...events.map((data): Outgoing => ({ subscriber, data })))
      }
      sendAll(messages, before.position, chain.position)
    } catch (error) {
      if (pending === undefined || this.#touched === undefined) this.#touched = undefined
      else for (const script of pending) this.#touched.add(script)
      throw error
    }
  }

  /** @throws DatabaseUnavailable if rows may come from a newer writer than the state; the state is then loaded again. */
  async #assertFence({ fence }: ChainState): Promise<void> {
    const { tables, refreshHeads } = this.#parts
    if ((await tables.fence()) === fence) return
    refreshHeads?.()
    throw new DatabaseUnavailable('another writer took over meanwhile')
  }

  #unconfirmedOf(script: string): ReadonlyMap<string, ShownTx> {
    return new Map(
      this.#parts.state.mempool
        .snapshot()
        .ofScript(script)
        .map((tx) => [tx.txid, tx]),
    )
  }

  /** Sends new subscribers what they have missed and the current state. */
  async #welcome(): Promise<void> {
    const { state } = this.#parts
    const { signal } = this.#stop
    await state.until(() => state.ready, undefined, signal)
    if (signal.aborted) return
    // In one turn with the state that the other subscribers know, or else after the next comparison.
    if (this.#chain !== undefined && (this.#chain !== state.chain || this.#touched?.size !== 0)) {
      this.#isDirty = true
      return
    }
    const { chain } = state
    this.#chain = chain
    this.#touched ??= new Set()
    const joining = this.#joining.splice(0)
    const unconfirmed = new Map(joining.map(({ script }) => [script, this.#unconfirmedOf(script)]))
    for (const subscriber of joining) {
      const watched = this.#watched.get(subscriber.script)
      if (watched === undefined)
        this.#watched.set(subscriber.script, {
          subscribers: new Set(),
          unconfirmed: unconfirmed.get(subscriber.script) ?? new Map<string, ShownTx>(),
        })
    }
    this.#isWelcoming = true
    try {
      const changesOf = await this.#missedBy(joining, chain)
      await this.#assertFence(chain)
      const welcomed = [...changesOf].filter(([{ hasLeft }]) => !hasLeft)
      const none = new Map<string, ShownTx>()
      // All changes before the first `synced`, after which a stream resumes later.
      for (const [{ script, since = chain.position, send }, changes] of welcomed) {
        if (changes === undefined || changes === 'too much') continue
        for (const data of eventsOf(script, changes, none, unconfirmed.get(script) ?? none, chain))
          send({ seq: since, data })
      }
      for (const [subscriber, changes] of welcomed) {
        const { script, send } = subscriber
        if (changes === 'too much') send({ seq: chain.position, data: undefined })
        const txids = [...(unconfirmed.get(script) ?? none).keys()]
        send({ seq: chain.position, data: synced(txids) })
        this.#watched.get(script)?.subscribers.add(subscriber)
      }
      this.#forgetUnwatched()
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'cannot look up scripts, retrying')
      this.#joining.push(...joining.filter(({ hasLeft }) => !hasLeft))
      this.#forgetUnwatched()
      await pause(RETRY_MS, signal)
    } finally {
      this.#isWelcoming = false
    }
    this.#isDirty ||= this.#joining.length > 0
  }

  /** Returns what subscribers have missed; undefined for those that resume nothing. */
  async #missedBy(
    joining: readonly Subscriber[],
    chain: ChainState,
  ): Promise<Map<Subscriber, ScriptChanges | 'too much' | undefined>> {
    const { tables } = this.#parts
    const since = new Map<number, Missed | undefined>()
    for (const position of new Set(joining.map((each) => each.since)))
      if (position !== undefined && position <= chain.position)
        since.set(position, await missedSince(position, chain, tables))
    return mapOf(joining, async (subscriber) => {
      if (subscriber.since === undefined) return undefined
      const missed = since.get(subscriber.since)
      return missed === undefined ? 'too much' : missedOf(subscriber.script, missed, chain, tables)
    })
  }
}

const RETRY_MS = 500
const NO_CHANGES: ScriptChanges = { left: [], confirmed: [] }

/** Returns the results for keys, at most `SCRIPTS_AT_ONCE` of which are computed in parallel. */
async function mapOf<K, V>(keys: readonly K[], of: (key: K) => Promise<V>): Promise<Map<K, V>> {
  const values = new Map<K, V>()
  for (let at = 0; at < keys.length; at += SCRIPTS_AT_ONCE) {
    const some = keys.slice(at, at + SCRIPTS_AT_ONCE)
    const results = await Promise.all(some.map(of))
    for (const [index, key] of some.entries()) values.set(key, results[index] as V)
  }
  return values
}

const NOTHING = { block_height: null, block_hash: null, value_change: null, timestamp: null, unconfirmed: [] }

const synced = (unconfirmed: string[]): ScriptEvent => {
  return { ...NOTHING, status: 'synced', txid: null, unconfirmed }
}

/** Returns the events of a script between two states: first the removed transactions, then the confirmed, then the unconfirmed ones. */
function eventsOf(
  script: string,
  { left, confirmed }: ScriptChanges,
  before: ReadonlyMap<string, ShownTx>,
  now: ReadonlyMap<string, ShownTx>,
  { blocks }: ChainState,
): ScriptEvent[] {
  const isConfirmed = new Set(confirmed.map(({ txid }) => txid))
  const removals = [...new Set([...left, ...before.keys()])].filter(
    (txid) => !now.has(txid) && !isConfirmed.has(txid),
  )
  const fell = new Set(left)
  return [
    ...removals.map((txid): ScriptEvent => ({ ...NOTHING, status: 'removed', txid })),
    ...confirmed.map(({ txid, height, change }): ScriptEvent => {
      const block = { block_height: height, block_hash: blocks.hashAt(height) }
      const timestamp = isoTime(blocks.timeAt(height))
      const value_change = change.toString()
      return { status: 'confirmed', txid, ...block, value_change, timestamp, unconfirmed: [] }
    }),
    ...[...now.values()]
      .filter((tx) => fell.has(tx.txid) || isNew(tx, before.get(tx.txid), script))
      .map((tx): ScriptEvent => {
        const value_change = changeOf(tx, script).toString()
        const timestamp = isoTime(tx.firstSeen)
        return { ...NOTHING, status: 'unconfirmed', txid: tx.txid, value_change, timestamp }
      }),
  ]
}

/** Returns whether an unconfirmed transaction was unknown, or fewer of the outputs that it spends were known. */
function isNew(tx: ShownTx, before: ShownTx | undefined, script: string): boolean {
  return before === undefined || changeOf(tx, script) !== changeOf(before, script)
}

interface Outgoing {
  readonly subscriber: Subscriber
  readonly data: ScriptEvent
}

/**
 * Sends the changes between two positions of the log. Only the last change of a stream has the later position: a client that is cut off
 * before the last change resumes at the earlier position, and misses none.
 */
function sendAll(messages: readonly Outgoing[], from: number, to: number): void {
  const last = new Map(messages.map((message) => [message.subscriber.stream, message]))
  for (const message of messages) {
    const { subscriber, data } = message
    subscriber.send({ seq: last.get(subscriber.stream) === message ? to : from, data })
  }
}
