import { readBlock } from '../../../pipelines/chain/block.js'
import { type Network, REGTEST } from '../../../pipelines/chain/networks.js'
import type { TxOutput } from '../../../pipelines/chain/transaction.js'
import { addOutputs, BlockDraft, revert } from './block-draft.js'
import { type BlockStore, MemoryStore, type StoredBlock } from './block-store.js'
import { Coin, CoinSet } from './coin-set.js'
import { BITS, genesisOf } from './genesis.js'
import { Keyring, type Mix } from '../wallet/keyring.js'
import { type MiningPool, miningPools, payout } from './mining-pools.js'
import { type OutPoint, type Payment, payTx } from './payment.js'
import { Random } from '../random.js'
import { forkOf, SimBlock } from './sim-block.js'
import type { SimTx } from './sim-tx.js'
import { TxIndex } from './tx-index.js'
import { decodeUndo, encodeUndo, type Overwritten, type Spent } from './undo.js'

export interface ChainOptions {
  readonly network?: Network
  readonly seed?: string
  /** The mix of owners: `cheap` has few with Dilithium keys, so that blocks stay small. */
  readonly mix?: Mix
  readonly store?: BlockStore
  /**
   * Returns the time at which blocks are mined, Unix seconds; they then keep the rule of nodes to be later than the median of the eleven
   * blocks before. By default their time is that of genesis plus the network's block spacing per block.
   */
  readonly now?: () => number
}

/** The properties of a block that a test sets; all others are derived from the seed. */
export interface BlockSpec {
  readonly txs?: readonly SimTx[]
  /** The script that the coinbase pays. */
  readonly payTo?: Buffer
  /** The tag of the mining pool in the coinbase script. */
  readonly tag?: string
  /** Unsigned. */
  readonly version?: number
  /** Unix seconds; by default that of `ChainOptions.now`. */
  readonly time?: number | undefined
  /** Coinbase outputs instead of the payout; their sum is not checked. */
  readonly coinbaseOutputs?: readonly TxOutput[]
  /**
   * A block whose coinbase this one repeats byte for byte, so that the txid is in two blocks of the chain (BIP 30), whether the
   * outputs of the first are spent or not. Neither block may have witnesses.
   */
  readonly repeats?: SimBlock
}

/** Receives the transactions of the blocks that left the best chain: lowest block first, without coinbases. */
type Watcher = (left: readonly SimTx[]) => void

type NewBlock = Pick<SimBlock, 'hash' | 'parent' | 'height' | 'time' | 'txCount'>

export interface BlockContent {
  readonly raw: Buffer
  readonly strippedSize: number
  readonly txs: readonly SimTx[]
  /** The outputs that the inputs of all transactions but the coinbase spent, in order. */
  readonly spent: readonly Spent[]
  /** The unspent outputs that its coinbase replaced, because an earlier block has the same coinbase. */
  readonly overwritten: readonly Overwritten[]
}

/**
 * A chain of blocks with all its branches and the exact coins of its tip. It can be scripted: `mine` a block of given
 * transactions, `forkAt` an earlier one, `setTip` to any block. The same calls with the same seed result in the same hashes.
 */
export class SimChain {
  readonly network: Network
  readonly seed: string
  readonly keyring: Keyring
  readonly coins = new CoinSet()
  readonly txIndex = new TxIndex()
  readonly store: BlockStore
  readonly now: (() => number) | undefined
  readonly blocks = new Map<string, SimBlock>()
  readonly #byNumber: SimBlock[] = []
  readonly #active: SimBlock[] = []
  readonly #children = new Map<string, number>()
  readonly #pools: readonly MiningPool[]
  readonly #watchers = new Set<Watcher>()
  #payments = 0
  /** Suppresses notifications while several blocks are mined as one change. */
  #isQuiet = false

  constructor({
    network = REGTEST,
    seed = 'headwater',
    mix = 'rich',
    store = new MemoryStore(),
    now,
  }: ChainOptions = {}) {
    this.network = network
    this.seed = seed
    this.keyring = new Keyring(seed, mix, network)
    this.#pools = miningPools(this.keyring)
    this.store = store
    this.now = now
    for (const { parent, ...head } of store.heads().blocks)
      this.#enter({ ...head, parent: this.#byNumber[parent] })
    if (this.#byNumber.length === 0) {
      const { hash, raw, txid, time } = genesisOf(network)
      this.#append({ hash, height: 0, time, txids: [txid], raw, undo: Buffer.alloc(0) }, undefined)
    }
    this.#active.push(this.genesis)
  }

  get genesis(): SimBlock {
    return this.numbered(0)
  }

  get tip(): SimBlock {
    return this.#active[this.#active.length - 1] ?? this.genesis
  }

  /** Returns the block of the best chain at that height. */
  at(height: number): SimBlock | undefined {
    return this.#active[height]
  }

  get(hash: string): SimBlock | undefined {
    return this.blocks.get(hash)
  }

  /** Returns the block with this hash. @throws RangeError for an unknown one. */
  block(hash: string): SimBlock {
    const block = this.blocks.get(hash)
    if (block === undefined) throw new RangeError(`no block ${hash}`)
    return block
  }

