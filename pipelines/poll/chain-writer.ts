import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { ChainEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { displayBytes } from '../chain/hash.js'
import type { EventLog } from '../log/port.js'
import { forwards, noteOf, type Link } from './chain-log.js'
import { LogMovedError, SupersededError, WrongChainError } from './errors.js'
import { MAX_BATCH, readLogEnd, type LogEnd } from './log-end.js'
import { OwnChain } from './own-chain.js'
import type { VerifiedBlock } from './verified-block.js'

export interface Identity {
  /** As getblockchaininfo names it. */
  readonly chain: string
  readonly genesisHash: string
}

export interface Target {
  readonly height: number
  readonly hash: string
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
  #sequence = 1n
  #position: number
  /** Up to here is known who wrote; what a superseded poller wrote late counts for nobody, so `#position` stays before it. */
  #lookedTo: number
  #settledWork: string
  #pen: Promise<unknown> = Promise.resolve()

  private constructor(log: EventLog, identity: Identity, end: LogEnd, epoch: number, position: number) {
    this.#log = log
    this.identity = identity
    this.#epoch = epoch
    this.#position = position
    this.#lookedTo = position
    this.#settledWork = end.settledWork
    this.chain = new OwnChain(log, end.tip)
  }

  /**
   * Reads where the log stands and starts a new epoch on it.
   * @throws WrongChainError where the log holds another chain than the node.
   */
  static async start(log: EventLog, identity: Identity): Promise<ChainWriter> {
    for (;;) {
      const end = await readLogEnd(log)
      refuseOther(end, identity)
      const epoch = end.epoch + 1
      const value = { chain: identity.chain, genesisHash: displayBytes(identity.genesisHash) }
      const event = {
        epoch,
        sequence: 0n,
        settled: end.settled,
        event: { case: 'epochStarted' as const, value },
      }
      const position = await log.append('chain', [
        toBinary(ChainEventSchema, create(ChainEventSchema, event)),
      ])
      // Whoever wrote in between may have started the same epoch, or moved the tip: start again, above theirs.
      if (position === end.position + 1) return new ChainWriter(log, identity, end, epoch, position)
    }
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Of the last event written. */
  get position(): number {
    return this.#position
  }

  /**
   * Takes the tip off down to (not including) a height, newest first.
   * @param target the node's tip as last seen: a state that is there may be shown.
   */
  async disconnectTo(height: number, target: Target, onGone: (link: Link) => void): Promise<void> {
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
  async connect(blocks: readonly VerifiedBlock[], target: Target): Promise<void> {
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
    if (last < this.#lookedTo) throw new LogMovedError('the log has become shorter than this poller left it')
    await this.#lookTo(last)
  }

  /** Looks at what others wrote, up to a position. @throws as `exclusively`. */
  async #lookTo(last: number): Promise<void> {
    for await (const { position, event } of forwards(this.#log, this.#lookedTo + 1, last)) {
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
      const values = batch.map(({ settled, event }, i) =>
        toBinary(
          ChainEventSchema,
          create(ChainEventSchema, {
            epoch: this.#epoch,
            sequence: this.#sequence + BigInt(i),
            settled,
            event,
          }),
        ),
      )
      const position = await this.#log.append('chain', values)
      const before = position - values.length
      if (before < this.#lookedTo)
        throw new LogMovedError(
          `the log gave ${String(values.length)} events positions up to ${String(position)}, after ${String(this.#lookedTo)} were taken: it has lost some`,
        )
      await this.#lookTo(before)
      this.#sequence += BigInt(values.length)
      this.#position = position
      this.#lookedTo = position
      return position
    })
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
  if (identity.chain === node.chain && identity.genesisHash === node.genesisHash) return
  throw new WrongChainError(
    `the log holds chain ${identity.chain} (block 0 ${identity.genesisHash}), the node follows ${node.chain} (block 0 ${node.genesisHash}): ` +
      'set NODE_RPC_URL to a node of the same chain, or use another DATA_DIR or LOG_URL',
  )
}
