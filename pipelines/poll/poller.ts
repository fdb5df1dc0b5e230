import { setTimeout as sleep } from 'node:timers/promises'
import { networkOfNode } from '../chain/networks.js'
import type { BlockId } from '../chain/block.js'
import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import { backoffMs } from '../node/backoff.js'
import type { NodeClient } from '../node/client.js'
import { isRpcError, RPC_INVALID_PARAMETER, RPC_NOT_FOUND } from '../node/errors.js'
import type { NodeChainInfo } from '../node/replies.js'
import { BlockSource } from './chain/block-source.js'
import { ChainWriter, type Identity } from './chain/chain-writer.js'
import { DamageReports } from './heal/damage-reports.js'
import {
  isFatal,
  isOfNode,
  LogDamagedError,
  LogLostError,
  PrunedNodeError,
  UnsteadyNodeError,
  WrongChainError,
} from './errors.js'
import { fetchInOrder, type FetchOrder } from './fetch-in-order.js'
import { forkWithNode } from './chain/fork.js'
import { repairOf, rewriteOf } from './heal/log-repair.js'
import { NodeWriter } from './mempool/node-writer.js'
import { MempoolFollower } from './mempool/follower.js'
import { NO_HASH, type VerifiedBlock } from './chain/verified-block.js'

export interface PollerOptions {
  readonly node: NodeClient
  readonly log: EventLog
  /** Name of the network that the node must be on; any where left out. */
  readonly chain?: string | undefined
  readonly pollIntervalMs: number
  readonly logger: Logger
  /** Block requests at the same time; a node has four threads for them unless told otherwise. */
  readonly inFlight: number
  readonly observer?: PollerObserver | undefined
  /** Milliseconds that pass steadily; for tests. */
  readonly now?: () => number
}

/** What a poller reports while it works. */
export interface PollerObserver {
  /** The log was brought nearer to the node, or is level with it. */
  worked(): void
  /** Blocks were written to the log as connected, or as disconnected. */
  moved(change: 'connected' | 'disconnected', blocks: number): void
  /** A poll failed and is tried again. */
  failed(error: unknown): void
}

/** Where a poller stands; heights are -1 while they are not known. */
export interface PollerState {
  readonly nodeHeight: number
  readonly height: number
  readonly epoch: number
  /** Of the last event that it wrote to topic `chain`. */
  readonly position: number
  /** Unconfirmed transactions. */
  readonly poolSize: number
}

/** Of a poller that has not read the log yet. */
export const NO_STATE: PollerState = { nodeHeight: -1, height: -1, epoch: 0, position: -1, poolSize: 0 }

/** What belongs to one epoch: from reading the log's end until another writes, the log fails or the process ends. */
interface Session {
  readonly chain: ChainWriter
  readonly writer: NodeWriter
  readonly mempool: MempoolFollower
  /** Unix milliseconds of the last heartbeat, and the node's tip in it; empty before a poll's first. */
  beatAt: number
  beatHash: string
  /** Damage that was reported since. */
  damage: LogDamagedError | undefined
}

/** Of blocks fetched ahead of their turn. */
const MAX_WAITING_BYTES = 32 * 2 ** 20
/** Of a long backfill: how often it is told how far it is. */
const SAY_EVERY_MS = 5_000
/** After a failed poll. */
const POLL_BACKOFF = { firstMs: 250, mostMs: 10_000 }
/** Attempts without a step forward before a poll is given up; waits between them sum to about ten seconds. */
const MAX_STUCK = 8

/**
 * Follows a node into the log. It remembers nothing that the log does not hold: on start it reads where the log stands, and
 * again whenever writing failed.
 * Guarantee: each change of the node's best chain once and in order within an epoch. A poll that fails leaves the log at a
 * state from which the next one goes on.
 */
export class Poller {
  readonly #options: PollerOptions
  readonly #reports: DamageReports
  #session: Session | undefined
  #nodeHeight = -1
  /** The log has lost what its end builds on: the chain is written again from block 0. */
  #rewrites = false

