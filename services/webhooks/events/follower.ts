import { CommittedEventSchema, type HeadCommitted } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { hexOf } from '../../../pipelines/chain/hash.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { offsetOf, positionOf } from '../../../pipelines/events/positions.js'
import { lastHeartbeat } from '../../../pipelines/log/heartbeat.js'
import type { EventLog, LogRecord } from '../../../pipelines/log/port.js'
import { batchesBack, messageIn, recordsOf } from '../../../pipelines/log/records.js'
import type { Logger } from '../../../pipelines/logger.js'
import { decodeEvent } from '../../../pipelines/materialize/apply/decode.js'
import { ChainReader } from '../../../pipelines/materialize/chain-reader.js'
import { readDeadLetters } from '../../../pipelines/materialize/dead-letters.js'
import type { PositionedEvent } from '../../../pipelines/materialize/events.js'
import type { ContainedChain } from '../../../pipelines/materialize/one-chain.js'
import { lostHead } from '../../../pipelines/materialize/rebuild/repair.js'
import { Blocks, blocksBack } from './blocks.js'
import { confirmedBy, undoneBy } from './chain-events.js'
import { changesBy, withoutBlock } from './changes.js'
import type { WebhookEvent } from './events.js'
import { type Hook, MAX_CONFIRMATIONS } from '../hooks.js'
import { HookSet, type Match } from './matching.js'
import { MempoolWatch } from './mempool-watch.js'
import type { ChainCursor, Store, StoredBlock } from '../store.js'

/** The number of events that are read at once, and the bytes: decoded blocks take several times as much memory. */
const [READ_EVENTS, READ_BYTES] = [64, 8 * 2 ** 20]
/** The number of blocks below the first tip that are known from the start: for confirmations, reorganisations and repairs of the log. */
const KNOWN_BLOCKS = 500
/** The number of blocks by which an index that is level with the node may be behind it for a moment. */
const LEVEL_BLOCKS = 2
/** The number of the last records of topic `node` among which there is a heartbeat, unless a large snapshot was just written. */
const HEARTBEAT_RECORDS = 64

export interface FollowerParts {
  readonly log: EventLog
  readonly store: Store
  readonly logger: Logger
  readonly network: Network
  /** The chain that the log contains. */
  readonly contained: ContainedChain
  /** Returns the hooks as last loaded: another list after each change. */
  readonly hooks: () => readonly Hook[]
}

/** One version of the file. */
interface CurrentHooks {
  readonly list: readonly Hook[]
  readonly set: HookSet
  readonly blocks: Blocks
}

/**
 * Follows the log, and queues the events of each hook. Which events there are is a function of the chain and of the hooks: the log
 * is read by the rules of the materializer (`ChainReader`) from the stored position on, and not beyond the newest
 * published head, so that the explorer can answer for each event.
 */
export class Follower {
  readonly #parts: FollowerParts
  #cursor: ChainCursor | undefined
  #mempool: MempoolWatch | undefined
  #reader: ChainReader | undefined
  /** Events that were read and lead to no state that may be published yet. */
  readonly #unsettled: PositionedEvent[] = []
  /**
   * The events that lead to each next state that may be published: each block alone, and a reorganisation as a whole. A head may be of
   * several of these states; one by one, they are in step with the events of the mempool, however much is read at once.
   */
  readonly #states: PositionedEvent[][] = []
  #newest: HeadCommitted | undefined
  /** The position of topic `committed` that is read next; undefined before its newest head was found. */
  #committed: number | undefined
  #hooks: CurrentHooks | undefined
  /** True while the first start waits for the index. */
  #waits = false

  constructor(parts: FollowerParts) {
    this.#parts = parts
    this.#cursor = parts.store.chain
  }

  /** The height of the block up to which events are queued; undefined before the first. */
  get height(): number | undefined {
    return this.#cursor?.tipHeight
  }

  /**
   * Queues the events of what is new in the log. After an error the next step continues from the stored position.
   * @returns the number of events; undefined if nothing was new.
   * @throws PoisonEvent, LogShrank at damage of the log that is not repaired yet; errors of the log.
   */
  async step(): Promise<number | undefined> {
    try {
      await this.#readCommitted()
      const cursor = (this.#cursor ??= await this.#begin())
      if (cursor === undefined) return undefined
      const { log, store, logger } = this.#parts
      this.#mempool ??= new MempoolWatch({ log, store, logger }, store.node ?? -1)
      const { set, blocks } = await this.#currentHooks(cursor, this.#mempool)
      const active = this.#active(set.all)
      const unconfirmed = await this.#mempool.follow(cursor.position, set, active)
      const state = await this.#nextState(cursor)
      if (state === undefined) return unconfirmed > 0 ? unconfirmed : undefined
      return (
        unconfirmed +
        (await this.#apply(
          cursor,
          state,
          set.all.filter(({ id }) => active.has(id)),
          blocks,
        ))
      )
    } catch (error) {
      this.#reader = undefined
      this.#unsettled.length = 0
      this.#states.length = 0
      throw error
    }
  }

