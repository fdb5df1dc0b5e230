import { sumOf } from '../../../../pipelines/chain/amount.js'
import { hasDilithiumSignature } from '../../../../pipelines/chain/dilithium.js'
import { feeRate } from '../../../../pipelines/chain/feerate.js'
import { movedBy } from '../../../../pipelines/chain/moved.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { outpointsOf, type Prevout } from '../../../../pipelines/chain/prevout.js'
import { scriptHash } from '../../../../pipelines/chain/script.js'
import { parseTx, type Tx, vsizeOf, weightOf } from '../../../../pipelines/chain/transaction.js'
import type { MempoolEntry, MempoolTx } from '../../../../pipelines/mempool/mempool-tx.js'
import { effectiveOf, type PackagedTx } from '../../../../pipelines/mempool/packages.js'

/** The output that an input spends. */
export type Coin = Omit<Prevout, 'height'>

/** An unconfirmed transaction with the properties that answers contain. */
export interface ShownTx extends MempoolTx, Pick<PackagedTx, 'packaged'> {
  readonly network: Network
  readonly size: number
  readonly vsize: number
  readonly weight: number
  /** Σ outputs, base units. */
  readonly value: bigint
  /** The output that each input spends; undefined if it has not been found yet. */
  readonly coins: readonly (Coin | undefined)[]
  readonly isDilithium: boolean
  /** The value that changes owners, base units; undefined while an owner is not known. */
  readonly moved: bigint | undefined
  /** The balance change (received minus sent) of each script, by script hash. */
  readonly changes: ReadonlyMap<string, bigint>
}

/** Returns the fee rate that a transaction pays itself, and its effective one. */
export function feeRatesOf(tx: ShownTx): { readonly own: string; readonly effective: string } {
  const { fee, vsize } = effectiveOf(tx)
  return { own: feeRate(tx.fee, tx.vsize), effective: feeRate(fee, vsize) }
}

/** Parses an unconfirmed transaction. @throws RangeError for bytes that are not a transaction. */
export function shownTx(
  { raw, fee, firstSeen, network }: Omit<MempoolEntry, 'txid'> & Pick<ShownTx, 'network'>,
  coins: readonly (Coin | undefined)[] = [],
): ShownTx {
  const tx = parseTx(raw)
  const { txid, size } = tx
  const weight = weightOf(tx, network)
  const inputCoins = tx.inputs.map((_, index) => coins[index])
  return {
    raw,
    fee,
    firstSeen,
    network,
    txid,
    size,
    vsize: vsizeOf(weight, network),
    weight,
    value: sumOf(tx.outputs),
    outpoints: outpointsOf(tx),
    coins: inputCoins,
    isDilithium: tx.inputs.some((input, index) =>
      hasDilithiumSignature(input, inputCoins[index]?.script, network),
    ),
    changes: changesOf(tx, inputCoins),
    moved: inputCoins.includes(undefined) ? undefined : movedBy(tx, inputCoins),
  }
}

/** Returns whether the outputs of all inputs are known. */
export function isResolved(tx: ShownTx): boolean {
  return tx.coins.every((coin) => coin !== undefined)
}

function changesOf(tx: Tx, coins: readonly (Coin | undefined)[]): Map<string, bigint> {
  const changes = new Map<string, bigint>()
  const add = ({ script, value }: Coin, sign: bigint): void => {
    const hash = scriptHash(script)
    changes.set(hash, (changes.get(hash) ?? 0n) + sign * value)
  }
  for (const coin of coins) if (coin !== undefined) add(coin, -1n)
  for (const output of tx.outputs) add(output, 1n)
  return changes
}
