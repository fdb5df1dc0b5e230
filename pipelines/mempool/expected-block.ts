import type { LeanMempool } from './lean-mempool.js'
import { type LeanTx, spentId } from './lean-tx.js'
import { effectiveOf } from './packages.js'
import { inSlices, type ProjectedPackage, projecting } from './projection.js'

/**
 * The reasons why an expected transaction is not in the block: another one of the block spends the same output, `conflict`; the block is
 * without transactions, `empty`; it was first seen shortly before the block, `fresh`; the block is full, and ended before the place at
 * which it was expected, `no_room`; or the reason is not known. A transaction whose parent is missing has the reason of the parent.
 */
export const MISSING_REASONS = ['unknown', 'conflict', 'empty', 'fresh', 'no_room'] as const
export type MissingReason = (typeof MISSING_REASONS)[number]

/**
 * The reasons why a transaction of the block was not expected: it was not in the mempool, `unseen`; it was expected right after the end of the block,
 * `next`; or there were better ones in the mempool, `low_rate`: its miner has preferred it.
 */
export const ADDED_REASONS = ['unseen', 'next', 'low_rate'] as const
export type AddedReason = (typeof ADDED_REASONS)[number]

/** The seconds for which a transaction is `fresh`: not all miners have it in the blocks that they are working on. */
export const FRESH_SECONDS = 180
/**
 * The part of the maximum weight that follows a projected block in `next`, in which the end of a block counts as `no_room`, and that
 * a full block may lack.
 */
const MARGIN = 0.05

/** A transaction that is in one of two blocks only. */
export interface Difference<R> {
  readonly tx: LeanTx
  /** The fee and the size that determine its effective fee rate. */
  readonly rated: ProjectedPackage
  readonly reason: R
}

export interface BlockSums {
  readonly count: number
  readonly weight: number
  readonly vsize: number
  /** Base units. */
  readonly fees: bigint
}

/** An expected block and the one that was mined, both without coinbase. */
export interface BlockComparison {
  readonly expected: BlockSums
  readonly mined: BlockSums
  readonly matched: BlockSums
  /** In the order in which they were expected. */
  readonly missing: readonly Difference<MissingReason>[]
  /** In the order of the block. */
  readonly added: readonly Difference<AddedReason>[]
}

/**
 * Compares a block with the one that the projection expects from a mempool.
 * @param mempool the mempool before the block; it must not change meanwhile.
 * @param mined the transactions of the block, without the coinbase.
 * @param maxWeight of the transactions of a projected block.
 * @param seconds the time at which the block became known, in Unix seconds.
 */
export async function compareBlock(
  mempool: LeanMempool,
  mined: readonly LeanTx[],
  maxWeight: number,
  seconds: number,
): Promise<BlockComparison> {
  const { value: best } = await inSlices(bestOf(mempool, maxWeight * (1 + MARGIN)))
  const { value: blocks } = await inSlices(projecting(best, maxWeight, 2))
  const [expected = [], following = []] = blocks.map(({ txs }) =>
    txs.flatMap(({ txid }) => mempool.get(txid) ?? []),
  )
  const inBlock = new Set(mined.map(({ txid }) => txid))
  const spent = new Set(mined.flatMap(({ outpoints }) => outpoints))
  const minedSums = sumsOf(mined)
  const isFull = minedSums.weight >= (1 - MARGIN) * maxWeight
  const ownReason = (tx: LeanTx, weightAfter: number): MissingReason => {
    if (mined.length === 0) return 'empty'
    if (seconds - tx.firstSeen < FRESH_SECONDS) return 'fresh'
    return isFull && weightAfter > minedSums.weight - MARGIN * maxWeight ? 'no_room' : 'unknown'
  }
  const reasons = new Map<string, MissingReason>()
  const missing: Difference<MissingReason>[] = []
  let weight = 0
  for (const tx of expected) {
    weight += tx.weight
    if (inBlock.has(tx.txid)) continue
    const inherited = tx.outpoints.map((outpoint) => reasons.get(spentId(outpoint)))
    const reason = tx.outpoints.some((outpoint) => spent.has(outpoint))
      ? 'conflict'
      : (inherited.find((each) => each !== undefined) ?? ownReason(tx, weight))
    reasons.set(tx.txid, reason)
    missing.push({ tx, rated: effectiveOf(tx), reason })
  }
  const isExpected = new Set(expected.map(({ txid }) => txid))
  const next = new Set(beginningOf(following, MARGIN * maxWeight))
  const added = mined
    .filter(({ txid }) => !isExpected.has(txid))
    .map((tx): Difference<AddedReason> => {
      const known = mempool.get(tx.txid)
      const reason = known === undefined ? 'unseen' : next.has(tx.txid) ? 'next' : 'low_rate'
      return { tx, rated: effectiveOf(known ?? tx), reason }
    })
  const matched = sumsOf(expected.filter(({ txid }) => inBlock.has(txid)))
  return { expected: sumsOf(expected), mined: minedSums, matched, missing, added }
}

/** Returns the txids of the first transactions of a block that have a total weight. */
function beginningOf(txs: readonly LeanTx[], maxWeight: number): string[] {
  let weight = 0
  return txs.filter((tx) => (weight += tx.weight) <= maxWeight).map(({ txid }) => txid)
}

function sumsOf(txs: readonly LeanTx[]): BlockSums {
  const sum = (of: (tx: LeanTx) => number): number => txs.reduce((total, tx) => total + of(tx), 0)
  return {
    count: txs.length,
    weight: sum((tx) => tx.weight),
    vsize: sum((tx) => tx.vsize),
    fees: txs.reduce((total, { fee }) => total + fee, 0n),
  }
}

/** The number of classes of fee rates for each doubling. */
const CLASSES_PER_OCTAVE = 16
const CLASSES = 1_024
/** The class of a fee rate of one base unit per virtual byte. */
const CLASS_OF_ONE = 256
/** The number of transactions after which a search can be interrupted. */
const STEP = 2_000

function classOf(tx: LeanTx): number {
  const { fee, vsize } = effectiveOf(tx)
  const place = CLASS_OF_ONE + Math.floor(Math.log2(Number(fee) / vsize) * CLASSES_PER_OCTAVE)
  return Math.max(0, Math.min(CLASSES - 1, place))
}

/**
 * Returns the transactions with the highest effective fee rates that have a total weight, with their ancestors. The projection takes
 * packages by falling fee rates, so that a block that these fill is the one that all transactions would fill.
 */
function* bestOf(
  mempool: LeanMempool,
  leastWeight: number,
): Generator<undefined, Iterable<LeanTx>, undefined> {
  const weights = new Float64Array(CLASSES)
  let count = 0
  for (const tx of mempool.values()) {
    const at = classOf(tx)
    weights[at] = (weights[at] as number) + tx.weight
    if (++count % STEP === 0) yield
  }
  let lowest = CLASSES
  for (let weight = 0; lowest > 0 && weight < leastWeight;) weight += weights[--lowest] as number
  const best = new Set<LeanTx>()
  for (const tx of mempool.values()) {
    if (classOf(tx) >= lowest) best.add(tx)
    if (++count % STEP === 0) yield
  }
  // Only in clusters that are too large for packages, a transaction may have a higher fee rate than its ancestors.
  for (const tx of best)
    for (const outpoint of tx.outpoints) {
      const parent = mempool.get(spentId(outpoint))
      if (parent !== undefined) best.add(parent)
    }
  return best
}
