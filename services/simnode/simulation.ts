import { subsidy } from '../../pipelines/chain/networks.js'
import { weightOf } from '../../pipelines/chain/transaction.js'
import type { BlockDraft } from './chain/block-draft.js'
import type { SimChain } from './chain/sim-chain.js'
import type { Coin } from './chain/coin-set.js'
import type { Plan } from './history.js'
import { Mempool, type MempoolEntry, rateOf, TRUC } from './mempool/mempool.js'
import { Random } from './random.js'
import type { SimBlock } from './chain/sim-block.js'
import { type Spendable, Traffic } from './mempool/traffic.js'

export interface SimulationOptions {
  /** Mean number of transactions per block, without the coinbase. */
  readonly txsPerBlock?: number
  /** New owners per block. */
  readonly ownersPerBlock?: number
}

export interface MineOptions {
  readonly blocks?: number
  /** Transactions of each block: the best of the mempool, completed with new ones. By default around the mean. */
  readonly txs?: number
  /** The minimum size of each block, in bytes. */
  readonly bytes?: number
  /** Time of the blocks, Unix seconds; by default that of the chain. */
  readonly time?: number
}

/** The maximum number of unconfirmed ancestors, the transaction included: the default of Bitcoin Core. */
const MAX_ANCESTORS = 25
const BULK = 100_000
/** The share of blocks without transactions on Bitcoin, and the number of such blocks from which one is chosen to be repeated. */
const [EMPTY, REPEATABLE] = [0.06, 20]
/** The share of transactions with an anchor that a child pays for. */
const SPONSORED = 0.7
/** An upper bound of the weight of header and coinbase. */
const COINBASE = 20_000
/** Blocks of a history that are mined before the event loop runs. */
const BLOCKS_AT_ONCE = 20

/** A chain with a mempool and simulated users. Changes happen only by method calls, and time is the time of the chain. */
export class Simulation {
  readonly chain: SimChain
  readonly mempool: Mempool
  readonly traffic: Traffic
  readonly #txsPerBlock: number
  readonly #unwatch: () => void
  #turns = 0

