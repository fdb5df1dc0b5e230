import { type Keyring, type Owner, pushData, witnessScriptHash } from './keyring.js'
import type { Random } from '../random.js'

/** scriptSig and witness of an input. Signatures are random bytes of the right length and form. */
export interface Unlocking {
  readonly scriptSig: Buffer
  readonly witness: readonly Buffer[]
}

const NOTHING = Buffer.alloc(0)
const FREE: Unlocking = { scriptSig: NOTHING, witness: [] }
const SIGHASH_ALL = 1
const DILITHIUM_SIGNATURE = 2420

/** Returns scriptSig and witness for an output of `owner`; both are empty for an unknown owner (undefined). */
export function unlock(keyring: Keyring, owner: Owner | undefined, random: Random): Unlocking {
  if (owner === undefined) return FREE
  if (owner.kind === 'p2tr') return { scriptSig: NOTHING, witness: [random.bytes(64)] }
  const { keys, inner } = keyring.secretsOf(owner)
  const key = keys[0] ?? NOTHING
  switch (owner.kind) {
    case 'nonstandard':
    case 'witness-unknown':
    case 'anchor':
      return FREE
    case 'p2tr-script':
      return { scriptSig: NOTHING, witness: [random.bytes(64), inner, controlBlock(random)] }
    case 'multisig-2of3':
      return inScriptSig(NOTHING, ecSignature(random), ecSignature(random))
    case 'p2sh-multisig':
      return inScriptSig(NOTHING, ecSignature(random), ecSignature(random), inner)
    case 'p2sh-p2wsh':
      return { ...inScriptSig(witnessScriptHash(inner)), witness: twoOfThree(inner, random) }
    case 'p2wpkh':
      return { scriptSig: NOTHING, witness: [ecSignature(random), key] }
    case 'dilithium-wpkh':
      return { scriptSig: NOTHING, witness: [dilithiumSignature(random), key] }
    case 'p2pkh':
      return inScriptSig(ecSignature(random), key)
    case 'dilithium-pubkeyhash':
      return inScriptSig(dilithiumSignature(random), key)
    case 'p2pk':
    case 'p2pk-uncompressed':
      return inScriptSig(ecSignature(random))
    case 'dilithium-pubkey':
      return inScriptSig(dilithiumSignature(random))
    case 'multisig':
      return inScriptSig(NOTHING, ecSignature(random))
    case 'dilithium-multisig':
      return inScriptSig(NOTHING, dilithiumSignature(random))
    case 'p2sh-p2wpkh':
      return { scriptSig: pushData(inner), witness: [ecSignature(random), key] }
    case 'dilithium-p2sh':
      return inScriptSig(dilithiumSignature(random), inner)
    case 'p2wsh':
      return { scriptSig: NOTHING, witness: twoOfThree(inner, random) }
    case 'dilithium-p2wsh':
      return { scriptSig: NOTHING, witness: [dilithiumSignature(random), inner] }
    case 'p2mr':
      return { scriptSig: NOTHING, witness: [dilithiumSignature(random), inner, Buffer.from([0xc1])] }
    case 'p2mr-plain':
      return { scriptSig: NOTHING, witness: [inner, Buffer.from([0xc1])] }
  }
}

/** Returns a taproot script-path spend with `payload` in its leaf, like an inscription. */
export function inscription(payload: Buffer, random: Random): Unlocking {
  const parts: Buffer[] = [pushData(random.bytes(32)), Buffer.from([0xac, 0x00, 0x63])]
  for (let at = 0; at < payload.length; at += 520) parts.push(pushData(payload.subarray(at, at + 520)))
  parts.push(Buffer.from([0x68]))
  const control = controlBlock(random)
  return { scriptSig: NOTHING, witness: [random.bytes(64), Buffer.concat(parts), control] }
}

/** Returns the control block of a tree with a single leaf. */
function controlBlock(random: Random): Buffer {
  const control = random.bytes(33)
  control[0] = 0xc0
  return control
}

function twoOfThree(witnessScript: Buffer, random: Random): Buffer[] {
  return [NOTHING, ecSignature(random), ecSignature(random), witnessScript]
}

function inScriptSig(...pushes: readonly Buffer[]): Unlocking {
  return { scriptSig: Buffer.concat(pushes.map(pushData)), witness: [] }
}

/** Returns a random signature of 71 bytes: DER with r and s of 32 bytes, and the sighash byte. */
function ecSignature(random: Random): Buffer {
  const signature = random.bytes(71)
  signature.write('30440220', 0, 'hex')
  signature.write('0220', 36, 'hex')
  // The sign bit of r and s must be clear, and their first byte must not be zero.
  signature[4] = ((signature[4] ?? 0) & 0x7f) | 1
  signature[38] = ((signature[38] ?? 0) & 0x7f) | 1
  signature[70] = SIGHASH_ALL
  return signature
}

function dilithiumSignature(random: Random): Buffer {
  const withSighash = random.chance(0.9)
  const signature = random.bytes(DILITHIUM_SIGNATURE + (withSighash ? 1 : 0))
  if (withSighash) signature[DILITHIUM_SIGNATURE] = SIGHASH_ALL
  return signature
}
