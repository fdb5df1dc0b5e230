import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ChainEventSchema, ResumeSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import type { BlockId } from '../../chain/block.js'
import { displayBytes } from '../../chain/hash.js'
import type { Network } from '../../chain/networks.js'
import { encodeChainEvent } from '../../events/chain-event.js'
import { generationAbove, positionOf } from '../../events/positions.js'
import type { EventLog } from '../../log/port.js'
import { forwards, noteOf, type Link } from './chain-log.js'
import { LogMovedError, SupersededError, WrongChainError } from '../errors.js'
import { MAX_BATCH, readLogEnd, readLogPosition, type LogEnd } from './log-end.js'
import { OwnChain } from './own-chain.js'
import { NO_HASH, type VerifiedBlock } from './verified-block.js'

export interface Identity {
  readonly network: Network
  readonly genesisHash: string
}

/** Where a new epoch is to go on instead of at the log's end: it supersedes what the log holds after that block. */
export interface Repair {
  /** Of the log's own chain; undefined to write the chain again from block 0. */
  readonly link: Link | undefined
  /** Total work of what the index publishes meanwhile, 64 hex digits; empty for nothing. */
  readonly settledWork: string
  /** Whether the block of `link` is what the index publishes. */
  readonly settled: boolean
  /** The epoch and the position of the event must be larger than these. */
  readonly epoch: number
  readonly position: number
  /** Of the event that was found invalid, -1 where the log lacks what was indexed. */
  readonly damagedPosition: number
}

/** What an epoch begins with. */
interface Start extends Pick<LogEnd, 'epoch' | 'generation' | 'tip' | 'settledWork'> {
  /** Of its first event in topic `chain`. */
  readonly offset: number
}

type Payload = NonNullable<MessageInitShape<typeof ChainEventSchema>['event']>

/** A batch of events is cut here, so that neither log nor reader gets one of a gigabyte. */
export const MAX_BATCH_BYTES = 8 * 2 ** 20

/**
 * The one pen for topic `chain`: numbers events by (epoch, sequence), says after which of them the state may be shown, and
 * writes no more once a newer poller has started. Memory changes only after the log has what it changed to.
 */
export class ChainWriter {
  readonly chain: OwnChain
  readonly identity: Identity
  readonly #log: EventLog
  readonly #epoch: number
  readonly #generation: number
  #sequence = 1n
  #offset: number
  /** Up to here is known who wrote; what a superseded poller wrote late counts for nobody, so `#offset` stays before it. */
  #lookedTo: number
  #settledWork: string
  #pen: Promise<unknown> = Promise.resolve()

  private constructor(log: EventLog, identity: Identity, from: Start) {
    this.#log = log
    this.identity = identity
    this.#epoch = from.epoch
    this.#generation = from.generation
    this.#offset = from.offset
    this.#lookedTo = from.offset
    this.#settledWork = from.settledWork
    this.chain = new OwnChain(log, from.tip, identity.network)
  }

