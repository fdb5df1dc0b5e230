import { CoinSet } from './coins.js'
import type { RecordedBlock, RecordedFrame, RecordedTx, Timeline } from './timeline.js'

interface Place {
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

/** The recorded node at one moment: its chain, every block it has ever had, its mempool and its coins. */
export class Playback {
  readonly coins = new CoinSet()
  readonly #timeline: Timeline
  /** Hashes of the best chain by height. */
  readonly #chain: string[] = []
  readonly #places = new Map<string, Place>()
  /** Blocks that hold a transaction, replaced ones too. */
  readonly #blocksOf = new Map<string, Set<string>>()
  readonly #poolTxs = new Map<string, RecordedTx>()
  #frame = -1

  constructor(timeline: Timeline, frame: number) {
    this.#timeline = timeline
    this.step(frame + 1)
  }

  /** Number of the frame that is shown, from 0. */
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

  /** Moves on by a number of frames, at most to the last. */
  step(frames: number): void {
    const end = Math.min(this.#frame + frames, this.#timeline.length - 1)
    while (this.#frame < end) this.#show(this.#frame + 1)
  }

  hashAt(height: number): string | undefined {
    return this.#chain[height]
  }

  /** A block by its hash, on the best chain or replaced. */
  block(hash: string): PlayedBlock | undefined {
    const place = this.#places.get(hash)
    return place === undefined ? undefined : this.#timeline.frame(place.frame).connected[place.index]
  }

  isOnChain(block: RecordedBlock): boolean {
    return this.#chain[block.height] === block.hash
  }

  poolTx(txid: string): RecordedTx | undefined {
    if (!Object.hasOwn(this.state.mempool, txid)) return undefined
    return this.#poolTxs.get(txid) ?? this.#inBlocks(txid)[0]?.tx
  }

  /** A transaction of the best chain and its block. */
  confirmedTx(txid: string): TxInBlock | undefined {
    return this.#inBlocks(txid).find(({ block }) => this.isOnChain(block))
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
      this.#places.set(block.hash, { frame: number, index })
      for (const { txid } of block.tx)
        this.#blocksOf.set(txid, (this.#blocksOf.get(txid) ?? new Set()).add(block.hash))
      this.coins.connect(block)
    }
    for (const [txid, tx] of Object.entries(frame.transactions)) this.#poolTxs.set(txid, tx)
    this.#frame = number
  }
}
