import { bech32, bech32m, createBase58check } from '@scure/base'
import { sha256, sha256d } from './hash.js'
import type { Network } from './networks.js'
import { OP, type ScriptType, scriptType, witnessProgram } from './script.js'

const base58check = createBase58check((bytes: Uint8Array) => Uint8Array.from(sha256(bytes)))

/** The maximum length of a bech32 string. */
const BECH32_LIMIT = 90

export interface DecodedAddress {
  readonly script: Buffer
  /** True if it has a Dilithium HRP. Base58 versions do not count: the node prints every P2SH address with the Dilithium one. */
  readonly isDilithiumSpelling: boolean
}

/** Returns the address of a script as the node prints it, undefined for scripts without an address. */
export function addressOf(script: Buffer, network: Network): string | undefined {
  const { dilithium } = network
  switch (scriptType(script, network)) {
    case 'pubkeyhash':
      return encodeBase58check(network.p2pkh, script.subarray(3, 23))
    case 'dilithium_pubkeyhash':
      return dilithium && encodeBase58check(dilithium.p2pkh, script.subarray(3, 23))
    case 'scripthash':
      return encodeBase58check(
        (dilithium?.claimsP2sh === true ? dilithium : network).p2sh,
        script.subarray(2, 22),
      )
    case 'witness_v0_keyhash':
    case 'witness_v0_scripthash':
    case 'witness_v1_taproot':
    case 'witness_v2_p2mr':
    case 'witness_unknown':
    case 'anchor':
      return segwit(script, network.hrp)
    default:
      return undefined
  }
}

/** The beginning of the addresses of a chain: the human-readable part, or the base58 version, which is the first byte. */
export type AddressKind = { readonly hrp: string } | { readonly version: number }

/** Returns the kind of an address of any chain; undefined for a text whose checksum is wrong, or that is no address. */
export function addressKind(text: string): AddressKind | undefined {
  for (const coder of [bech32, bech32m]) {
    const decoded = coder.decodeUnsafe(text, BECH32_LIMIT)
    if (decoded !== undefined) return { hrp: decoded.prefix }
  }
  try {
    const [version, ...hash] = base58check.decode(text)
    return version === undefined || hash.length !== 20 ? undefined : { version }
  } catch {
    return undefined
  }
}

/** Returns whether a script has an address, without computing it. */
export function hasAddress(script: Buffer, network: Network): boolean {
  return isTypeWithAddress(scriptType(script, network))
}

/** Returns whether scripts of a type have an address. */
export function isTypeWithAddress(type: ScriptType): boolean {
  return (
    type.startsWith('witness_') || type === 'scripthash' || type === 'anchor' || type.endsWith('pubkeyhash')
  )
}

/** Returns the script that an address pays, in any spelling; undefined if it is malformed or belongs to another network. */
export function decodeAddress(address: string, network: Network): DecodedAddress | undefined {
  return decodeSegwit(address, network) ?? decodeBase58(address, network)
}

/** Returns whether every spend of a script must contain a Dilithium signature, or may do so (P2MR). */
export function isDilithiumScript(script: Buffer, network: Network): boolean {
  return isDilithiumType(scriptType(script, network))
}

/** Returns whether every spend of a script of a type must contain a Dilithium signature, or may do so (P2MR). */
export function isDilithiumType(type: ScriptType): boolean {
  return type.startsWith('dilithium_') || type === 'witness_v2_p2mr'
}

function segwit(script: Buffer, hrp: string): string | undefined {
  const parts = witnessProgram(script)
  if (parts === undefined) return undefined
  return encodeWitnessProgram(hrp, parts.version, parts.program)
}

function decodeSegwit(address: string, { hrp, dilithium }: Network): DecodedAddress | undefined {
  for (const coder of [bech32, bech32m]) {
    const decoded = coder.decodeUnsafe(address, BECH32_LIMIT)
    if (decoded === undefined || (decoded.prefix !== hrp && decoded.prefix !== dilithium?.hrp)) continue
    const [version, ...words] = decoded.words
    const program = coder.fromWordsUnsafe(words)
    if (version === undefined || program === undefined || !isProgram(version, program.length))
      return undefined
    if ((version === 0) !== (coder === bech32)) return undefined
    const script = Buffer.from([version === 0 ? 0 : 0x50 + version, program.length, ...program])
    return { script, isDilithiumSpelling: decoded.prefix === dilithium?.hrp }
  }
  return undefined
}

function isProgram(version: number, length: number): boolean {
  return version === 0 ? length === 20 || length === 32 : version <= 16 && length >= 2 && length <= 40
}

