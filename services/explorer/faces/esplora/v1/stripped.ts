import { sumOf } from '../../../../../pipelines/chain/amount.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { parseBody, parseTx, type TxParts } from '../../../../../pipelines/chain/transaction.js'
import type { ProjectableTx, ProjectedPackage } from '../../../../../pipelines/mempool/projection.js'
import { effectiveOf } from '../../../../../pipelines/mempool/packages.js'
import type { Coin, ShownTx } from '../../../core/mempool/shown-tx.js'
import { typeOf } from '../transaction-json.js'

/** The bits by which mempool.space classifies transactions, as far as they follow from the transaction and the outputs that it spends. */
const FLAG = { rbf: 2 ** 0, noRbf: 2 ** 1, cpfpParent: 2 ** 16, cpfpChild: 2 ** 17 } as const
/** The bits of versions, from 1. */
const VERSIONS = [2 ** 2, 2 ** 3, 2 ** 4]
/** The bits of the types of scripts, of outputs and of the outputs that are spent. */
const TYPES: Readonly<Record<string, number>> = {
  p2pk: 2 ** 8,
  p2pkh: 2 ** 10,
  p2sh: 2 ** 11,
  v0_p2wpkh: 2 ** 12,
  v0_p2wsh: 2 ** 13,
  v1_p2tr: 2 ** 14,
  op_return: 2 ** 24,
}
const CONSOLIDATION = 2 ** 33
const BATCH_PAYOUT = 2 ** 34
/** The number of inputs for each output, or the reverse, from which on a transaction consolidates or pays many. */
const MANY = 5
/** The lowest sequence that does not announce a replacement (BIP 125). */
const FINAL_FROM = 0xffff_fffe

/** A transaction as the lists of mempool.space have it: amounts in base units, `rate` in base units per virtual byte. */
export interface StrippedTx {
  readonly txid: string
  readonly fee: number
  readonly vsize: number
  readonly value: number
  readonly rate: number
  readonly flags: number
  /** Unix seconds at which the node first saw it; missing if it is not known. */
  readonly time?: number
}

/** The relations of a transaction to others of its mempool or block. */
interface Relations {
  readonly effective: ProjectedPackage
  /** True if others of its mempool or block spend from it. */
  readonly isParent: boolean
  readonly isChild: boolean
}

/**
 * Returns the flags of a transaction: replaceability, version, types of scripts, consolidation and batch payout. The others of
 * mempool.space are guesses from the contents of scripts.
 */
function flagsOf(tx: TxParts, coins: readonly (Coin | undefined)[], network: Network): number {
  const isReplaceable = tx.inputs.some(({ sequence }) => sequence < FINAL_FROM)
  const scripts = [...coins.flatMap((coin) => coin?.script ?? []), ...tx.outputs.map(({ script }) => script)]
  const types = new Set(scripts.map((script) => TYPES[typeOf(script, network)] ?? 0))
  const ratio = tx.inputs.length / tx.outputs.length
  const all = [
    isReplaceable ? FLAG.rbf : FLAG.noRbf,
    VERSIONS[tx.version - 1] ?? 0,
    ...types,
    ratio >= MANY ? CONSOLIDATION : 0,
    ratio <= 1 / MANY ? BATCH_PAYOUT : 0,
  ]
  // Sums, because the bits are more than those of a 32-bit integer; each is there once.
  return all.reduce((sum, flag) => sum + flag, 0)
}

function stripped(
  { txid, fee, weight }: Pick<ProjectableTx, 'txid' | 'fee' | 'weight'>,
  { tx, coins, network }: { tx: TxParts; coins: readonly (Coin | undefined)[]; network: Network },
  { effective, isParent, isChild }: Relations,
): StrippedTx {
  const relations = (isParent ? FLAG.cpfpParent : 0) + (isChild ? FLAG.cpfpChild : 0)
  return {
    txid,
    fee: Number(fee),
    vsize: weight / network.witnessScale,
    value: Number(sumOf(tx.outputs)),
    rate: Number(effective.fee) / effective.vsize,
    flags: flagsOf(tx, coins, network) + relations,
  }
}

/** Returns an unconfirmed transaction. @param isRelated whether others of the mempool spend from it, and it from others. */
export function strippedUnconfirmed(
  shown: ShownTx,
  isRelated: Pick<Relations, 'isParent' | 'isChild'>,
): StrippedTx {
  const { raw, coins, network, firstSeen } = shown
  const source = { tx: parseTx(raw), coins, network }
  return { ...stripped(shown, source, { effective: effectiveOf(shown), ...isRelated }), time: firstSeen }
}

/** Returns a transaction of a block. */
export function strippedConfirmed(
  tx: ProjectableTx,
  source: { readonly body: Buffer; readonly coins: readonly Coin[]; readonly network: Network },
  relations: Relations,
): StrippedTx {
  const { body, coins, network } = source
  return stripped(tx, { tx: parseBody(body), coins, network }, relations)
}
