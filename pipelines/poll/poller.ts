import { setTimeout as sleep } from 'node:timers/promises'
import { WrongChainError } from '../errors.js'
import { pause } from '../pause.js'
import type { BlockId } from '../chain/block.js'
import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import { backoffMs } from '../node/backoff.js'
import type { NodeClient } from '../node/client.js'
import { isRpcError, RPC_INVALID_PARAMETER, RPC_NOT_FOUND } from '../node/errors.js'
import { gapsOf } from '../node/gaps.js'
import { assertStill, type Identity, identityOf } from '../node/recognition.js'
import type { NodeChainInfo, NodeMempoolInfo } from '../node/replies.js'
import { Alarm, type AnnouncementSource } from './announce/alarm.js'
import { BlockSource } from './chain/block-source.js'
import { ChainWriter } from './chain/chain-writer.js'
import { DamageReports } from './heal/damage-reports.js'
import {
  isFatal,
  isOfNode,
  LogDamagedError,
  LogLostError,
  PrunedNodeError,
  UnsteadyNodeError,
} from './errors.js'
import { fetchInOrder, type FetchOrder } from './fetch-in-order.js'
import { forkWithNode } from './chain/fork.js'
import { repairOf, rewriteOf } from './heal/log-repair.js'
import { SyncProgress } from './sync-progress.js'
import { NodeWriter } from './mempool/node-writer.js'
import { MempoolFollower } from './mempool/follower.js'
import { readLogEnd } from './chain/log-end.js'
import { NO_HASH, type VerifiedBlock } from './chain/verified-block.js'

export interface PollerOptions {
  readonly node: NodeClient
  readonly log: EventLog
  /** The name of the network that the node must be on; undefined for any. */
  readonly chain?: string | undefined
  readonly pollIntervalMs: number
  readonly logger: Logger
  /** The maximum number of concurrent block requests; by default a node has four threads for them. */
  readonly inFlight: number
  /** Sources that announce changes of the node before the next poll is due. */
  readonly announcements?: readonly AnnouncementSource[]
  readonly observer?: PollerObserver | undefined
  /** The age from which on the node drops a transaction of its mempool, in hours. Not set: the default of nodes. */
  readonly expiryHours?: number | undefined
  /** The number of blocks that the log retains; undefined for all. The poller waits while there are many more. */
  readonly logBlocks?: number | undefined
  /** Returns milliseconds of a monotonic clock; for tests. */
  readonly now?: () => number
}

/** Receives reports of a running poller. */
export interface PollerObserver {
  /** Called when the log has come closer to the node, or is level with it. */
  worked(): void
  /** Called when blocks were written to the log as connected, or as disconnected. */
  moved(change: 'connected' | 'disconnected', blocks: number): void
  /** Called when a poll failed and will be retried. */
  failed(error: unknown): void
}

/** The state of a poller; heights are -1 while unknown. */
export interface PollerState {
  readonly nodeHeight: number
  readonly height: number
  readonly epoch: number
  /** The offset of the last event that it wrote to topic `chain`, -1 for none. */
  readonly position: number
  /** The number of unconfirmed transactions. */
  readonly mempoolSize: number
}

/** The state of a poller that has not read the log yet. */
export const NO_STATE: PollerState = { nodeHeight: -1, height: -1, epoch: 0, position: -1, mempoolSize: 0 }

/**
 * The objects of one epoch, which lasts from reading the log's end until another poller writes, the log fails or the process
 * ends.
 */
interface Session {
  readonly chain: ChainWriter
  readonly writer: NodeWriter
  readonly mempool: MempoolFollower
  readonly progress: SyncProgress
  /** The time of the last heartbeat in Unix milliseconds, and the node's tip in it, empty before the first of a regular poll. */
  beatAt: number
  beatHash: string
  /** Damage of the log that was reported during the epoch. */
  damage: LogDamagedError | undefined
}

/** The maximum size of blocks fetched ahead of their turn. */
const MAX_WAITING_BYTES = 32 * 2 ** 20
/** The number of blocks that the log may have beyond those that it retains, and the pause between checks. */
const LEAD_BLOCKS = 2_000
const ROOM_MS = 100
/** Pauses after failed polls. */
const POLL_BACKOFF = { firstMs: 250, maxMs: 10_000 }
/** The number of attempts without progress after which a poll fails; the pauses between them add up to about ten seconds. */
const MAX_STUCK = 8

/**
 * Follows a node and writes its changes to the log. The log is its only state: it reads the end of the log at the start, and
 * again after every failed write. Delivery: each change of the node's best chain once and in order within an epoch. After a
 * failed poll the next one continues from the log.
 */