  /** Reads which head is the newest. */
  async #readCommitted(): Promise<void> {
    const { log } = this.#parts
    const last = await log.last('committed')
    if (this.#committed === undefined || this.#committed > last + 1) {
      this.#committed = last + 1
      for await (const found of batchesBack(log, 'committed', last, headIn)) {
        if (found.length === 0) continue
        this.#publish(found)
        break
      }
    }
    for await (const record of recordsOf(log, 'committed', this.#committed)) {
      this.#committed = record.position + 1
      const head = headIn(record)
      if (head !== undefined) this.#publish([head])
    }
  }

  #publish(heads: readonly HeadCommitted[]): void {
    for (const head of heads)
      if (this.#newest === undefined || head.position >= this.#newest.position) this.#newest = head
  }

  /** Returns whether the newest head is level with the node. During a backfill, the events of the past would be sent. */
  async #isLevel({ tipHeight }: HeadCommitted): Promise<boolean> {
    const { log, logger } = this.#parts
    const last = await log.last('node')
    const heartbeat = lastHeartbeat(
      await log.read('node', Math.max(0, last - HEARTBEAT_RECORDS), HEARTBEAT_RECORDS + 1),
    )
    const isLevel =
      heartbeat !== undefined &&
      !heartbeat.initialDownload &&
      heartbeat.nodeHeight <= tipHeight + LEVEL_BLOCKS
    if (!isLevel && !this.#waits)
      logger.info({ height: tipHeight }, 'waiting until the index is level with the node')
    this.#waits = !isLevel
    return isLevel
  }