  /** Epochs that repaired the log. */
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
      ...{ nodeHeight, height: chain.chain.height, epoch: chain.epoch, position: chain.offset },
      poolSize: mempool.mempool.txs.size,
    }
  }

  /**
   * Polls until the signal aborts.
   * @throws what trying again cannot fix: WrongChainError, SupersededError, PrunedNodeError, errors of our own. All else is retried
   *   with backoff.
   */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      let pause = this.#options.pollIntervalMs
      try {
        await this.pollOnce(signal)
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (isFatal(error)) throw await this.#refused(error)
        this.#options.observer?.failed(error)
        pause = backoffMs(POLL_BACKOFF, ++failures)
        const message = error instanceof Error ? error.message : String(error)
        this.#options.logger.error({ err: error, failures }, `poll failed, retrying: ${message}`)
      }
      await sleep(pause, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Brings the log level with the node as it is: its chain, then its mempool. Throws what `run` would retry. */
  async pollOnce(signal: AbortSignal = new AbortController().signal): Promise<void> {
    try {
      await this.#poll(await this.#opened(signal), signal)
    } catch (error) {
      // Whether a failed append is in the log only the log knows: read it again, under a new epoch.
      if (!isOfNode(error)) this.#session = undefined
      // The next session begins with the epoch that repairs it.
      if (error instanceof LogDamagedError) return this.pollOnce(signal)
      if (error instanceof LogLostError) this.#rewrites = true
      throw error
    }
  }

  /** Publishes, where a materializer waits for a repair, why there is none. @returns the error. */
  async #refused(error: unknown): Promise<unknown> {
    if (error instanceof WrongChainError || error instanceof PrunedNodeError)
      await this.#reports.refuse(error.message).catch(() => undefined)
    return error
  }

  async #poll(session: Session, signal: AbortSignal): Promise<void> {
    session.beatHash = ''
    for (let stuck = 0; stuck < MAX_STUCK;) {
      const position = session.chain.position
      const info = await this.#look(session, signal)
      if (session.damage !== undefined) throw session.damage
      if (info.bestblockhash === session.chain.chain.tip?.hash) {
        const seen = await session.mempool.look(signal)
        if (seen !== 'moved') this.#options.observer?.worked()
        if (seen === 'level') return
        stuck = seen === 'more' ? 0 : stuck + 1
      } else {
        await this.#follow(session, { height: info.blocks, hash: info.bestblockhash }, signal)
        if (session.chain.position > position) stuck = 0
        else await sleep(backoffMs({ firstMs: 20, mostMs: 5_000 }, ++stuck), undefined, { signal })
      }
    }
    throw new UnsteadyNodeError(
      `the node at ${this.#options.node.address} reports a tip that its blocks do not lead to`,
    )
  }

  async #opened(signal: AbortSignal): Promise<Session> {
    if (this.#session !== undefined) return this.#session
    const { node, log, logger, inFlight, now = () => performance.now() } = this.#options
    const info = await node.chainInfo(signal)
    const identity = await this.#identify(info, signal)
    const chain = await this.#startEpoch(identity, info, signal)
    const writer = new NodeWriter(log, chain)
    const mempool = await MempoolFollower.start({ node, log, chain, writer, inFlight, logger, now })
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
    this.#session = { chain, writer, mempool, beatAt: 0, beatHash: '', damage: undefined }
    return this.#session
  }

  /** Starts an epoch at the log's end, or where a reported damage is repaired. */
  async #startEpoch(identity: Identity, info: NodeChainInfo, signal: AbortSignal): Promise<ChainWriter> {
    const { node, log, logger } = this.#options
    const report = await this.#reports.standing()
    const repair =
      report === undefined
        ? this.#rewrites
          ? await rewriteOf(info, { log, node, signal })
          : undefined
        : await repairOf(report, identity, info, { log, node, signal })
    const chain = await ChainWriter.start(log, identity, repair)
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

  /** Asks the node for its tip, and writes that it answered. */
  async #look(session: Session, signal: AbortSignal): Promise<NodeChainInfo> {
    const { node, pollIntervalMs } = this.#options
    const info = await node.chainInfo(signal)
    const { nodeName } = session.chain.identity.network
    if (info.chain !== nodeName) throw this.#wrongChain(info.chain, nodeName)
    this.#nodeHeight = info.blocks
    const report = await this.#reports.standing()
    if (report !== undefined) session.damage = new LogDamagedError(report.reason)
    const now = Date.now()
    if (info.bestblockhash !== session.beatHash || now - session.beatAt >= pollIntervalMs / 2) {
      const seen = { height: info.blocks, hash: info.bestblockhash }
      session.beatAt = now
      session.beatHash = info.bestblockhash
      await session.writer.heartbeat(now, seen, pollIntervalMs)
    }
    return info
  }

  /** Moves our chain towards a tip that the node named; stops early where the node's chain moves meanwhile. */
  async #follow(session: Session, target: BlockId, signal: AbortSignal): Promise<void> {
    const fork = await this.#fork(session, target, signal)
    const stop = new AbortController()
    const beating = this.#keepBeating(session, AbortSignal.any([signal, stop.signal]))
    try {
      await this.#advance(session, fork, target, signal)
    } catch (error) {
      // The node does not know any more what it has just told: look again at what it has now.
      if (!isRpcError(error, RPC_NOT_FOUND, RPC_INVALID_PARAMETER)) throw error
    } finally {
      stop.abort()
      await beating
    }
  }

  /** @returns the height of the last block in common, -1 for an empty log. @throws WrongChainError where there is none. */
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
      ...{ from: fork + 1, to: target.height, inFlight, maxBytes: MAX_WAITING_BYTES },
      fetch: (height, stop) => source.fetch(height, stop),
    }
    for await (const next of fetchInOrder(order, signal)) {
      if (session.damage !== undefined) throw session.damage
      const parent = fork >= 0 && chain.chain.height > fork ? await chain.chain.at(fork) : chain.chain.tip
      const linked = linkedPrefix(parent?.hash ?? NO_HASH, next)
      // Only with a block of the new branch in hand: until then there is nothing better than what we have.
      if (linked.length > 0) await this.#disconnect(session, fork, target)
      await this.#connect(session, linked, target)
      if (linked.length < next.length) return
      fork = chain.chain.height
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
    for (const { hash, raw } of blocks) mempool.mempool.blockConnected(hash, raw)
    this.#options.observer?.worked()
    this.#options.observer?.moved('connected', blocks.length)
    this.#options.logger.debug(
      { height: last.height, blocks: blocks.length, target: target.height },
      'connected',
    )
  }

  /** A long backfill must look alive: at every interval, that the node answers, and how far it is. */
  async #keepBeating(session: Session, signal: AbortSignal): Promise<void> {
    let saidAt = Date.now()
    while (!signal.aborted) {
      try {
        await sleep(this.#options.pollIntervalMs, undefined, { signal })
        const { blocks } = await this.#look(session, signal)
        await session.mempool.snapshotIfDue()
        if (Date.now() - saidAt < SAY_EVERY_MS) continue
        saidAt = Date.now()
        this.#options.logger.info({ height: session.chain.chain.height, nodeHeight: blocks }, 'catching up')
      } catch {
        // Whatever it is, the blocks meet it too, and there it is told.
      }
    }
  }

  /** @throws WrongChainError where the node is on another network than CHAIN says, or on one that this version does not know. */
  async #identify({ chain: name }: NodeChainInfo, signal: AbortSignal): Promise<Identity> {
    const { node, chain } = this.#options
    const genesisHash = await node.blockHash(0, signal)
    const network = networkOfNode(name, genesisHash)
    if (network === undefined) throw this.#wrongChain(name, 'one that this version knows')
    if (chain !== undefined && chain !== network.name) throw this.#wrongChain(network.name, chain)
    return { network, genesisHash }
  }

  #wrongChain(followed: string, wanted: string): WrongChainError {
    return new WrongChainError(
      `the node at ${this.#options.node.address} follows chain ${followed}, not ${wanted}: correct NODE_RPC_URL or CHAIN`,
    )
  }
}

/** The blocks up to the first that does not follow its predecessor. */
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