export class Poller {
  readonly #options: PollerOptions
  readonly #reports: DamageReports
  readonly #alarm = new Alarm()
  #session: Session | undefined
  #nodeHeight = -1
  /** True if the log has lost blocks that its end builds on, so that the chain is written again from block 0. */
  #rewrites = false

  /** The number of epochs that repaired the log. */
  readonly counts = { repairs: 0 }

  constructor(options: PollerOptions) {
    this.#options = options
    this.#reports = new DamageReports(options.log, options.now ?? (() => performance.now()))
  }

  get state(): PollerState {
    const nodeHeight = this.#nodeHeight
    if (this.#session === undefined) return { ...NO_STATE, nodeHeight }
    const { chain, mempool } = this.#session
    return {
      nodeHeight,
      height: chain.chain.height,
      epoch: chain.epoch,
      position: chain.offset,
      mempoolSize: mempool.mempool.txs.size,
    }
  }

  /**
   * Polls until the signal aborts: after each interval, and earlier when the node announces a change.
   * @throws WrongChainError, SupersededError, PrunedNodeError and defects, which retrying cannot fix. Retries after other
   * errors, with backoff.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    const stopped = AbortSignal.any([signal, stop.signal])
    const { announcements = [] } = this.#options
    const running = [this.#pollUntil(stopped), ...announcements.map((each) => each.run(this.#alarm, stopped))]
    try {
      // A source may end while the poller continues without it.
      await Promise.race([running[0], Promise.all(running)])
    } finally {
      stop.abort()
      await Promise.allSettled(running)
    }
  }

  async #pollUntil(signal: AbortSignal): Promise<void> {
    const { pollIntervalMs, logger, observer } = this.#options
    let failures = 0
    let isEarly = false
    while (!signal.aborted) {
      try {
        this.#alarm.polling()
        await this.pollOnce(signal, isEarly)
        failures = 0
        this.#alarm.level()
        isEarly = await this.#alarm.pause(pollIntervalMs, signal)
      } catch (error) {
        if (signal.aborted) return
        if (isFatal(error)) throw await this.#refused(error)
        observer?.failed(error)
        const message = error instanceof Error ? error.message : String(error)
        logger.error({ err: error, failures: ++failures }, `poll failed, retrying: ${message}`)
        this.#alarm.behind()
        isEarly = false
        await pause(backoffMs(POLL_BACKOFF, failures), signal)
      }
    }
  }

  /**
   * Brings the log level with the node: first with its chain, then with its mempool.
   * @param isEarly true for a poll between two regular ones, which writes a heartbeat only if one is due.
   * @throws errors that `run` would retry.
   */
  async pollOnce(signal: AbortSignal = new AbortController().signal, isEarly = false): Promise<void> {
    try {
      const session = await this.#opened(signal)
      if (!isEarly) session.beatHash = ''
      await this.#poll(session, signal)
    } catch (error) {
      // A failed append may have been written: read the log again, under a new epoch.
      if (!isOfNode(error)) this.#session = undefined
      // The next session begins with the epoch that repairs it.
      if (error instanceof LogDamagedError) return this.pollOnce(signal)
      if (error instanceof LogLostError) this.#rewrites = true
      throw error
    }
  }

  /** Publishes why a log is not repaired, if a materializer waits for that. @returns the error. */
  async #refused(error: unknown): Promise<unknown> {
    if (error instanceof WrongChainError || error instanceof PrunedNodeError)
      await this.#reports.refuse(error.message).catch(() => undefined)
    return error
  }

