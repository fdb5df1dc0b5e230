import { CoinSet } from './coins.js'
import type { RecordedBlock, RecordedFrame, RecordedTx, Timeline } from './timeline.js'

/** The position of a block in the recording. */
interface Position {
  readonly frame: number
  readonly index: number
}

export interface TxInBlock {
  readonly tx: RecordedTx
  readonly block: RecordedBlock
}

export interface PlayedBlock {
  readonly block: RecordedBlock
  /** Hex of the 80 bytes. */
  readonly header: string
}

/** The recorded node at one frame: its chain, every block that it has had so far, its mempool and its coins. */
export class Playback {
  readonly coins = new CoinSet()
  readonly #timeline: Timeline
  /** Hashes of the best chain by height. */
  readonly #chain: string[] = []
  readonly #positions = new Map<string, Position>()
  /** Hashes of the blocks that contain a transaction, replaced blocks included. */
  readonly #blocksOf = new Map<string, Set<string>>()
  readonly #mempoolTxs = new Map<string, RecordedTx>()
  #frame = -1

  constructor(timeline: Timeline, frame: number) {
    this.#timeline = timeline
    this.step(frame + 1)
  }

  /** Number of the current frame, from 0. */
  get frame(): number {
    return this.#frame
  }

  get frames(): number {
    return this.#timeline.length
  }

  get state(): RecordedFrame {
    return this.#timeline.frame(this.#frame)
  }

  get tip(): number {
    return this.#chain.length - 1
  }

  /** Advances by a number of frames, at most to the last one. */
  step(frames: number): void {
    const end = Math.min(this.#frame + frames, this.#timeline.length - 1)
    while (this.#frame < end) this.#show(this.#frame + 1)
  }

  hashAt(height: number): string | undefined {
    return this.#chain[height]
  }

  /** Returns the block with this hash, on the best chain or replaced. */
  block(hash: string): PlayedBlock | undefined {
    const position = this.#positions.get(hash)
    return position && this.#timeline.frame(position.frame).connected[position.index]
  }

  isOnChain(block: RecordedBlock): boolean {
    return this.#chain[block.height] === block.hash
  }

  mempoolTx(txid: string): RecordedTx | undefined {
    if (!Object.hasOwn(this.state.mempool, txid)) return undefined
    return this.#mempoolTxs.get(txid) ?? this.#inBlocks(txid)[0]?.tx
  }

  /** Returns a transaction of the best chain with its block, the higher one if it is in two (BIP 30). */
  confirmedTx(txid: string): TxInBlock | undefined {
    return this.#inBlocks(txid).findLast(({ block }) => this.isOnChain(block))
  }

  #inBlocks(txid: string): TxInBlock[] {
    return [...(this.#blocksOf.get(txid) ?? [])].flatMap((hash) => {
      const block = this.block(hash)?.block
      const tx = block?.tx.find((each) => each.txid === txid)
      return block === undefined || tx === undefined ? [] : [{ tx, block }]
    })
  }

  #show(number: number): void {
    const frame = this.#timeline.frame(number)
    for (const hash of frame.disconnected) {
      const block = this.block(hash)?.block
      if (block === undefined || this.#chain.pop() !== hash)
        throw new Error(`frame ${String(number)} disconnects ${hash}, which is not the tip`)
      this.coins.disconnect(block)
    }
    for (const [index, { block }] of frame.connected.entries()) {
      if (block.height !== this.#chain.length)
        throw new Error(`frame ${String(number)} connects ${block.hash} at the wrong height`)
      this.#chain.push(block.hash)
      this.#positions.set(block.hash, { frame: number, index })
      for (const { txid } of block.tx)
        this.#blocksOf.set(txid, (this.#blocksOf.get(txid) ?? new Set()).add(block.hash))
      this.coins.connect(block)
    }
    for (const [txid, tx] of Object.entries(frame.transactions)) this.#mempoolTxs.set(txid, tx)
    this.#frame = number
  }
}
