import { redeemsDilithium } from '../dilithium.js'
import type { Network } from '../networks.js'
import type { ScriptType } from '../script.js'
import type { TxInput } from '../transaction.js'

/**
 * The protection of the coins of a script from a computer that derives private keys from public ones:
 * - `exposed`: the chain shows a key that is not of Dilithium. Either the script shows it (P2PK, bare multisig, P2TR), or a spend
 *   without a Dilithium signature has revealed the key or the script of which the script has the hash.
 * - `hidden`: the script has the hash of a key or of a script, which no spend has revealed.
 * - `protected`: the script requires a Dilithium signature, or each of its spends contained one, which reveals a Dilithium key only. A
 *   P2MR script is protected until a spend without one reveals a leaf.
 * - `unknown`: the script has no key that is known by its type.
 * Keys that other scripts, unconfirmed transactions or anything but the chain reveal do not count.
 */
export const PROTECTIONS = ['protected', 'hidden', 'exposed', 'unknown'] as const
export type Protection = (typeof PROTECTIONS)[number]

/** The kinds of spends of a script, combined as bits: those that contain a Dilithium signature or redeem script, and those without a signature. */
export const DILITHIUM_SPEND = 1
export const PLAIN_SPEND = 2

/**
 * Returns the kinds of a spend, as bits.
 * @param isDilithium whether the input contains a Dilithium signature. @param spent the script of the output that it spends.
 */
export function spendKindsOf(isDilithium: boolean, input: TxInput, spent: Buffer, network: Network): number {
  if (isDilithium) return DILITHIUM_SPEND
  return redeemsDilithium(input, spent, network) ? DILITHIUM_SPEND | PLAIN_SPEND : PLAIN_SPEND
}

/**
 * The protection of scripts that were never spent, by type. The order is that of the columns of `blocks` by type, and is never
 * changed: types that were used first come first, because these columns end after the last type with outputs.
 */
const UNSPENT = {
  pubkey: 'exposed',
  pubkeyhash: 'hidden',
  multisig: 'exposed',
  nonstandard: 'unknown',
  scripthash: 'hidden',
  witness_v0_keyhash: 'hidden',
  witness_v0_scripthash: 'hidden',
  witness_v1_taproot: 'exposed',
  witness_unknown: 'unknown',
  anchor: 'unknown',
  witness_v2_p2mr: 'protected',
  dilithium_pubkeyhash: 'protected',
  dilithium_pubkey: 'protected',
  dilithium_multisig: 'protected',
} satisfies Partial<Record<ScriptType, Protection>>

/** A type of scripts whose outputs can be spent. */
export type SpendableType = keyof typeof UNSPENT

/** The types of scripts in the order of the columns of `blocks` by type. */
export const SPENDABLE_TYPES = Object.keys(UNSPENT) as SpendableType[]

/** Returns the place of a type in the columns of `blocks` by type. Scripts of type `nulldata` have no outputs that can be spent. */
export function typeIndexOf(type: ScriptType): number {
  return SPENDABLE_TYPES.indexOf(type as SpendableType)
}

/** Returns the protection of a script. @param spends the kinds of its confirmed spends. */
export function protectionOf(type: ScriptType, spends: number): Protection {
  const unspent: Protection = UNSPENT[type as SpendableType] ?? 'unknown'
  if (unspent !== 'hidden' && type !== 'witness_v2_p2mr') return unspent
  if ((spends & PLAIN_SPEND) !== 0) return 'exposed'
  return spends === 0 ? unspent : 'protected'
}