  async #poll(session: Session, signal: AbortSignal): Promise<void> {
    for (let stuck = 0; stuck < MAX_STUCK;) {
      const position = session.chain.position
      const { info, mempool } = await this.#checkNode(session, signal)
      if (session.damage !== undefined) throw session.damage
      if (info.bestblockhash === session.chain.chain.tip?.hash) {
        if (!session.chain.isSettled) return this.#settle(signal)
        const progress = await session.mempool.sync(mempool, signal)
        if (progress !== 'moved') this.#options.observer?.worked()
        if (progress === 'level') return
        stuck = progress === 'more' ? 0 : stuck + 1
      } else {
        await this.#follow(session, { height: info.blocks, hash: info.bestblockhash }, signal)
        if (session.chain.position > position) stuck = 0
        else await sleep(backoffMs({ firstMs: 20, maxMs: 5_000 }, ++stuck), undefined, { signal })
      }
    }
    throw new UnsteadyNodeError(
      `the node at ${this.#options.node.address} reports a tip that its blocks do not lead to`,
    )
  }

  /**
   * Starts an epoch that marks the log's tip as a state that may be published: the node has left the tip towards which the last
   * blocks led, and its new one is among them. No other event could follow while the node stays there.
   */
  async #settle(signal: AbortSignal): Promise<void> {
    this.#session = undefined
    await this.#poll(await this.#opened(signal), signal)
  }

  async #opened(signal: AbortSignal): Promise<Session> {
    if (this.#session !== undefined) return this.#session
    const { node, log, logger, inFlight, expiryHours, now = () => performance.now() } = this.#options
    const info = await node.chainInfo(signal)
    const identity = await identityOf(node, info, this.#options.chain, signal)
    await this.#refusePruned(identity, info)
    const chain = await this.#startEpoch(identity, info, signal)
    const writer = new NodeWriter(log, chain)
    const sources = { node, log, chain, writer, inFlight, logger, expiryHours, now }
    const mempool = await MempoolFollower.start(sources)
    const height = chain.chain.height
    logger.info(
      {
        node: node.address,
        chain: identity.network.name,
        epoch: chain.epoch,
        height,
        nodeHeight: info.blocks,
      },
      'following',
    )
    for (const gap of gapsOf(info, await node.mempoolInfo(signal))) logger.warn({ node: node.address }, gap)
    const progress = new SyncProgress(node, logger, now)
    this.#session = { chain, writer, mempool, progress, beatAt: 0, beatHash: '', damage: undefined }
    return this.#session
  }

  /** Refuses a node that has pruned the block after the log's end. @throws PrunedNodeError */
  async #refusePruned({ network }: Identity, { pruneheight: from, blocks }: NodeChainInfo): Promise<void> {
    if (from === undefined || from === 0) return
    const { log, node } = this.#options
    const tip = this.#rewrites ? undefined : (await readLogEnd(log, network)).tip
    const next = (tip?.height ?? -1) + 1
    if (next < from && next <= blocks) throw new PrunedNodeError(node.address, next, from)
  }

  /** Starts an epoch at the log's end, or at the block from which it repairs reported damage. */
  async #startEpoch(identity: Identity, info: NodeChainInfo, signal: AbortSignal): Promise<ChainWriter> {
    const { node, log, logger } = this.#options
    const report = await this.#reports.unanswered()
    const repair =
      report === undefined
        ? this.#rewrites
          ? await rewriteOf(info, { log, node, signal })
          : undefined
        : await repairOf(report, identity, info, { log, node, signal })
    const chain = await ChainWriter.start(log, identity, info.bestblockhash, repair)
    if (report !== undefined) this.#reports.answered(report)
    this.#rewrites = false
    if (repair === undefined) return chain
    this.counts.repairs++
    const { epoch, position } = chain
    const height = repair.link?.height ?? -1
    logger.warn(
      { epoch, position, height, damagedPosition: repair.damagedPosition, reason: report?.reason },
      `log damaged: started an epoch that repairs it from block ${String(height + 1)} on`,
    )
    return chain
  }

  /** Reads the node's tip and the state of its mempool, and writes a heartbeat. */
  async #checkNode(
    session: Session,
    signal: AbortSignal,
  ): Promise<{ readonly info: NodeChainInfo; readonly mempool: NodeMempoolInfo }> {
    const { node, pollIntervalMs } = this.#options
    const info = await node.chainInfo(signal)
    const mempool = await node.mempoolInfo(signal)
    const { chain, identity } = session.chain
    // The hash of the log's tip proves that it is the same chain.
    if (info.bestblockhash !== chain.tip?.hash) await assertStill(identity, node, info, signal)
    this.#nodeHeight = info.blocks
    const report = await this.#reports.unanswered()
    if (report !== undefined) session.damage = new LogDamagedError(report.reason)
    const now = Date.now()
    if (info.bestblockhash !== session.beatHash || Math.abs(now - session.beatAt) >= pollIntervalMs / 2) {
      session.beatAt = now
      session.beatHash = info.bestblockhash
      await session.writer.heartbeat(now, info, pollIntervalMs, mempool)
    }
    await session.progress.report(info, chain.tip, signal)
    return { info, mempool }
  }

  /** Moves the log's chain towards a tip of the node; stops early if the node's chain changes meanwhile. */
  async #follow(session: Session, target: BlockId, signal: AbortSignal): Promise<void> {
    const fork = await this.#fork(session, target, signal)
    if (target.height > fork + 1) this.#alarm.behind()
    const stop = new AbortController()
    const beating = this.#keepBeating(session, AbortSignal.any([signal, stop.signal]))
    try {
      await this.#advance(session, fork, target, signal)
    } catch (error) {
      // The node's chain has changed since it reported this tip: read its new one.
      if (!isRpcError(error, RPC_NOT_FOUND, RPC_INVALID_PARAMETER)) throw error
    } finally {
      stop.abort()
      await beating
    }
  }

  /**
   * Returns the height of the last block that log and node share, -1 for an empty log.
   * @throws WrongChainError if they share none.
   */
  async #fork({ chain }: Session, target: BlockId, signal: AbortSignal): Promise<number> {
    const own = chain.chain
    const ownHash = async (height: number): Promise<string> => (await own.at(height)).hash
    const fork = await forkWithNode({ height: own.height, ownHash }, target, this.#options.node, signal)
    if (fork >= 0 || own.tip === undefined) return fork
    throw new WrongChainError(
      `the node at ${this.#options.node.address} has a different block 0 than the log (${chain.identity.genesisHash}): ` +
        'set NODE_RPC_URL to a node of the same chain, or use another DATA_DIR or LOG_URL',
    )
  }

  async #advance(session: Session, fork: number, target: BlockId, signal: AbortSignal): Promise<void> {
    const { node, inFlight, logger } = this.#options
    const { chain } = session
    if (fork === target.height) {
      if ((await chain.chain.at(fork)).hash === target.hash) await this.#disconnect(session, fork, target)
      return
    }
    const source = new BlockSource(node, target.height, logger, chain.identity.network)
    const order: FetchOrder<VerifiedBlock> = {
      from: fork + 1,
      to: target.height,
      inFlight,
      maxBytes: MAX_WAITING_BYTES,
      fetch: (height, stop) => source.fetch(height, stop),
    }
    for await (const next of fetchInOrder(order, signal)) {
      await this.#room(session, signal)
      if (session.damage !== undefined) throw session.damage
      const parent = fork >= 0 && chain.chain.height > fork ? await chain.chain.at(fork) : chain.chain.tip
      const linked = linkedPrefix(parent?.hash ?? NO_HASH, next)
      // Disconnect only after a block of the new branch has arrived.
      if (linked.length > 0) await this.#disconnect(session, fork, target)
      await this.#connect(session, linked, target)
      if (linked.length < next.length) return
      fork = chain.chain.height
    }
  }

  /** Waits while the log has many more blocks than it is to retain: the materializer drops them when it has applied them. */
  async #room(session: Session, signal: AbortSignal): Promise<void> {
    const { log, logBlocks, logger } = this.#options
    if (logBlocks === undefined) return
    let isReported = false
    while (session.chain.offset - (await log.first('chain')) > logBlocks + LEAD_BLOCKS) {
      if (session.damage !== undefined) return
      if (!isReported)
        logger.info(
          { logBlocks },
          'waiting until the materializer, with the same LOG_BLOCKS, drops old blocks',
        )
      isReported = true
      await sleep(ROOM_MS, undefined, { signal })
    }
  }

  async #disconnect({ chain, mempool }: Session, height: number, target: BlockId): Promise<void> {
    const from = chain.chain.height
    if (from <= height) return
    await chain.disconnectTo(height, target, ({ hash }) => {
      mempool.blockDisconnected(hash)
    })
    this.#options.observer?.moved('disconnected', from - height)
    this.#options.logger.info({ from, to: height, depth: from - height }, 'node left a branch')
  }

  async #connect(
    { chain, mempool }: Session,
    blocks: readonly VerifiedBlock[],
    target: BlockId,
  ): Promise<void> {
    const last = blocks.at(-1)
    if (last === undefined) return
    await chain.connect(blocks, target)
    for (const block of blocks) mempool.mempool.blockConnected(block)
    this.#options.observer?.worked()
    this.#options.observer?.moved('connected', blocks.length)
    this.#options.logger.debug(
      { height: last.height, blocks: blocks.length, target: target.height },
      'connected',
    )
  }

  /** Writes heartbeats and snapshots during a long backfill. */
  async #keepBeating(session: Session, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await sleep(this.#options.pollIntervalMs, undefined, { signal })
        await this.#checkNode(session, signal)
        await session.mempool.snapshotIfDue()
      } catch {
        // Fetching the blocks fails for the same reason, and reports it.
      }
    }
  }
}

/** Returns the blocks before the first block that does not follow its predecessor. */
function linkedPrefix(parent: string, blocks: readonly VerifiedBlock[]): VerifiedBlock[] {
  let tip = parent
  const linked: VerifiedBlock[] = []
  for (const block of blocks) {
    if (block.prevHash !== tip) break
    linked.push(block)
    tip = block.hash
  }
  return linked
}