  /** Returns the state of the newest head, with which the first start begins; undefined if the index is not level with the node yet. */
  async #begin(): Promise<ChainCursor | undefined> {
    const { log, store, contained, logger } = this.#parts
    if (this.#newest === undefined || !(await this.#isLevel(this.#newest))) return undefined
    const { tipHash: hash, tipHeight } = this.#newest
    const position = Number(this.#newest.position)
    const offset = offsetOf(position)
    const [record] = await log.read('chain', offset, 1)
    if (record?.position !== offset) return undefined
    const { epoch, sequence } = decodeEvent(record)
    const tipHash = hexOf(hash)
    const hasBlocks = tipHash !== '00'.repeat(32)
    const tip = hasBlocks ? { tipHeight, tipHash } : { tipHeight: -1, tipHash: '' }
    const cursor = { position, epoch, sequence, chain: contained.name, ...tip }
    const known: StoredBlock[] = []
    for await (const block of blocksBack(log, offset, tipHash)) if (known.push(block) >= KNOWN_BLOCKS) break
    const last = await log.last('node')
    store.write(() => {
      store.putBlock({ height: 0, hash: contained.genesisHash, position: -1, time: 0 })
      for (const block of known) store.putBlock(block)
      store.setChain(cursor)
      store.setNode(last)
    })
    logger.info(
      { position, height: tip.tipHeight, blocks: known.length },
      'webhooks begin at the newest block',
    )
    return cursor
  }

  /** Returns the hooks. Registers those that are new. */
  async #currentHooks(cursor: ChainCursor, mempool: MempoolWatch): Promise<CurrentHooks> {
    const list = this.#parts.hooks()
    if (this.#hooks?.list === list) return this.#hooks
    const set = new HookSet(list, this.#parts.network)
    const blocks = new Blocks(this.#parts, set)
    await this.#register(list, { cursor, set, blocks, mempool })
    return (this.#hooks = { list, set, blocks })
  }

  /**
   * Registers hooks and txids that are new. A txid is usually registered after its transaction was sent, so what has happened to it
   * until now is reported, too; and of other unconfirmed transactions those that are in the mempool.
   */
  async #register(
    list: readonly Hook[],
    {
      cursor,
      set,
      blocks,
      mempool,
    }: { cursor: ChainCursor; set: HookSet; blocks: Blocks; mempool: MempoolWatch },
  ): Promise<void> {
    const { store } = this.#parts
    const newHooks = new Set(list.map(({ id }) => id).filter((id) => store.hook(id) === undefined))
    const newTxids = new Map(
      list.map(({ id, txids }) => {
        const watched = store.watched(id)
        return [id, new Set([...txids].filter((txid) => !watched.has(txid)))]
      }),
    )
    const searching = list.filter(({ id }) => (newTxids.get(id)?.size ?? 0) > 0)
    const isNew = ({ hook, txid }: Match): boolean => newTxids.get(hook.id)?.has(txid) === true
    const at = (height: number): StoredBlock | undefined => store.block(height)
    const lowest = Math.max(0, cursor.tipHeight - MAX_CONFIRMATIONS + 1)
    const events: WebhookEvent[] = []
    for (let height = lowest; height <= cursor.tipHeight && searching.length > 0; height++) {
      const block = at(height)
      if (block !== undefined) events.push(...(await confirmedBy(block, at, searching, blocks, isNew)))
    }
    const present = newHooks.size + searching.length === 0 ? [] : await mempool.present(set)
    const now = Date.now()
    store.write(() => {
      for (const { id, txids } of list) store.register(id, cursor.position, txids)
      const cause = { position: `registered at ${String(cursor.position)}`, time: now }
      const fresh = present.filter((match) => newHooks.has(match.hook.id) || isNew(match))
      store.queue([...events, ...mempool.see(fresh, cause, this.#active(list))], now)
    })
  }

  /** Returns the ids of the hooks that are not disabled. */
  #active(hooks: readonly Hook[]): ReadonlySet<string> {
    const { store } = this.#parts
    return new Set(hooks.filter(({ id, url }) => store.hook(id)?.disabledUrl !== url).map(({ id }) => id))
  }

  /** Returns the events that lead to the next published state, if there is one. */
  async #nextState(cursor: ChainCursor): Promise<readonly PositionedEvent[] | undefined> {
    if (this.#states.length === 0) await this.#read(cursor)
    const last = this.#states[0]?.at(-1)
    if (last === undefined) return undefined
    const published = Number(this.#newest?.position ?? -1)
    return positionOf(last.event.generation, last.position) <= published ? this.#states.shift() : undefined
  }

  async #read(cursor: ChainCursor): Promise<void> {
    const { log } = this.#parts
    this.#reader ??= await this.#readerAt(cursor)
    const events = await this.#reader.take(READ_EVENTS, READ_BYTES)
    if (events === undefined) {
      // No event shows that the log was replaced by a shorter one.
      if (this.#reader.isBeyond(await log.last('chain'))) this.#reader = undefined
      return
    }
    for (const event of events) {
      this.#unsettled.push(withoutBlock(event))
      if (event.event.settled) this.#states.push(this.#unsettled.splice(0))
    }
  }

  async #readerAt(cursor: ChainCursor): Promise<ChainReader> {
    const { log, store } = this.#parts
    const [deadLettered, lost] = [await readDeadLetters(log), await lostHead(log, cursor)]
    const hashAt = (height: number): Promise<string | undefined> => {
      const hash = store.block(height)?.hash
      if (hash !== undefined || height === 0) return Promise.resolve(hash === '' ? undefined : hash)
      const message = `the log was repaired from below block ${String(height)}, with which the webhooks have begun: see the runbook`
      return Promise.reject(new Error(message))
    }
    return new ChainReader({
      log,
      deadLettered,
      lost,
      head: { ...cursor, finalHeight: -1 },
      decodes: true,
      hashAt,
    })
  }

  /** Queues the events of the next state. @returns their number. */
  async #apply(
    cursor: ChainCursor,
    state: readonly PositionedEvent[],
    hooks: readonly Hook[],
    blocks: Blocks,
  ): Promise<number> {
    const { store } = this.#parts
    const last = state.at(-1) as PositionedEvent
    const { disconnected, connected } = changesBy(state)
    const lowest = disconnected.at(-1)
    const fork = lowest === undefined ? cursor.tipHeight : lowest.height - 1
    const joined = new Map(connected.map((block) => [block.height, block]))
    const stored = (height: number): StoredBlock | undefined => store.block(height)
    const at = (height: number): StoredBlock | undefined =>
      height > fork ? joined.get(height) : stored(height)
    const { height: tipHeight, hash: tipHash } = connected.at(-1) ?? at(fork) ?? { height: -1, hash: '' }
    const position = positionOf(last.event.generation, last.position)
    const tip = { height: tipHeight, hash: tipHash }
    const settled = { position, time: last.time }
    const since = ({ id }: Hook): number => store.hook(id)?.since ?? position
    const events = await undoneBy({ disconnected, connected, settled, tip, at: stored }, hooks, blocks, since)
    for (const block of connected) events.push(...(await confirmedBy(block, at, hooks, blocks)))
    const { epoch, sequence } = last.event
    const next = { position, epoch, sequence, chain: cursor.chain, tipHeight, tipHash }
    store.write(() => {
      store.cutBlocks(fork)
      for (const block of connected) store.putBlock(block)
      store.queue(events, Date.now())
      store.setChain(next)
    })
    this.#cursor = next
    return events.length
  }
}

/** Returns the head that a record of topic `committed` announces; undefined for other records. */
function headIn(record: LogRecord): HeadCommitted | undefined {
  const event = messageIn(CommittedEventSchema, record)?.event
  return event?.case === 'head' ? event.value : undefined
}
