import { createECDH, ECDH } from 'node:crypto'
import { hash160, sha256 } from '../hash.js'
import type { Network } from '../networks.js'
import { isDilithiumKey, isPlainKey, OP, scriptType } from '../script.js'

const CURVE = 'secp256k1'
/** The modulus of the coordinates of points on the curve. */
const FIELD = 2n ** 256n - 2n ** 32n - 977n
const TAG = sha256(Buffer.from('TapTweak'))

/** Returns the script that pays to a public key (P2PK); undefined for bytes that have the form of no key of the chain. */
export function keyScript(key: Buffer, { dilithium }: Network): Buffer | undefined {
  if (isPlainKey(key)) return Buffer.from([key.length, ...key, OP.CHECKSIG])
  if (dilithium === undefined || !isDilithiumKey(key)) return undefined
  const size = Buffer.from([0x4d, key.length & 0xff, key.length >> 8])
  return Buffer.concat([size, key, Buffer.from([dilithium.opcodes.checkSig])])
}

/**
 * Returns the scripts besides its P2PK that the owner of a plain public key alone can spend, as wallets make them: P2PKH, P2WPKH,
 * P2SH-P2WPKH, P2TR without scripts (BIP 86), and P2PK and P2PKH of the other form of the key, compressed or not. None for other
 * bytes, and only P2PKH and what is spent like it for a key that is no point of the curve.
 */
export function otherKeyScripts(key: Buffer, network: Network): Buffer[] {
  if (!isPlainKey(key)) return []
  const other = otherForm(key)
  if (other === undefined) return hashScripts(key)
  const taproot = Buffer.from([0x51, 32, ...taprootKey(key)])
  const ofOther = [keyScript(other, network), ...hashScripts(other)].filter((each) => each !== undefined)
  return [...hashScripts(key), ...ofOther, taproot]
}

/** Returns P2PKH, and of a compressed key P2WPKH and P2SH-P2WPKH: witness programs accept no other keys. */
function hashScripts(key: Buffer): Buffer[] {
  const scripts = keyHashScripts(hash160(key))
  return key.length === 33 ? scripts : scripts.slice(0, 1)
}

/** Returns the scripts that pay to the hash of a plain public key: P2PKH, P2WPKH and P2SH-P2WPKH. */
export function keyHashScripts(hash: Buffer): Buffer[] {
  const legacy = Buffer.from([OP.DUP, OP.HASH160, 20, ...hash, OP.EQUALVERIFY, OP.CHECKSIG])
  const witness = Buffer.from([0, 20, ...hash])
  return [legacy, witness, Buffer.from([OP.HASH160, 20, ...hash160(witness), OP.EQUAL])]
}

/** Returns the hash of a plain public key that a script pays to (P2PKH, P2WPKH); undefined for scripts of other types. */
export function keyHashOf(script: Buffer, network: Network): Buffer | undefined {
  const type = scriptType(script, network)
  if (type === 'pubkeyhash') return script.subarray(3, 23)
  return type === 'witness_v0_keyhash' ? script.subarray(2) : undefined
}

/** Returns a compressed key uncompressed, and any other compressed; undefined if it is no point of the curve. */
function otherForm(key: Buffer): Buffer | undefined {
  return converted(key, key.length === 33 ? 'uncompressed' : 'compressed')
}

function converted(key: Buffer, format: 'compressed' | 'uncompressed'): Buffer | undefined {
  try {
    return ECDH.convertKey(key, CURVE, undefined, undefined, format) as Buffer
  } catch {
    return undefined
  }
}

/**
 * Returns the x coordinate of the key of a taproot output that commits to no script, by its internal key (BIP 341). `node:crypto`
 * checks, decompresses and multiplies points. Only the addition of two points is missing there, and is made here: two packages
 * (`@noble/curves` with `@noble/hashes`) would be more for so little. No value is secret, so it need not take constant time, and
 * no key is known for which the two points have the same x coordinate.
 */
function taprootKey(key: Buffer): Buffer {
  const x = key.subarray(1, 33)
  const tweak = createECDH(CURVE)
  tweak.setPrivateKey(sha256(Buffer.concat([TAG, TAG, x])))
  const [ownX, ownY] = pointOf(converted(Buffer.from([2, ...x]), 'uncompressed') as Buffer)
  const [tweakX, tweakY] = pointOf(tweak.getPublicKey())
  const slope = (tweakY - ownY) * inverse(tweakX - ownX)
  const sum = (((slope * slope - ownX - tweakX) % FIELD) + FIELD) % FIELD
  return Buffer.from(sum.toString(16).padStart(64, '0'), 'hex')
}

/** Returns the coordinates of an uncompressed key. */
const pointOf = (key: Buffer): readonly [x: bigint, y: bigint] => [
  BigInt(`0x${key.toString('hex', 1, 33)}`),
  BigInt(`0x${key.toString('hex', 33, 65)}`),
]

/** Returns the inverse of a number modulo `FIELD`, by Fermat's little theorem. */
function inverse(value: bigint): bigint {
  let base = ((value % FIELD) + FIELD) % FIELD
  let result = 1n
  for (let exponent = FIELD - 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % FIELD
    base = (base * base) % FIELD
  }
  return result
}
