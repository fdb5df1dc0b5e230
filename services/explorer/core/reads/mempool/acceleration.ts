import { ASSUMED_MINIMUM, type FeeEntry } from '../../../../../pipelines/chain/feerate.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { effectiveOf } from '../../../../../pipelines/mempool/packages.js'
import { type ProjectedBlock, projectedWeight } from '../../../../../pipelines/mempool/projection.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import { networkIn, type ReadContext } from '../read.js'
import type { TransactionPackage } from '../shapes.js'
import { minimumOf, projectedBlocks } from '../fees/basis.js'
import { parentsOf } from './transaction-package.js'

/**
 * The fees, in base units, with which an unconfirmed transaction would be in the next projected block, and with
 * which the next block takes it in spite of what will enter the mempool until then.
 */
export interface Acceleration {
  /** The fee of a transaction of the same size that replaces it (BIP 125). */
  readonly replacement: bigint
  /** The fee of a new transaction that spends one of its outputs and has `childVsize`. */
  readonly child: bigint
}

/** The rate that a replacement must pay in addition if the node does not report it: the default before Bitcoin Core 29.1. */
const ASSUMED_INCREMENTAL = ASSUMED_MINIMUM

/**
 * Returns what moves an unconfirmed transaction into the next projected block; undefined if it is there already, or if not all
 * transactions are known on which this depends.
 * @param childVsize virtual bytes of the child.
 * @param likely the fee rate with which the next block probably takes a transaction, in base units per virtual byte, in spite of what will
 * enter the mempool until then; null if it is not known.
 */
export async function accelerationOf(
  { fee, vsize, ancestors, descendants, complete, projected }: TransactionPackage,
  context: ReadContext,
  childVsize: number,
  likely: string | null = null,
): Promise<Acceleration | undefined> {
  const network = networkIn(context)
  const [next, ...later] = await projectedBlocks(context, network)
  if (next === undefined || later.length === 0 || projected?.block === 1 || !complete) return undefined
  const before = ancestors.map(({ txid }) => context.mempool.get(txid)).filter((each) => each !== undefined)
  const minimum = minimumOf(context.relayFees)
  const { incremental } = context.relayFees ?? {}
  const increment =
    incremental === undefined ? ASSUMED_INCREMENTAL : { fee: incremental, vsize: minimum.vsize }
  const least = likely === null ? undefined : { fee: BigInt(Math.ceil(Number(likely) * 100)), vsize: 100 }
  const feeWith = (added: number): bigint =>
    neededFee(next, { vsize: vsize + added, ancestors: before }, network, least)
  const replaced = BigInt(fee) + sumOfFees(descendants)
  return {
    replacement: highest(feeWith(0), feeAt(minimum, vsize), replaced + feeAt(increment, vsize)),
    child: highest(feeWith(childVsize) - BigInt(fee), feeAt(minimum, childVsize)),
  }
}

/** New transactions, and what they spend from. */
interface Wanted {
  /** Virtual bytes of the new transactions. */
  readonly vsize: number
  /** Each after its own. */
  readonly ancestors: readonly ShownTx[]
}

/**
 * Returns the fee of new transactions with which a block takes them before the packages that they displace. They are taken together with
 * the ancestors that the block does not have, or has only at a lower rate.
 * @param likely a rate that they reach, too.
 */
function neededFee(
  { packages, txs, weight, vsize }: ProjectedBlock,
  wanted: Wanted,
  network: Network,
  likely: FeeEntry | undefined,
): bigint {
  const inBlock = new Set(txs.map(({ txid }) => txid))
  // No later than its own ancestors: the rate of a package rises when another one takes a part of it.
  const rates = new Map<string, number>()
  for (const tx of wanted.ancestors) {
    const own = inBlock.has(tx.txid) ? rateOf(effectiveOf(tx)) : 0
    rates.set(tx.txid, Math.min(own, ...parentsOf(tx).map((parent) => rates.get(parent) ?? own)))
  }
  // Sizes of transactions are rounded up.
  const free = Math.floor((projectedWeight(network) - weight) / network.witnessScale)
  const roundedUp = Math.ceil(vsize - weight / network.witnessScale)
  const above = (rate: FeeEntry): { readonly size: number; readonly fee: bigint } => {
    const taken = wanted.ancestors.filter(({ txid }) => (rates.get(txid) ?? 0) <= rateOf(rate))
    const size = taken.reduce((sum, tx) => sum + tx.vsize, wanted.vsize)
    return { size, fee: feeAbove(rate, size) - taken.reduce((sum, { fee }) => sum + fee, 0n) }
  }
  const fees = likely === undefined ? [] : [above(likely).fee]
  let freed = free - roundedUp
  for (const each of packages) {
    freed += each.vsize
    const { size, fee } = above(each)
    if (freed < size && each !== packages.at(-1)) continue
    fees.push(fee)
    break
  }
  return highest(0n, ...fees)
}

const rateOf = ({ fee, vsize }: FeeEntry): number => Number(fee) / vsize

/** Returns the lowest fee of a size whose rate is above another. */
const feeAbove = (rate: FeeEntry, vsize: number): bigint =>
  (rate.fee * BigInt(vsize)) / BigInt(rate.vsize) + 1n

/** Returns the fee of a size at a rate, rounded up. */
const feeAt = (rate: FeeEntry, vsize: number): bigint => {
  const size = BigInt(rate.vsize)
  return (rate.fee * BigInt(vsize) + size - 1n) / size
}

const sumOfFees = (members: readonly { readonly fee: string }[]): bigint =>
  members.reduce((sum, { fee }) => sum + BigInt(fee), 0n)

const highest = (...fees: readonly bigint[]): bigint =>
  fees.reduce((most, each) => (each > most ? each : most), 0n)
