import { BASE58, BECH32, encodeBase58check, encodeWitnessProgram } from '../address.js'
import type { Network } from '../networks.js'
import { OP } from '../script.js'

// Scripts in the order of their addresses. The key of a script is the kind of its address and the first bytes of the hash or witness
// program that the address encodes. The beginning of an address is therefore a range of keys, or a few of them.

/** The number of bytes of the hash or program in a key: 8 characters of a bech32 address after its version, 6 of base58. */
const KEY_BYTES = 5

/** Returns the key of a script that has an address. */
export function addressKey(script: Buffer): bigint {
  const [kind, hash] = encodedBy(script)
  return keyOf(kind, BigInt(`0x${hash.toString('hex', 0, KEY_BYTES).padEnd(2 * KEY_BYTES, '0')}`))
}

/** Returns the opcode that distinguishes the kind of an address, and what the address encodes. */
function encodedBy(script: Buffer): [kind: number, hash: Buffer] {
  const kind = script.readUInt8(0)
  if (kind === OP.DUP) return [script.readUInt8(24), script.subarray(3, 23)]
  return [kind, kind === OP.HASH160 ? script.subarray(2, 22) : script.subarray(2)]
}

const keyOf = (kind: number, start: bigint): bigint => (BigInt(kind) << BigInt(8 * KEY_BYTES)) | start

/** The scripts whose addresses may begin as a text, in one spelling. */
export interface AddressRange {
  /** The lowest and the highest key. */
  readonly first: bigint
  readonly last: bigint
  /** Returns whether the address of a script, whose key is in the range, begins as the text. */
  readonly begins: (script: Buffer) => boolean
}

/**
 * Returns the ranges of scripts whose addresses begin as a text, in any spelling; none if no address of the network does.
 * @param least the minimum number of characters, without the part of a bech32 address up to the separator.
 */
export function addressRanges(text: string, least: number, network: Network): AddressRange[] {
  const { hrp, dilithium } = network
  const lower = text.toLowerCase()
  const witness = [hrp, dilithium?.hrp].flatMap((each) =>
    each !== undefined && lower.startsWith(`${each}1`) && lower.length >= each.length + 1 + least
      ? witnessRanges(lower.slice(each.length + 1), each)
      : [],
  )
  if (text.length < least || text.length > MAX_BASE58) return witness
  const kinds = [
    [network.p2pkh, OP.CHECKSIG],
    [network.p2sh, OP.HASH160],
    ...(dilithium === undefined
      ? []
      : [[dilithium.p2pkh, dilithium.opcodes.checkSig] as const, [dilithium.p2sh, OP.HASH160] as const]),
  ] as const
  const numbers = numbersOf(text)
  return [
    ...witness,
    ...kinds.flatMap(([version, kind]) => {
      const begins = (script: Buffer): boolean =>
        encodeBase58check(version, encodedBy(script)[1]).startsWith(text)
      return keysOf(numbers, version, kind).map(([first, last]) => ({ first, last, begins }))
    }),
  ]
}

const BITS_PER_CHARACTER = 5
/** The sizes of witness programs that are shorter than a key. Version 0 has none. */
const SHORT_PROGRAMS = [2, 3, 4]

/** Returns the ranges of a bech32 address. @param data the beginning after the separator. */
function witnessRanges(data: string, hrp: string): AddressRange[] {
  const [version = -1, ...words] = Array.from(data, (character) => BECH32.indexOf(character))
  if (version < 0 || version > 16 || words.includes(-1)) return []
  const kind = version === 0 ? 0 : 0x50 + version
  const begins = (script: Buffer): boolean =>
    encodeWitnessProgram(hrp, version, encodedBy(script)[1]).startsWith(`${hrp}1${data}`)
  const bits = words.map((word) => word.toString(2).padStart(BITS_PER_CHARACTER, '0')).join('')
  const between = (digits: string, fill: string): bigint =>
    keyOf(kind, BigInt(`0b${digits.padEnd(8 * KEY_BYTES, fill)}`))
  const prefix = bits.slice(0, 8 * KEY_BYTES)
  // The key of a short program ends with zeros, and its address with a checksum.
  const short = SHORT_PROGRAMS.filter((bytes) => version > 0 && bits.length > 8 * bytes).map((bytes) => {
    const only = between(bits.slice(0, 8 * bytes), '0')
    return { first: only, last: only, begins }
  })
  return [{ first: between(prefix, '0'), last: between(prefix, '1'), begins }, ...short]
}

/** The number of bytes of a base58 address: a version, a hash of 20 bytes, and a checksum. */
const BASE58_BYTES = 25
const CHECKSUM_BITS = 32n
const HASH_BITS = 160n
/** The number of characters of the longest base58 address. */
const MAX_BASE58 = 35

type Numbers = readonly (readonly [first: bigint, last: bigint])[]

/** Returns the ranges of the numbers of 25 bytes that begin as a text in base 58, where each leading zero byte is the digit 1. */
function numbersOf(text: string): Numbers {
  const digits = Array.from(text, (character) => BigInt(BASE58.indexOf(character)))
  if (digits.includes(-1n)) return []
  const first = digits.findIndex((digit) => digit !== 0n)
  const zeros = first < 0 ? digits.length : first
  if (zeros >= BASE58_BYTES) return []
  if (first < 0) return [[0n, (1n << BigInt(8 * (BASE58_BYTES - zeros))) - 1n]]
  const value = digits.reduce((sum, digit) => sum * 58n + digit, 0n)
  const lowest = 1n << BigInt(8 * (BASE58_BYTES - zeros - 1))
  const highest = (lowest << 8n) - 1n
  return Array.from({ length: MAX_BASE58 - text.length + 1 }, (_, more): [bigint, bigint] => {
    const scale = 58n ** BigInt(more)
    return overlap([value * scale, (value + 1n) * scale - 1n], [lowest, highest])
  }).filter(([first, last]) => first <= last)
}

const overlap = (
  [first, last]: readonly [bigint, bigint],
  [low, high]: readonly [bigint, bigint],
): [bigint, bigint] => [first > low ? first : low, last < high ? last : high]

/** Returns the ranges of the keys of base58 addresses with a version. */
function keysOf(numbers: Numbers, version: number, kind: number): Numbers {
  const shift = HASH_BITS + CHECKSUM_BITS
  const own = [BigInt(version) << shift, (BigInt(version + 1) << shift) - 1n] as const
  const start = (number: bigint): bigint =>
    keyOf(
      kind,
      BigInt.asUintN(Number(HASH_BITS), number >> CHECKSUM_BITS) >> (HASH_BITS - BigInt(8 * KEY_BYTES)),
    )
  return numbers
    .map((range) => overlap(range, own))
    .filter(([first, last]) => first <= last)
    .map(([first, last]) => [start(first), start(last)])
}
