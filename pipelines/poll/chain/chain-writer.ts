import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ChainEventSchema, ResumeSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import type { BlockId } from '../../chain/block.js'
import { displayBytes } from '../../chain/hash.js'
import { findNetwork } from '../../chain/networks.js'
import { WrongChainError } from '../../errors.js'
import { encodeChainEvent } from '../../events/chain-event.js'
import { generationAbove, positionOf } from '../../events/positions.js'
import type { EventLog } from '../../log/port.js'
import { forwards, noteOf, type Link } from './chain-log.js'
import type { Identity } from '../../node/recognition.js'
import { LogMovedError, SupersededError } from '../errors.js'
import { MAX_BATCH, readLogEnd, readLogPosition, type LogEnd } from './log-end.js'
import { OwnChain } from './own-chain.js'
import { NO_HASH, type VerifiedBlock } from './verified-block.js'

/** The block at which a new epoch resumes instead of at the log's end. The epoch supersedes the events after that block. */
export interface Repair {
  /** The block, of the log's chain; undefined to write the chain again from block 0. */
  readonly link: Link | undefined
  /** Total work of the tip that the index publishes meanwhile, 64 hex digits; empty for none. */
  readonly settledWork: string
  /** True if the block of `link` is the tip that the index publishes. */
  readonly settled: boolean
  /** The new epoch and the position of its first event must be larger than these. */
  readonly epoch: number
  readonly position: number
  /** The position of the invalid event, -1 if the log lacks events that were indexed. */
  readonly damagedPosition: number
}

/** The state at the start of an epoch. */
interface Start extends Pick<LogEnd, 'epoch' | 'generation' | 'tip' | 'settled' | 'settledWork'> {
  /** The offset of its first event in topic `chain`. */
  readonly offset: number
}

type Payload = NonNullable<MessageInitShape<typeof ChainEventSchema>['event']>

/** The size at which a batch of events is split, so that neither log nor readers have to hold a gigabyte. */
export const MAX_BATCH_BYTES = 8 * 2 ** 20

/**
 * The only writer of topic `chain`. Numbers events by (epoch, sequence), marks events after which the state may be published, and
 * stops writing when a newer poller has started. Memory changes only after the log contains the change.
 */
export class ChainWriter {
  readonly chain: OwnChain
  readonly identity: Identity
  readonly #log: EventLog
  readonly #epoch: number
  readonly #generation: number
  #sequence = 1n
  #offset: number
  /** The position up to which the writers of events were checked. Late events of superseded pollers do not change `#offset`. */
  #checkedTo: number
  #settledWork: string
  #isSettled: boolean
  #queue: Promise<unknown> = Promise.resolve()

  private constructor(log: EventLog, identity: Identity, from: Start) {
    this.#log = log
    this.identity = identity
    this.#epoch = from.epoch
    this.#generation = from.generation
    this.#offset = from.offset
    this.#checkedTo = from.offset
    this.#settledWork = from.settledWork
    this.#isSettled = from.settled
    this.chain = new OwnChain(log, from.tip, identity.network)
  }

  /**
   * Reads the end of the log, and starts a new epoch.
   * @param target hash of the node's tip as reported last: if the log ends at that block, the state may be published.
   * @param repair the block at which the epoch resumes; by default it continues at the end of the log.
   * @throws WrongChainError if the log contains another chain than the node; LogLostError if it lacks blocks that its end
   * builds on.
   */
  static async start(
    log: EventLog,
    identity: Identity,
    target: string,
    repair?: Repair,
  ): Promise<ChainWriter> {
    const { network } = identity
    for (;;) {
      const end = await (repair === undefined ? readLogEnd(log, network) : readLogPosition(log, network))
      refuseOther(end, identity)
      const offset = end.position + 1
      const isLevel = repair === undefined && end.tip?.hash === target
      const from: Start = {
        offset,
        epoch: Math.max(end.epoch, repair?.epoch ?? 0) + 1,
        generation: generationAbove(end.generation, repair?.position ?? -1, offset),
        tip: repair === undefined ? end.tip : repair.link,
        settled: isLevel || (repair ?? end).settled,
        settledWork: isLevel ? (end.tip?.work ?? '') : (repair ?? end).settledWork,
      }
      const value = {
        chain: network.name,
        genesisHash: displayBytes(identity.genesisHash),
        ...(repair === undefined ? {} : { resume: resumeOf(repair) }),
      }
      const { epoch, generation, settled } = from
      const event = { case: 'epochStarted' as const, value }
      const position = await log.append('chain', [
        encodeChainEvent({ epoch, generation, sequence: 0n, settled, event }),
      ])
      // Another poller wrote in between: it may have started the same epoch, or moved the tip. Start again, above its epoch.
      // An index that is above the block of a repair waits for the next one.
      if (position === offset)
        return new ChainWriter(log, identity, { ...from, settled: settled || repair !== undefined })
    }
  }

