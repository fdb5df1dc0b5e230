/** The horizons of the node's estimator: blocks of a period, number of periods, decay for each block, and transactions needed. */
const HORIZONS = {
  short: { scale: 1, periods: 12, decay: 0.962, sufficient: 0.5 },
  medium: { scale: 2, periods: 24, decay: 0.9952, sufficient: 0.1 },
  long: { scale: 24, periods: 42, decay: 0.99931, sufficient: 0.1 },
} as const
type Horizon = keyof typeof HORIZONS

/** Buckets of fee rates in base units per 1000 virtual bytes: upper edges, each 5 % above the one before. */
const EDGES: number[] = []
for (let edge = 100; edge <= 1e7; edge *= 1.05) EDGES.push(edge)
EDGES.push(Number.POSITIVE_INFINITY)

function bucketOf(rate: number): number {
  let [low, high] = [0, EDGES.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((EDGES[middle] as number) >= rate) high = middle
    else low = middle + 1
  }
  return low
}

const zeros = (): Float64Array => new Float64Array(EDGES.length)
const at = (numbers: ArrayLike<number>, index: number): number => numbers[index] as number

class Stats {
  readonly scale: number
  readonly maxBlocks: number
  readonly #decay: number
  readonly #sufficient: number
  readonly #confirmed: Float64Array[]
  readonly #failed: Float64Array[]
  readonly #total = zeros()
  readonly #rates = zeros()
  readonly #waiting: Float64Array[]
  readonly #old = zeros()

  constructor({ scale, periods, decay, sufficient }: (typeof HORIZONS)[Horizon]) {
    this.scale = scale
    this.maxBlocks = scale * periods
    this.#decay = decay
    this.#sufficient = sufficient
    this.#confirmed = Array.from({ length: periods }, zeros)
    this.#failed = Array.from({ length: periods }, zeros)
    this.#waiting = Array.from({ length: this.maxBlocks }, zeros)
  }

