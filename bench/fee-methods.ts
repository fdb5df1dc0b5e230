import { type ProjectableTx, packagesOf, projecting, uninterrupted } from '../pipelines/mempool/projection.js'
import { orHigher, RATE_STEPS, stepOf } from '../pipelines/mempool/rate-steps.js'
import type { Arrived } from '../services/explorer/core/forecast/arrivals.js'
import { futuresOf } from '../services/explorer/core/forecast/forecasts.js'
import { medianFees } from './baseline/median-fees.js'
import { PolicyEstimator } from './baseline/policy-estimator.js'

/** The blocks for which fee rates are estimated. */
export const TARGETS = [1, 2, 3, 6, 12, 24, 72, 144]
/** The chances for which Headwater's method is tested. */
export const TESTED_CHANCES = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99]

/** A fee rate that a method asks for a confirmation within some blocks. */
export interface Quote {
  /** `node`, `node conservative`, `mempool.space`, or a chance of Headwater's method. */
  readonly method: string
  readonly blocks: number
  /** Base units per virtual byte. */
  readonly rate: number
}

/** A moment at which fee rates are estimated. */
export interface Moment {
  /** Seconds. */
  readonly time: number
  readonly mempool: Iterable<ProjectableTx>
  /** Virtual bytes that a block takes, and its weight. */
  readonly capacity: number
  readonly maxWeight: number
  /** Mean seconds between the newest blocks. */
  readonly spacing: number
}

const HALF_HOUR = 1_800
const DAY = 86_400
const MINUTE = 60
/** The newest blocks whose size counts. */
const MINED_BLOCKS = 12

interface Minute {
  readonly start: number
  readonly vsizes: number[]
}

/** The methods to estimate fees, which watch the same mempool. */
export class FeeMethods {
  readonly #node = new PolicyEstimator()
  /** The last day. */
  #minutes: Minute[] = []
  #mined: number[] = []
  #beganAt: number | undefined

  entered(tx: ProjectableTx, time: number, hasParent: boolean): void {
    if (!hasParent) this.#node.enter(tx.txid, rateOf(tx))
    this.#count(tx, time, tx.vsize)
  }

  dropped(tx: ProjectableTx, time: number): void {
    this.#node.leave(tx.txid)
    this.#count(tx, time, -tx.vsize)
  }

  mined(height: number, txs: readonly ProjectableTx[]): void {
    this.#node.mine(
      height,
      txs.map(({ txid }) => txid),
    )
    const vsize = txs.reduce((sum, tx) => sum + tx.vsize, 0)
    this.#mined = [...this.#mined, vsize].slice(-MINED_BLOCKS)
  }

  /** Returns what each method asks. */
  quotes({ time, mempool, capacity, maxWeight, spacing }: Moment): Quote[] {
    const txs = [...mempool]
    const packages = packagesOf(txs)
    const sizes = new Array<number>(RATE_STEPS).fill(0)
    for (const tx of txs) {
      const step = stepOf(rateOf(packages.get(tx.txid) ?? tx))
      sizes[step] = (sizes[step] as number) + tx.vsize
    }
    const mined =
      this.#mined.reduce((sum, vsize) => sum + vsize, 0) / (Math.max(this.#mined.length, 1) * spacing)
    const arrivals = { lately: this.#arrived(time, HALF_HOUR), usually: this.#arrived(time, DAY) }
    const futures = futuresOf({ sizes, capacity, spacing, mined }, arrivals)
    const medians = medianFees(uninterrupted(projecting(txs, maxWeight, 4)))
    const made = (method: string, blocks: number, rate: number | undefined): Quote[] =>
      rate === undefined ? [] : [{ method, blocks, rate }]
    return [
      ...TARGETS.flatMap((blocks) => [
        ...TESTED_CHANCES.flatMap((chance) =>
          made(
            String(chance),
            blocks,
            futures.rateFor((each) => each.blocks <= blocks, chance),
          ),
        ),
        ...made('node', blocks, this.#node.estimate(blocks, false)),
        ...made('node conservative', blocks, this.#node.estimate(blocks, true)),
      ]),
      ...[...medians].flatMap(([blocks, rate]) => made('mempool.space', blocks, rate)),
    ]
  }

  #count(tx: ProjectableTx, time: number, vsize: number): void {
    const start = time - (time % MINUTE)
    this.#beganAt ??= start
    let minute = this.#minutes.at(-1)
    if (minute?.start !== start) {
      minute = { start, vsizes: new Array<number>(RATE_STEPS).fill(0) }
      this.#minutes = [...this.#minutes.filter((each) => each.start > start - DAY), minute]
    }
    const step = stepOf(rateOf(tx))
    minute.vsizes[step] = (minute.vsizes[step] as number) + vsize
  }

  #arrived(time: number, period: number): Arrived {
    const sums = new Array<number>(RATE_STEPS).fill(0)
    for (const { start, vsizes } of this.#minutes)
      if (start > time - period)
        for (const [step, vsize] of vsizes.entries()) sums[step] = (sums[step] as number) + vsize
    return {
      seconds: Math.min(period, time - (this.#beganAt ?? time)),
      vsizes: orHigher(sums).map((vsize) => Math.max(0, vsize)),
    }
  }
}

const rateOf = ({ fee, vsize }: { readonly fee: bigint; readonly vsize: number }): number =>
  Number(fee) / vsize