  get epoch(): number {
    return this.#epoch
  }

  /** The offset in topic `chain` of the last event written. */
  get offset(): number {
    return this.#offset
  }

  /** The offset of the last event written, with its generation; see `positionOf`. */
  get position(): number {
    return positionOf(this.#generation, this.#offset)
  }

  /** False if blocks were written of which the last one is no state that may be published. */
  get isSettled(): boolean {
    return this.#isSettled
  }

  /**
   * Disconnects the blocks above a height, newest first.
   * @param target the node's tip as reported last: the state at that block may be published.
   */
  async disconnectTo(height: number, target: BlockId, onGone: (link: Link) => void): Promise<void> {
    while (this.chain.height > height) {
      const lowest = Math.max(height + 1, this.chain.height - MAX_BATCH + 1)
      // Also loads the parent of the lowest one, which becomes the tip.
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

  /** Connects consecutive blocks to the tip, lowest first. @param target as in `disconnectTo`. */
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
   * Runs a write to the log after all earlier ones, unless a newer poller has started.
   * @throws SupersededError if one has; LogMovedError if the log contains events of this epoch that this poller did not write;
   * errors of `write`.
   */
  exclusively<T>(write: () => Promise<T>): Promise<T> {
    const position = this.#queue.then(async () => {
      await this.#refuseIfSuperseded()
      return write()
    })
    this.#queue = position.catch(() => undefined)
    return position
  }

  async #refuseIfSuperseded(): Promise<void> {
    const last = await this.#log.last('chain')
    if (last < this.#checkedTo) throw new LogMovedError('the log is shorter than this poller left it')
    await this.#checkTo(last)
  }

  /** Checks the events that other pollers wrote up to a position. @throws SupersededError, LogMovedError as `exclusively`. */
  async #checkTo(last: number): Promise<void> {
    const notes = forwards(this.#log, this.#checkedTo + 1, last, this.identity.network)
    for await (const { position, event } of notes) {
      const { epoch, kind } = noteOf(position, event)
      if (epoch > this.#epoch) throw new SupersededError(this.#epoch, epoch)
      // Two pollers that start at once may choose the same epoch; the poller that wrote later notices, and chooses the next.
      if (epoch === this.#epoch && kind !== 'epoch') {
        throw new LogMovedError(
          `position ${String(position)} holds an event of this epoch that this poller did not write`,
        )
      }
      this.#checkedTo = position
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
      if (before < this.#checkedTo)
        throw new LogMovedError(
          `the log assigned ${String(values.length)} events positions up to ${String(position)}, after ${String(this.#checkedTo)} were taken: it has lost some`,
        )
      await this.#checkTo(before)
      this.#sequence += BigInt(values.length)
      this.#offset = position
      this.#checkedTo = position
      this.#isSettled = batch.at(-1)?.settled ?? this.#isSettled
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
  // Logs of earlier versions name networks of the Dilithium chain as its node does.
  const isSame = identity.chain === '' || findNetwork(identity.chain) === node.network
  if (isSame && identity.genesisHash === node.genesisHash) return
  throw new WrongChainError(
    `the log contains chain ${findNetwork(identity.chain)?.name ?? identity.chain} (block 0 ${identity.genesisHash}), the node follows ${node.network.name} (block 0 ${node.genesisHash}): ` +
      'set NODE_RPC_URL to a node of the same chain, or use another DATA_DIR or LOG_URL',
  )
}