  begin(height: number): void {
    const waiting = this.#waiting[height % this.maxBlocks] as Float64Array
    for (let bucket = 0; bucket < EDGES.length; bucket++)
      this.#old[bucket] = at(this.#old, bucket) + at(waiting, bucket)
    waiting.fill(0)
    for (const numbers of [...this.#confirmed, ...this.#failed, this.#total, this.#rates])
      for (let bucket = 0; bucket < EDGES.length; bucket++)
        numbers[bucket] = at(numbers, bucket) * this.#decay
  }

  enter(height: number, bucket: number): void {
    const waiting = this.#waiting[height % this.maxBlocks] as Float64Array
    waiting[bucket] = at(waiting, bucket) + 1
  }

  leave(entered: number, best: number, bucket: number, isMined: boolean): void {
    const blocks = best - entered
    const waiting =
      blocks >= this.maxBlocks ? this.#old : (this.#waiting[entered % this.maxBlocks] as Float64Array)
    waiting[bucket] = Math.max(0, at(waiting, bucket) - 1)
    if (isMined) return
    for (const failed of this.#failed.slice(0, Math.floor(blocks / this.scale)))
      failed[bucket] = at(failed, bucket) + 1
  }

  confirm(blocks: number, bucket: number, rate: number): void {
    for (const confirmed of this.#confirmed.slice(Math.ceil(blocks / this.scale) - 1))
      confirmed[bucket] = at(confirmed, bucket) + 1
    this.#total[bucket] = at(this.#total, bucket) + 1
    this.#rates[bucket] = at(this.#rates, bucket) + rate
  }

  estimate(target: number, threshold: number, height: number): number {
    const period = Math.ceil(target / this.scale) - 1
    const [confirmed, failed] = [
      this.#confirmed[period] as Float64Array,
      this.#failed[period] as Float64Array,
    ]
    let [within, partial, total, extra, lost] = [0, 0, 0, 0, 0]
    let near = EDGES.length - 1
    let best: readonly [number, number] | undefined
    for (let bucket = EDGES.length - 1; bucket >= 0; bucket--) {
      within += at(confirmed, bucket)
      partial += at(this.#total, bucket)
      total += at(this.#total, bucket)
      lost += at(failed, bucket)
      for (let blocks = target; blocks < this.maxBlocks; blocks++)
        if (height >= blocks)
          extra += at(this.#waiting[(height - blocks) % this.maxBlocks] as Float64Array, bucket)
      extra += at(this.#old, bucket)
      if (partial < this.#sufficient / (1 - this.#decay)) continue
      partial = 0
      if (within / (total + lost + extra) < threshold) continue
      best = [bucket, near]
      ;[within, total, extra, lost] = [0, 0, 0, 0]
      near = bucket - 1
    }
    if (best === undefined) return -1
    const [low, high] = best
    let half = 0
    for (let bucket = low; bucket <= high; bucket++) half += at(this.#total, bucket)
    half /= 2
    for (let bucket = low; bucket <= high; bucket++) {
      if (at(this.#total, bucket) >= half && half > 0)
        return at(this.#rates, bucket) / at(this.#total, bucket)
      half -= at(this.#total, bucket)
    }
    return -1
  }
}

interface Tracked {
  readonly height: number
  readonly bucket: number
  readonly rate: number
}

/**
 * The estimator of the node (`estimatesmartfee` of Bitcoin Core since 0.15, CBlockPolicyEstimator), written again from its description:
 * the shares of transactions of each fee rate that were confirmed within numbers of blocks, in averages of three decays.
 */
export class PolicyEstimator {
  readonly #stats = {
    short: new Stats(HORIZONS.short),
    medium: new Stats(HORIZONS.medium),
    long: new Stats(HORIZONS.long),
  }
  readonly #tracked = new Map<string, Tracked>()
  #height = 0
  #first = 0

  /** Notes that a transaction without unconfirmed parents entered. @param rate base units per virtual byte. */
  enter(txid: string, rate: number): void {
    const tracked = { height: this.#height, bucket: bucketOf(rate * 1000), rate: rate * 1000 }
    this.#tracked.set(txid, tracked)
    for (const stats of Object.values(this.#stats)) stats.enter(tracked.height, tracked.bucket)
  }

  /** Notes that a transaction left without being mined. */
  leave(txid: string): void {
    this.#remove(txid, false)
  }

  /** Notes a block. */
  mine(height: number, txids: Iterable<string>): void {
    this.#height = height
    for (const stats of Object.values(this.#stats)) stats.begin(height)
    for (const txid of txids) {
      const tracked = this.#remove(txid, true)
      if (tracked === undefined || height <= tracked.height) continue
      if (this.#first === 0) this.#first = height
      for (const stats of Object.values(this.#stats))
        stats.confirm(height - tracked.height, tracked.bucket, tracked.rate)
    }
  }

  /** Returns the fee rate for a number of blocks, in base units per virtual byte; undefined if there is none. */
  estimate(blocks: number, isConservative: boolean): number | undefined {
    const usable = this.#first === 0 ? 0 : Math.floor((this.#height - this.#first) / 2)
    const target = Math.min(Math.max(blocks, 2), this.#stats.long.maxBlocks, usable)
    if (target <= 1) return undefined
    let rate = Math.max(
      this.#combined(Math.floor(target / 2), 0.6, true),
      this.#combined(target, 0.85, true),
      this.#combined(2 * target, 0.95, !isConservative),
    )
    if (isConservative || rate === -1) rate = Math.max(rate, this.#conservative(2 * target))
    return rate < 0 ? undefined : Math.round(rate) / 1000
  }

  #combined(target: number, threshold: number, isShorterChecked: boolean): number {
    const { short, medium, long } = this.#stats
    if (target < 1 || target > long.maxBlocks) return -1
    const of = (stats: Stats, blocks: number): number => stats.estimate(blocks, threshold, this.#height)
    let rate = of([short, medium].find(({ maxBlocks }) => target <= maxBlocks) ?? long, target)
    if (!isShorterChecked) return rate
    for (const stats of [medium, short]) {
      if (target <= stats.maxBlocks) continue
      const shorter = of(stats, stats.maxBlocks)
      if (shorter > 0 && (rate === -1 || shorter < rate)) rate = shorter
    }
    return rate
  }

  #conservative(target: number): number {
    const { short, medium, long } = this.#stats
    const of = (stats: Stats): number => stats.estimate(target, 0.95, this.#height)
    return Math.max(target <= short.maxBlocks ? of(medium) : -1, target <= medium.maxBlocks ? of(long) : -1)
  }

  #remove(txid: string, isMined: boolean): Tracked | undefined {
    const tracked = this.#tracked.get(txid)
    if (tracked === undefined) return undefined
    this.#tracked.delete(txid)
    for (const stats of Object.values(this.#stats))
      stats.leave(tracked.height, this.#height, tracked.bucket, isMined)
    return tracked
  }
}
