import {
  type ProjectableTx,
  type ProjectedBlock,
  projecting,
  uninterrupted,
} from '../pipelines/mempool/projection.js'
import { Random } from '../services/simnode/random.js'

/** A transaction of a simulated market. */
export interface MarketTx extends ProjectableTx {
  readonly hasParent: boolean
}

/** The observer of a fee market: methods are called in the order of events. Times are seconds since its beginning. */
export interface MarketWatcher {
  entered(tx: MarketTx, time: number): void
  replaced(tx: MarketTx, time: number): void
  /** @param needed the lowest fee rate with which another transaction would have been in the block; 0 if there was room. */
  mined(block: { readonly height: number; readonly txs: readonly MarketTx[]; readonly needed: number }): void
  /** Called at random times: a user needs to know which fee to pay. */
  looked(time: number, height: number, mempool: Iterable<MarketTx>): void
}

export interface MarketOptions {
  readonly name: string
  /** The mean of what arrives, as a share of what the blocks take. */
  readonly load: number
  /** Rushes of one to four hours per day. */
  readonly rushes: number
  readonly days: number
}

/** The virtual size of a block without header and coinbase: Bitcoin's. */
export const CAPACITY = 999_000
/** Seconds between two blocks in the mean. */
export const SPACING = 600
/** The lowest fee rate that nodes relay. */
const MINIMUM = 0.1
const WITNESS_SCALE = 4
/** The mean virtual size: each transaction stands for about ten, so that two weeks take a minute. */
const MEAN_VSIZE = 4_000
const TICK = 60
const DAY = 86_400
const MEAN_LOOK = 2_400
/** The blocks that users see who follow the mempool, and how often they check it, in seconds. */
const [SEEN_BLOCKS, SEEN_SECONDS] = [12, 300]
/** The wave of demand beside the daily one: its standard deviation, and the seconds in which it changes. */
const WAVE = { deviation: 0.35, seconds: 10_800 }
const EMPTY_BLOCKS = 0.01

/**
 * Plays a fee market: demand has days, waves and rushes; four of ten users pay what the next block costs, others what later ones do,
 * a fixed rate, or little; some transactions pay for a parent, some replace another one. Miners take what pays most, at
 * random times; a few blocks are empty.
 */
export function playMarket({ name, load, rushes, days }: MarketOptions, watcher: MarketWatcher): void {
  const market = new Market(Random.of('fee market', name), watcher)
  for (let time = 0; time < days * DAY; time += TICK) market.tick(time, load, rushes)
}

class Market {
  readonly #random: Random
  readonly #watcher: MarketWatcher
  readonly #mempool = new Map<string, MarketTx>()
  readonly #parents = new Set<string>()
  #serial = 0
  #height = 0
  #nextBlock: number
  #nextLook: number
  #wave = 0
  #rush = { factor: 1, end: 0 }
  /** The lowest fee rates of the projected blocks, as users have seen them last. */
  #seen: readonly number[] = []

  constructor(random: Random, watcher: MarketWatcher) {
    this.#random = random
    this.#watcher = watcher
    this.#nextBlock = this.#after(0, SPACING)
    this.#nextLook = this.#after(0, MEAN_LOOK)
  }