  numbered(number: number): SimBlock {
    const block = this.#byNumber[number]
    if (block === undefined) throw new RangeError(`no block number ${String(number)}`)
    return block
  }

  isActive(block: SimBlock): boolean {
    return this.#active[block.height] === block
  }

  /** Calls the watcher after every change of the best chain. @returns a function that removes it. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Returns the random numbers for the next block, which depend only on the parent and its number of children. */
  randomForNext(): Random {
    return Random.of(this.seed, this.tip.hash, this.#children.get(this.tip.hash) ?? 0)
  }

  /** Mines a block on the tip, which becomes the new tip. @throws, without a change, if a transaction is invalid. */
  mine(spec: BlockSpec = {}): SimBlock {
    const draft = this.draft()
    const random = this.randomForNext()
    try {
      for (const tx of spec.txs ?? []) draft.add(tx)
      return this.close(draft, random, spec)
    } catch (error) {
      draft.abandon()
      throw error
    }
  }

  /** Mines several blocks on any block. They become the best chain unless `activate` is false. @returns the blocks, lowest first. */
  extend(parent: SimBlock, specs: readonly BlockSpec[], activate = true): SimBlock[] {
    const before = this.tip
    const left = this.#moveTo(parent)
    const mined: SimBlock[] = []
    this.#isQuiet = true
    try {
      for (const spec of specs) mined.push(this.mine(spec))
    } catch (error) {
      this.#moveTo(before)
      throw error
    } finally {
      this.#isQuiet = false
    }
    if (activate) this.#notify(left)
    else this.#moveTo(before)
    this.store.markTip(this.tip.number)
    return mined
  }

  /** Makes any known block the tip of the best chain, with more work or less. */
  setTip(hash: string): void {
    const left = this.#moveTo(this.block(hash))
    this.store.markTip(this.tip.number)
    this.store.flush()
    this.#notify(left)
  }

  /** Begins a block on the tip. Until it is closed or abandoned, the coins of the chain include its transactions' changes. */
  draft(): BlockDraft {
    return new BlockDraft(this.coins, this.tip.height + 1, this.network)
  }

  /** Closes a draft. @returns the block, which is the new tip. */
  close(draft: BlockDraft, random: Random, spec: Omit<BlockSpec, 'txs'> = {}): SimBlock {
    const parent = this.tip
    const pool = random.byShare(this.#pools)
    const closed = draft.close({
      version: spec.version,
      time: this.#time(draft.height, spec.time),
      prevHash: parent.hash,
      tag: spec.tag ?? pool.tag,
      extraNonce: random.bytes(8),
      payout: (reward) =>
        spec.coinbaseOutputs ??
        payout(spec.payTo === undefined ? pool : { ...pool, script: spec.payTo }, reward),
      repeated: spec.repeats && this.read(spec.repeats).txs[0],
    })
    const { hash, raw } = closed
    const undo = encodeUndo(draft.spent, closed.overwritten)
    const txids = closed.txs.map((tx) => tx.txid)
    const block = this.#append(
      { hash, height: draft.height, time: raw.readUInt32LE(68), txids, raw, undo },
      parent,
    )
    this.#active.push(block)
    this.store.markTip(block.number)
    this.#notify([])
    return block
  }

  /** Returns the content of a block. */
  read(block: SimBlock): BlockContent {
    const { raw, undo } = this.store.read(block.number)
    const { txs, strippedSize } = readBlock(raw)
    const inputs = txs.reduce((sum, tx) => sum + (tx.isCoinbase ? 0 : tx.inputs.length), 0)
    return { raw, strippedSize, txs, ...decodeUndo(undo, inputs) }
  }

  /** Returns a transaction with its block: the highest on the best chain if possible, otherwise the newest on any branch. */
  findTx(
    txid: string,
  ): { readonly block: SimBlock; readonly index: number; readonly content: BlockContent } | undefined {
    let elsewhere
    for (const number of this.txIndex.candidates(txid).toReversed()) {
      const block = this.numbered(number)
      const content = this.read(block)
      const index = content.txs.findIndex((tx) => tx.txid === txid)
      if (index < 0) continue
      if (this.isActive(block)) return { block, index, content }
      elsewhere ??= { block, index, content }
    }
    return elsewhere
  }

  /** Builds a transaction that spends given outputs (of any branch, or of an earlier payment) and pays given scripts. */
  pay(payment: Payment): SimTx {
    return payTx(this, payment, Random.of(this.seed, 'pay', this.#payments++))
  }

  /** Returns the output of an outpoint, spent or unspent. */
  output({ txid, vout }: OutPoint): TxOutput | undefined {
    const coin = this.coins.get(txid, vout)
    if (coin !== undefined) return coin
    const location = this.findTx(txid)
    return location?.content.txs[location.index]?.outputs[vout]
  }

  /** Returns the tip and the last block of every other branch, each with the number of blocks above the fork point. */
  leaves(): { readonly block: SimBlock; readonly branchLength: number }[] {
    const last = this.#byNumber.filter((block) => block === this.tip || !this.#children.has(block.hash))
    return last.map((block) => ({ block, branchLength: block.height - forkOf(block, this.tip).height }))
  }

  /** Makes `tip` the tip of the best chain without changing coins, for a chain whose coins were read from a snapshot. */
  adopt(tip: SimBlock): void {
    this.#active.length = 0
    for (const block of tip.back()) this.#active.push(block)
    this.#active.reverse()
  }

  /** Returns the time of the next block, Unix seconds. */
  #time(height: number, given: number | undefined): number {
    const { now, genesis, network, tip } = this
    if (now === undefined) return given ?? genesis.time + height * network.blockSpacing
    return Math.max(given ?? now(), tip.medianTime + 1)
  }

  #append(stored: Omit<StoredBlock, 'parent'>, parent: SimBlock | undefined): SimBlock {
    this.store.append({ ...stored, parent: parent?.number ?? -1 })
    this.txIndex.add(stored.txids)
    return this.#enter({ ...stored, parent, txCount: stored.txids.length })
  }

  #enter({ hash, parent, height, time, txCount }: NewBlock): SimBlock {
    const number = this.#byNumber.length
    const bits = parent === undefined ? this.store.header(number).readUInt32LE(72) : BITS
    const block = new SimBlock(number, hash, parent, height, time, txCount, bits)
    this.#byNumber.push(block)
    this.blocks.set(hash, block)
    if (parent !== undefined) this.#children.set(parent.hash, (this.#children.get(parent.hash) ?? 0) + 1)
    return block
  }