  constructor(chain: SimChain, { txsPerBlock = 5, ownersPerBlock = 2 }: SimulationOptions = {}) {
    this.chain = chain
    this.#txsPerBlock = txsPerBlock
    this.traffic = new Traffic(chain.keyring, ownersPerBlock)
    this.mempool = new Mempool(chain.coins, chain.network)
    this.traffic.meet(chain.tip.height)
    this.#setClock()
    this.#unwatch = chain.watch((left) => {
      this.#setClock()
      this.mempool.rebuild(left)
    })
  }

  /** Stops following the chain. */
  end(): void {
    this.#unwatch()
  }

  /** Mines blocks on the tip, of transactions from the mempool and new ones. */
  mine({ blocks = 1, ...options }: MineOptions = {}): SimBlock {
    for (let left = blocks; left > 0; left--) this.#mineOne(options)
    this.chain.store.flush()
    return this.chain.tip
  }

  /** Mines a planned history without flushing each block; yields the height every few blocks. */
  *history(plan: Plan): Generator<number> {
    for (let next = plan(this.chain.tip); next !== undefined; next = plan(this.chain.tip)) {
      this.#mineOne(next)
      if (this.chain.tip.height % BLOCKS_AT_ONCE === 0) yield this.chain.tip.height
    }
    this.chain.store.flush()
  }

  /**
   * Replaces the last `depth` blocks by `length` others. Most of their transactions are confirmed again (at another height or
   * another position in the block), some stay in the mempool, and some are replaced by a conflicting one.
   */
  reorg(depth: number, length = depth + 1): SimBlock {
    this.tipBack(depth)
    const random = this.#random()
    for (const entry of [...this.mempool.entries()]) {
      if (entry.children.size === 0 && random.chance(0.1)) this.#replace(entry, random)
    }
    const heldTxids = new Set(
      [...this.mempool.entries()].filter(() => random.chance(0.15)).map((entry) => entry.tx.txid),
    )
    const { tip, now } = this.chain
    const elapsed = (now?.() ?? tip.time) - tip.time
    for (let mined = 1; mined <= length; mined++) {
      // The branch was mined in the time since the fork.
      const time = now === undefined ? undefined : tip.time + Math.floor((elapsed * mined) / length)
      this.#mineMixed(heldTxids, random, time)
    }
    this.chain.store.flush()
    return this.chain.tip
  }

  /** Disconnects the last blocks without replacing them. */
  tipBack(blocks: number): SimBlock {
    const target = this.chain.at(this.chain.tip.height - blocks)
    if (target === undefined || blocks < 1)
      throw new RangeError(`the number of blocks to disconnect must be 1 to ${String(this.chain.tip.height)}`)
    this.chain.setTip(target.hash)
    return target
  }

  /**
   * Adds new transactions to the mempool.
   * @param age seconds since they entered.
   * @returns the number of transactions that found a coin to spend.
   */
  enter(count: number, age = 0): number {
    const random = this.#random(age)
    let entered = 0
    for (let left = count; left > 0; left--) {
      const tx = this.traffic.next(this.#spendable(true), random)
      const entry = tx === undefined ? undefined : this.mempool.accept(tx)
      if (entry === undefined || !this.#keep(entry)) continue
      entered++
      const isSponsored = entry.tx.version === TRUC && random.chance(SPONSORED)
      const child = isSponsored ? this.traffic.sponsor(entry.tx, this.#spendable(false), random) : undefined
      const sponsor = child === undefined ? undefined : this.mempool.accept(child)
      if (sponsor !== undefined && this.#keep(sponsor)) entered++
    }
    return entered
  }

  /** Replaces mempool transactions by others that spend the same coins at a higher fee. @returns the number of replacements. */
  replace(count: number): number {
    const random = this.#random()
    let replaced = 0
    for (let left = count; left > 0 && this.mempool.size > 0; left--) {
      if (this.#replace(random.pick([...this.mempool.entries()]), random)) replaced++
    }
    return replaced
  }

  /** Drops the transactions with the lowest fee rates, with their descendants. @returns the number of dropped transactions. */
  evict(count: number): number {
    const byRate = [...this.mempool.entries()].sort((a, b) => rateOf(a) - rateOf(b))
    let evicted = 0
    for (const entry of byRate) {
      if (evicted >= count) break
      if (this.mempool.get(entry.tx.txid) === entry) evicted += this.mempool.drop(entry).length
    }
    return evicted
  }

  /** Drops an entry that nodes would not relay. @returns whether it stays. */
  #keep(entry: MempoolEntry): boolean {
    const stays = this.mempool.withAncestors(entry).size <= MAX_ANCESTORS && this.mempool.isRelayed(entry)
    if (!stays) this.mempool.drop(entry)
    return stays
  }

  #mineOne({ txs, bytes = 0, time }: Omit<MineOptions, 'blocks'>): void {
    const random = this.chain.randomForNext()
    if (txs === undefined && bytes === 0 && this.#mineEmpty(random, time)) return
    const draft = this.chain.draft()
    const count = txs ?? random.around(this.#txsPerBlock)
    for (const tx of this.mempool.size === 0 ? [] : this.mempool.best(count)) draft.add(tx)
    const from = this.#spendable(false)
    const whale = count > 0 && random.chance(0.04) ? this.traffic.whale(from, random) : undefined
    if (whale !== undefined) draft.add(whale)
    this.#addFresh(draft, count - draft.txs.length, random)
    const { network } = this.chain
    let size = draft.txs.reduce((sum, tx) => sum + tx.size, 0)
    let room = draft.txs.reduce((left, tx) => left - weightOf(tx, network), network.maxBlockWeight - COINBASE)
    while (size < bytes) {
      const tx = this.traffic.bulky(from, Math.min(BULK, bytes - size), room, random)
      if (tx === undefined) break
      draft.add(tx)
      size += tx.size
      room -= weightOf(tx, network)
    }
    this.chain.close(draft, random, { time })
  }

  /** Mines a block of a replacing branch: random transactions of the mempool in random order, and a few new ones. */
  #mineMixed(heldTxids: ReadonlySet<string>, random: Random, time: number | undefined): void {
    if (this.#mineEmpty(random, time)) return
    const draft = this.chain.draft()
    const limit = Math.max(2, random.around(this.#txsPerBlock * 1.5))
    const entries = new Set<MempoolEntry>()
    for (const entry of shuffled([...this.mempool.entries()], random)) {
      if (entries.size >= limit) break
      const family = this.mempool.withAncestors(entry)
      const free = [...family].every((each) => !heldTxids.has(each.tx.txid))
      if (free && entries.size + family.size <= limit && random.chance(0.7))
        for (const each of family) entries.add(each)
    }
    for (const entry of entries) draft.add(entry.tx)
    this.#addFresh(draft, random.around(this.#txsPerBlock * 0.2), random)
    this.chain.close(draft, this.chain.randomForNext(), { time })
  }

  /** Mines a block without transactions in some cases, on Bitcoin alone; every other repeats an earlier coinbase (BIP 30). */
  #mineEmpty(random: Random, time: number | undefined): boolean {
    const { chain } = this
    if (chain.network.dilithium !== undefined || !random.chance(EMPTY)) return false
    const draft = chain.draft()
    const blocks = random.chance(0.5) ? this.#repeatable(draft.height) : []
    chain.close(draft, random, { time, ...(blocks.length === 0 ? {} : { repeats: random.pick(blocks) }) })
    return true
  }

  /** Returns the newest blocks without transactions whose coinbase may exist again at a height: it claims no more than is allowed. */
  #repeatable(height: number): SimBlock[] {
    const { chain, mempool } = this
    const reward = subsidy(height, chain.network)
    const blocks: SimBlock[] = []
    for (const block of chain.tip.back()) {
      if (block.height === 0 || subsidy(block.height, chain.network) > reward || blocks.length >= REPEATABLE)
        break
      if (block.txCount > 1) continue
      const [coinbase] = chain.read(block).txs
      // A transaction of the mempool would spend the second output too soon.
      const isAwaited = coinbase?.outputs.some(
        (_, vout) => mempool.spender(coinbase.txid, vout) !== undefined,
      )
      if (isAwaited === false) blocks.push(block)
    }
    return blocks
  }

  /** Adds up to `count` new transactions, as many as find a coin to spend. */
  #addFresh(draft: BlockDraft, count: number, random: Random): void {
    const from = this.#spendable(false)
    for (let left = count; left > 0; left--) {
      const tx = this.traffic.next(from, random)
      if (tx !== undefined) draft.add(tx)
    }
  }

  #replace(entry: MempoolEntry, random: Random): boolean {
    const entries = this.mempool.withDescendants(entry)
    const fees = [...entries].reduce((sum, each) => sum + each.fee, 0n)
    const rate = Math.max(rateOf(entry) * 1.5, Number(fees) / entry.vsize) + 2
    const tx = this.traffic.respend(entry, rate, this.chain.tip.height + 1, random)
    if (tx === undefined || tx.txid === entry.tx.txid) return false
    this.mempool.drop(entry)
    return this.mempool.accept(tx) !== undefined
  }

  #spendable(unconfirmed: boolean): Spendable {
    const { mempool, chain } = this
    return {
      coins: chain.coins,
      height: chain.tip.height + 1,
      ...(mempool.size > 0 ? { isTaken: (coin: Coin) => mempool.isSpent(coin) } : {}),
      ...(unconfirmed ? { unconfirmed: mempool.coins } : {}),
    }
  }

  /** Returns random numbers for a change between blocks, and advances the clock of the mempool. @param age see `enter` */
  #random(age = 0): Random {
    this.#turns++
    this.#setClock(age)
    return Random.of(this.chain.seed, 'turn', this.chain.tip.hash, this.#turns)
  }

  /** Sets the time at which transactions enter: the chain's, or up to a minute after the tip. @param age see `enter` */
  #setClock(age = 0): void {
    const { tip, genesis, now } = this.chain
    const time = now?.() ?? Math.max(tip.time, genesis.time) + (this.#turns % 60)
    this.mempool.setClock(time - age, tip.height)
  }
}

function shuffled<T>(list: T[], random: Random): T[] {
  for (let at = list.length - 1; at > 0; at--) {
    const other = random.below(at + 1)
    const item = list[at] as T
    list[at] = list[other] as T
    list[other] = item
  }
  return list
}