  /**
   * Reads where the log stands and starts a new epoch on it.
   * @param repair where it goes on instead.
   * @throws WrongChainError where the log holds another chain than the node; LogLostError where it does not hold what its end
   * builds on.
   */
  static async start(log: EventLog, identity: Identity, repair?: Repair): Promise<ChainWriter> {
    const { network } = identity
    for (;;) {
      const end = await (repair === undefined ? readLogEnd(log, network) : readLogPosition(log, network))
      refuseOther(end, identity)
      const offset = end.position + 1
      const from: Start = {
        offset,
        epoch: Math.max(end.epoch, repair?.epoch ?? 0) + 1,
        generation: generationAbove(end.generation, repair?.position ?? -1, offset),
        tip: repair === undefined ? end.tip : repair.link,
        settledWork: (repair ?? end).settledWork,
      }
      const value = {
        chain: network.name,
        genesisHash: displayBytes(identity.genesisHash),
        ...(repair === undefined ? {} : { resume: resumeOf(repair) }),
      }
      const { epoch, generation } = from
      const event = { case: 'epochStarted' as const, value }
      const { settled } = repair ?? end
      const written = await log.append('chain', [
        encodeChainEvent({ epoch, generation, sequence: 0n, settled, event }),
      ])
      // Whoever wrote in between may have started the same epoch, or moved the tip: start again, above theirs.
      if (written === offset) return new ChainWriter(log, identity, from)
    }
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Of the last event written, in topic `chain`. */
  get offset(): number {
    return this.#offset
  }

  /** The same with its generation; see `positionOf`. */
  get position(): number {
    return positionOf(this.#generation, this.#offset)
  }

  /**
   * Takes the tip off down to (not including) a height, newest first.
   * @param target the node's tip as last seen: a state that is there may be shown.
   */
  async disconnectTo(height: number, target: BlockId, onGone: (link: Link) => void): Promise<void> {
    while (this.chain.height > height) {
      const lowest = Math.max(height + 1, this.chain.height - MAX_BATCH + 1)
      // Also fetches the parent of the last one, the tip to be.
      if (lowest > 0) await this.chain.at(lowest - 1)
      const links: Link[] = []
      for (let each = this.chain.height; each >= lowest; each--) links.push(await this.chain.at(each))
      await this.#append(
        links.map((link) => ({ settled: link.prevHash === target.hash, event: disconnected(link) })),
      )
      for (const link of links) {
        this.chain.pop()
        onGone(link)
      }
      const tip = this.chain.tip
      if (tip?.hash === target.hash) this.#settledWork = tip.work
    }
  }

  /** Puts blocks on top, lowest first; each must follow the one before. */
  async connect(blocks: readonly VerifiedBlock[], target: BlockId): Promise<void> {
    for (let from = 0; from < blocks.length;) {
      const batch: { readonly settled: boolean; readonly event: Payload }[] = []
      const first = from
      let settledWork = this.#settledWork
      for (
        let bytes = 0;
        from < blocks.length && batch.length < MAX_BATCH && bytes < MAX_BATCH_BYTES;
        from++
      ) {
        const block = blocks[from]
        if (block === undefined) break
        const settled = block.hash === target.hash || block.work > settledWork
        if (settled) settledWork = block.work
        batch.push({ settled, event: connected(block) })
        bytes += block.raw.length
      }
      const start = (await this.#append(batch)) - batch.length + 1
      this.#settledWork = settledWork
      for (const [i, block] of blocks.slice(first, from).entries()) this.chain.push(linkOf(block, start + i))
    }
  }

  /**
   * Writes to the log, one writing after the other, where no newer poller has started.
   * @throws SupersededError where one has, LogMovedError where something of this epoch is there that this poller does not
   * remember; what `write` throws.
   */
  exclusively<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#pen.then(async () => {
      await this.#refuseIfSuperseded()
      return write()
    })
    this.#pen = written.catch(() => undefined)
    return written
  }

  async #refuseIfSuperseded(): Promise<void> {
    const last = await this.#log.last('chain')
    if (last < this.#lookedTo) throw new LogMovedError('the log is shorter than this poller left it')
    await this.#lookTo(last)
  }

  /** Looks at what others wrote, up to a position. @throws as `exclusively`. */
  async #lookTo(last: number): Promise<void> {
    const written = forwards(this.#log, this.#lookedTo + 1, last, this.identity.network)
    for await (const { position, event } of written) {
      const { epoch, kind } = noteOf(position, event)
      if (epoch > this.#epoch) throw new SupersededError(this.#epoch, epoch)
      // Two that start at once may both take one number; the one that wrote later notices and takes the next.
      if (epoch === this.#epoch && kind !== 'epoch') {
        throw new LogMovedError(
          `position ${String(position)} holds an event of this epoch that this poller did not write`,
        )
      }
      this.#lookedTo = position
    }
  }

  #append(batch: readonly { readonly settled: boolean; readonly event: Payload }[]): Promise<number> {
    return this.exclusively(async () => {
      const values = batch.map(({ settled, event }, i) => {
        const [epoch, generation] = [this.#epoch, this.#generation]
        return encodeChainEvent({ epoch, generation, sequence: this.#sequence + BigInt(i), settled, event })
      })
      const position = await this.#log.append('chain', values)
      const before = position - values.length
      if (before < this.#lookedTo)
        throw new LogMovedError(
          `the log assigned ${String(values.length)} events positions up to ${String(position)}, after ${String(this.#lookedTo)} were taken: it has lost some`,
        )
      await this.#lookTo(before)
      this.#sequence += BigInt(values.length)
      this.#offset = position
      this.#lookedTo = position
      return position
    })
  }
}

function resumeOf({ link, settledWork, damagedPosition }: Repair): MessageInitShape<typeof ResumeSchema> {
  return {
    height: BigInt(link?.height ?? -1),
    hash: displayBytes(link?.hash ?? NO_HASH),
    settledWork: Buffer.from(settledWork, 'hex'),
    damagedPosition: BigInt(damagedPosition),
  }
}

function connected(block: VerifiedBlock): Payload {
  return {
    case: 'blockConnected',
    value: {
      height: block.height,
      hash: displayBytes(block.hash),
      prevHash: displayBytes(block.prevHash),
      medianTime: block.medianTime,
      chainwork: displayBytes(block.work),
      raw: block.raw,
      prevouts: [...block.prevouts],
    },
  }
}

function disconnected({ height, hash, prevHash }: Link): Payload {
  return {
    case: 'blockDisconnected',
    value: { height, hash: displayBytes(hash), prevHash: displayBytes(prevHash) },
  }
}

function linkOf({ height, hash, prevHash, work }: VerifiedBlock, position: number): Link {
  return { height, hash, prevHash, work, position }
}

function refuseOther({ identity }: LogEnd, node: Identity): void {
  if (identity === undefined) return
  const isSame = identity.chain === '' || identity.chain === node.network.name
  if (isSame && identity.genesisHash === node.genesisHash) return
  throw new WrongChainError(
    `the log contains chain ${identity.chain} (block 0 ${identity.genesisHash}), the node follows ${node.network.name} (block 0 ${node.genesisHash}): ` +
      'set NODE_RPC_URL to a node of the same chain, or use another DATA_DIR or LOG_URL',
  )
}