  #notify(left: readonly SimTx[]): void {
    if (this.#isQuiet) return
    for (const watcher of this.#watchers) watcher(left)
  }

  /** Makes a block the tip. @returns the transactions of the blocks that left the best chain, as watchers receive them. */
  #moveTo(target: SimBlock): readonly SimTx[] {
    const fork = forkOf(this.tip, target)
    const left: (readonly SimTx[])[] = []
    while (this.tip !== fork) left.push(this.#disconnectTip())
    const connected: SimBlock[] = []
    for (const block of target.back()) {
      if (block === fork) break
      connected.push(block)
    }
    for (const block of connected.reverse()) this.#connect(block)
    return left.reverse().flat()
  }

  /** Disconnects the tip. @returns its transactions without the coinbase. */
  #disconnectTip(): readonly SimTx[] {
    const block = this.#active.pop()
    if (block?.parent === undefined) throw new RangeError('genesis cannot be disconnected')
    const { txs, spent, overwritten } = this.read(block)
    const [coinbase, ...others] = txs
    const inputs = others.flatMap((tx) => tx.inputs)
    const coinOf = (txid: string, vout: number, { value, script, height, coinbase }: Spent): Coin =>
      // A copy of the script: a view would keep the undo data of the whole block in memory.
      new Coin(txid, vout, value, this.keyring.keep(script), height, coinbase)
    const coins = spent.map((each, at) => {
      const input = inputs[at]
      if (input === undefined) throw new Error('more undo data than inputs')
      return coinOf(input.prevTxid, input.prevVout, each)
    })
    revert(this.coins, txs, coins)
    for (const each of overwritten) this.coins.add(coinOf(coinbase?.txid ?? '', each.vout, each))
    return others
  }

  #connect(block: SimBlock): void {
    const { txs } = this.read(block)
    for (const tx of txs) {
      if (!tx.isCoinbase) {
        for (const input of tx.inputs) this.coins.remove(input.prevTxid, input.prevVout)
      }
      const outputs = tx.outputs.map(({ value, script }) => ({ value, script: this.keyring.keep(script) }))
      addOutputs(this.coins, { ...tx, outputs }, block.height)
    }
    this.#active.push(block)
  }
}

/** Makes a chain with its first blocks: a number of empty ones (coinbase only), or as specified. */
export function buildChain(
  options: ChainOptions & { readonly blocks?: number | readonly BlockSpec[] } = {},
): SimChain {
  const chain = new SimChain(options)
  const { blocks = 0 } = options
  const specs = typeof blocks === 'number' ? Array.from({ length: blocks }, () => ({})) : blocks
  for (const spec of specs) chain.mine(spec)
  return chain
}

/** A branch that is not visible until it is activated. */
export class Branch {
  constructor(
    readonly chain: SimChain,
    public tip: SimBlock,
  ) {}

  /** Mines blocks on the branch without making it the best chain; one call for all is fastest. @returns the last block. */
  mine(...specs: readonly BlockSpec[]): SimBlock {
    const mined = this.chain.extend(this.tip, specs.length === 0 ? [{}] : specs, false)
    this.tip = mined.at(-1) ?? this.tip
    return this.tip
  }

  /** Makes the branch the best chain. @returns its tip. */
  activate(): SimBlock {
    this.chain.setTip(this.tip.hash)
    return this.tip
  }
}

/** Returns a branch that begins after the block at a height of the best chain, or after a given block. */
export function forkAt(chain: SimChain, at: number | SimBlock): Branch {
  const block = typeof at === 'number' ? chain.at(at) : at
  if (block === undefined) throw new RangeError(`the best chain ends at ${String(chain.tip.height)}`)
  return new Branch(chain, block)
}