  /** Lets the time of a tick pass. */
  tick(time: number, load: number, rushes: number): void {
    const mean = (this.#demand(time, rushes) * load * CAPACITY * TICK) / SPACING / MEAN_VSIZE
    const listed = [...this.#mempool.values()]
    for (let left = this.#poisson(mean); left > 0; left--) this.#arrive(time, listed)
    while (this.#nextBlock < time + TICK) {
      this.#mine()
      this.#nextBlock = this.#after(this.#nextBlock, SPACING)
    }
    if (time % SEEN_SECONDS === 0) this.#see()
    if (this.#nextLook >= time + TICK) return
    this.#nextLook = this.#after(time + TICK, MEAN_LOOK)
    this.#watcher.looked(time, this.#height, this.#mempool.values())
  }

  /** Returns the demand as a multiple of its mean. */
  #demand(time: number, rushes: number): number {
    const { deviation, seconds } = WAVE
    const part = TICK / seconds
    this.#wave += -this.#wave * part + deviation * Math.sqrt(2 * part) * this.#normal()
    if (time > this.#rush.end) {
      const begins = this.#random.chance((rushes * TICK) / DAY)
      const end = time + 3_600 * (1 + 3 * this.#random.fraction())
      this.#rush = begins ? { factor: 1.5 + this.#random.fraction(), end } : { factor: 1, end: time }
    }
    const daily = 1 + 0.3 * Math.sin((2 * Math.PI * time) / DAY)
    return daily * Math.exp(this.#wave - deviation ** 2 / 2) * this.#rush.factor
  }

  #arrive(time: number, listed: readonly MarketTx[]): void {
    const random = this.#random
    const size = MEAN_VSIZE * Math.exp(0.8 * this.#normal() - 0.32)
    const vsize = Math.round(Math.min(Math.max(size, MEAN_VSIZE / 7), 15 * MEAN_VSIZE))
    const rate = this.#wantedRate()
    const other = listed.length === 0 ? undefined : random.pick(listed)
    const known = other !== undefined && this.#mempool.has(other.txid) ? other : undefined
    const kind = random.fraction()
    if (kind < 0.04 && known !== undefined) {
      this.#parents.add(known.txid)
      this.#enter({ rate: Math.max(rate, 1.5 * this.#seenRate(1)), vsize, parent: known }, time)
    } else if (kind > 0.96 && known !== undefined && !known.hasParent && !this.#parents.has(known.txid)) {
      this.#mempool.delete(known.txid)
      this.#watcher.replaced(known, time)
      const old = Number(known.fee) / known.vsize
      this.#enter({ rate: Math.max(1.3 * old, this.#seenRate(1)), vsize: known.vsize }, time)
    } else this.#enter({ rate, vsize }, time)
  }

  /** Returns the fee rate that a user chooses. */
  #wantedRate(): number {
    const random = this.#random
    const user = random.fraction()
    if (user < 0.4) return this.#seenRate(1) * (1 + 0.5 * random.fraction()) + 0.5 * random.fraction()
    if (user < 0.6) return this.#seenRate(3) * Math.exp(0.2 * this.#normal())
    if (user < 0.7) return this.#seenRate(6) * Math.exp(0.2 * this.#normal())
    if (user < 0.85) return Math.exp(1 + 0.9 * this.#normal())
    return MINIMUM * (1 + 9 * random.fraction() ** 2)
  }

  #enter(
    { rate, vsize, parent }: { readonly rate: number; readonly vsize: number; readonly parent?: MarketTx },
    time: number,
  ): void {
    const tx: MarketTx = {
      txid: String(this.#serial++).padStart(8, '0'),
      fee: BigInt(Math.ceil(Math.max(rate, MINIMUM) * vsize)),
      size: vsize,
      vsize,
      weight: vsize * WITNESS_SCALE,
      outpoints: parent === undefined ? [] : [`${parent.txid}:0`],
      hasParent: parent !== undefined,
    }
    this.#mempool.set(tx.txid, tx)
    this.#watcher.entered(tx, time)
  }

  #mine(): void {
    this.#height++
    const isEmpty = this.#random.chance(EMPTY_BLOCKS)
    const [block, next] = isEmpty ? [] : this.#projected(2)
    const txs = (block?.txs ?? []) as readonly MarketTx[]
    for (const { txid } of txs) this.#mempool.delete(txid)
    const needed = isEmpty ? Number.POSITIVE_INFINITY : next === undefined ? 0 : lowestRate(block)
    this.#watcher.mined({ height: this.#height, txs, needed })
    this.#see()
  }

  #see(): void {
    const blocks = this.#projected(SEEN_BLOCKS)
    this.#seen = [...blocks.map(lowestRate), ...(blocks.length < SEEN_BLOCKS ? [MINIMUM] : [])]
  }

  #seenRate(blocks: number): number {
    return this.#seen[Math.min(blocks, this.#seen.length) - 1] ?? MINIMUM
  }

  #projected(most: number): ProjectedBlock[] {
    return uninterrupted(projecting(this.#mempool.values(), CAPACITY * WITNESS_SCALE, most))
  }

  #after(time: number, mean: number): number {
    return time - mean * Math.log(1 - this.#random.fraction())
  }

  #normal(): number {
    const [one, other] = [1 - this.#random.fraction(), this.#random.fraction()]
    return Math.sqrt(-2 * Math.log(one)) * Math.cos(2 * Math.PI * other)
  }

  #poisson(mean: number): number {
    let count = 0
    for (let time = this.#after(0, 1); time < mean; time = this.#after(time, 1)) count++
    return count
  }
}

function lowestRate(block: ProjectedBlock | undefined): number {
  const lowest = block?.packages[0]
  return lowest === undefined ? 0 : Number(lowest.fee) / lowest.vsize
}
