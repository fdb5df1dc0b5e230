import { sumOf } from '../../../pipelines/chain/amount.js'
import { weightOf } from '../../../pipelines/chain/transaction.js'
import { type Coin, outpoint } from '../chain/coin-set.js'
import type { SimChain } from '../chain/sim-chain.js'
import type { SimTx } from '../chain/sim-tx.js'
import { isReplaceable, type Mempool, type MempoolEntry } from './mempool.js'
import { dialectOf } from '../dialect.js'
import { MATURITY } from './traffic.js'

/** The reason of a rejection, in the words of Bitcoin Core. */
export interface Rejection {
  readonly reason: string
}

/** A transaction that the mempool may accept. */
export interface Acceptance {
  readonly fee: bigint
  readonly weight: number
  /** The transactions that it replaces, each before its descendants. */
  readonly replaced: readonly MempoolEntry[]
}

/** As in Bitcoin Core, a tenth of a block. */
const STANDARD_SHARE = 10
/** Bytes without witnesses: shorter ones are not relayed. */
const MIN_SIZE = 65
const MAX_ANCESTORS = 25

/** Checks a transaction as a node does, except for its signatures, which are not real in a simulation. */
export function rejection(tx: SimTx, chain: SimChain, mempool: Mempool): Rejection | Acceptance {
  const malformed = malformation(tx, chain)
  if (malformed !== undefined) return { reason: malformed }
  const wtxid = mempool.get(tx.txid)?.tx.wtxid
  if (wtxid !== undefined)
    return {
      reason: wtxid === tx.wtxid ? 'txn-already-in-mempool' : 'txn-same-nonwitness-data-in-mempool',
    }
  const inputs = inputsOf(tx, chain, mempool)
  if ('reason' in inputs) return inputs
  const { spends, parents, conflicts } = inputs
  const value = sumOf(tx.outputs)
  const available = sumOf(spends)
  if (available < value) {
    return { reason: `bad-txns-in-belowout, value in (${coins(available)}) < value out (${coins(value)})` }
  }
  const weight = weightOf(tx, chain.network)
  const fee = available - value
  // The node's minimum is one base unit per virtual byte.
  const least = BigInt(Math.ceil(weight / chain.network.witnessScale))
  if (fee < least) return { reason: `min relay fee not met, ${String(fee)} < ${String(least)}` }
  const ancestors = new Set([...parents].flatMap((parent) => [...mempool.withAncestors(parent)]))
  if (ancestors.size + 1 > MAX_ANCESTORS)
    return {
      reason: `too-long-mempool-chain, too many unconfirmed ancestors [limit: ${String(MAX_ANCESTORS)}]`,
    }
  const replaced = new Set([...conflicts].flatMap((each) => [...mempool.withDescendants(each)]))
  if ([...ancestors].some((each) => replaced.has(each))) return { reason: `bad-txns-spends-conflicting-tx` }
  const fees = [...replaced].reduce((sum, each) => sum + each.fee, 0n)
  if (replaced.size > 0 && fee < fees + least)
    return { reason: `insufficient fee, rejecting replacement ${tx.txid}` }
  return { fee, weight, replaced: [...conflicts] }
}

/** Returns what is wrong with a transaction by itself. */
function malformation(tx: SimTx, { network }: SimChain): string | undefined {
  const { inputs, outputs, strippedSize } = tx
  if (outputs.length === 0) return 'bad-txns-vout-empty'
  if (strippedSize * network.witnessScale > network.maxBlockWeight) return 'bad-txns-oversize'
  let total = 0n
  for (const { value } of outputs) {
    if (value >= 2n ** 63n) return 'bad-txns-vout-negative'
    if (value > network.maxSupply) return 'bad-txns-vout-toolarge'
    total += value
    if (total > network.maxSupply) return 'bad-txns-txouttotal-toolarge'
  }
  const spent = new Set(inputs.map(({ prevTxid, prevVout }) => outpoint(prevTxid, prevVout)))
  if (spent.size < inputs.length) return 'bad-txns-inputs-duplicate'
  if (tx.isCoinbase) return 'coinbase'
  if (weightOf(tx, network) > network.maxBlockWeight / STANDARD_SHARE) return 'tx-size'
  return strippedSize < MIN_SIZE ? 'tx-size-small' : undefined
}

interface Inputs {
  readonly spends: readonly Coin[]
  readonly parents: ReadonlySet<MempoolEntry>
  /** The unconfirmed transactions that spend the same outputs. */
  readonly conflicts: ReadonlySet<MempoolEntry>
}

function inputsOf(tx: SimTx, chain: SimChain, mempool: Mempool): Inputs | Rejection {
  const spends: Coin[] = []
  const parents = new Set<MempoolEntry>()
  const conflicts = new Set<MempoolEntry>()
  for (const { prevTxid, prevVout } of tx.inputs) {
    const parent = mempool.get(prevTxid)
    const spender = mempool.spender(prevTxid, prevVout)
    const coin =
      spender?.spends.find(({ txid, vout }) => txid === prevTxid && vout === prevVout) ??
      (parent === undefined ? chain.coins : mempool.coins).get(prevTxid, prevVout)
    if (coin === undefined) return { reason: 'bad-txns-inputs-missingorspent' }
    if (coin.coinbase && chain.tip.height + 1 - (coin.height ?? 0) < MATURITY)
      return { reason: 'bad-txns-premature-spend-of-coinbase' }
    if (spender !== undefined) {
      if (!dialectOf(chain.network).hasFullRbf && !isReplaceable(spender.tx))
        return { reason: 'txn-mempool-conflict' }
      conflicts.add(spender)
    }
    if (parent !== undefined) parents.add(parent)
    spends.push(coin)
  }
  return { spends, parents, conflicts }
}

/** Returns an amount in coins, as Bitcoin Core prints it. */
const coins = (units: bigint): string =>
  `${String(units / 100_000_000n)}.${String(units % 100_000_000n).padStart(8, '0')}`