function decodeBase58(address: string, network: Network): DecodedAddress | undefined {
  let decoded: Uint8Array
  try {
    decoded = base58check.decode(address)
  } catch {
    return undefined
  }
  const [version] = decoded
  const hash = decoded.subarray(1)
  if (hash.length !== 20) return undefined
  const key = (last: number): Buffer => Buffer.from([OP.DUP, OP.HASH160, 20, ...hash, OP.EQUALVERIFY, last])
  const scriptHash = (): Buffer => Buffer.from([OP.HASH160, 20, ...hash, OP.EQUAL])
  if (version === network.p2pkh) return { script: key(OP.CHECKSIG), isDilithiumSpelling: false }
  if (version === network.p2sh) return { script: scriptHash(), isDilithiumSpelling: false }
  const { dilithium } = network
  if (dilithium === undefined) return undefined
  if (version === dilithium.p2pkh)
    return { script: key(dilithium.opcodes.checkSig), isDilithiumSpelling: false }
  if (version === dilithium.p2sh) return { script: scriptHash(), isDilithiumSpelling: false }
  return undefined
}

// Addresses are encoded here, because an answer contains several for each transaction, and the encoders of @scure/base take several
// times as long.

export const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const CHECKSUM_BYTES = 4
/** Base58 digits per byte: log(256) / log(58), rounded up. */
const DIGITS_PER_BYTE = 1.37

/** Returns a version byte and a hash in base58 with a checksum. */
export function encodeBase58check(version: number, hash: Uint8Array): string {
  const length = 1 + hash.length
  const bytes = Buffer.allocUnsafe(length + CHECKSUM_BYTES)
  bytes.writeUInt8(version)
  bytes.set(hash, 1)
  bytes.set(sha256d(bytes.subarray(0, length)).subarray(0, CHECKSUM_BYTES), length)
  return encodeBase58(bytes)
}

function encodeBase58(bytes: Buffer): string {
  /** The number in base 58, lowest digit first. */
  const digits = Buffer.alloc(Math.ceil(bytes.length * DIGITS_PER_BYTE) + 1)
  let length = 0
  let zeros = 0
  for (const byte of bytes) {
    if (length === 0 && byte === 0) {
      zeros++
      continue
    }
    let carry = byte
    let at = 0
    for (; at < length || carry > 0; at++) {
      carry += (digits[at] as number) * 256
      digits[at] = carry % 58
      carry = Math.floor(carry / 58)
    }
    length = at
  }
  // Each leading zero byte is a digit of its own.
  let text = '1'.repeat(zeros)
  for (let at = length - 1; at >= 0; at--) text += BASE58.charAt(digits[at] as number)
  return text
}

export const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATORS = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]
/** The bits that the checksum changes for each value of the five bits that leave it. */
const FEEDBACK = Int32Array.from({ length: 32 }, (_, top) =>
  GENERATORS.reduce((sum, generator, bit) => ((top >> bit) & 1 ? sum ^ generator : sum), 0),
)
/** The final values of the checksum in BIP 173 and BIP 350. */
const BECH32_FINAL = 1
const BECH32M_FINAL = 0x2bc830a3

const step = (checksum: number, value: number): number =>
  ((checksum & 0x1ff_ffff) << 5) ^ value ^ (FEEDBACK[checksum >>> 25] as number)

/** Returns a witness program as an address: in bech32 for version 0, in bech32m for higher versions. */
export function encodeWitnessProgram(hrp: string, version: number, program: Uint8Array): string {
  let checksum = 1
  for (let at = 0; at < hrp.length; at++) checksum = step(checksum, hrp.charCodeAt(at) >> 5)
  checksum = step(checksum, 0)
  for (let at = 0; at < hrp.length; at++) checksum = step(checksum, hrp.charCodeAt(at) & 31)
  let text = `${hrp}1`
  const add = (word: number): void => {
    checksum = step(checksum, word)
    text += BECH32.charAt(word)
  }
  add(version)
  let bits = 0
  let rest = 0
  for (const byte of program) {
    rest = ((rest << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      add((rest >> bits) & 31)
    }
  }
  if (bits > 0) add((rest << (5 - bits)) & 31)
  for (let word = 0; word < 6; word++) checksum = step(checksum, 0)
  checksum ^= version === 0 ? BECH32_FINAL : BECH32M_FINAL
  for (let word = 5; word >= 0; word--) text += BECH32.charAt((checksum >> (5 * word)) & 31)
  return text
}
