import { bech32, bech32m, createBase58check } from '@scure/base'
import { sha256 } from './hash.js'
import type { Network } from './networks.js'
import { OP, scriptType, witnessProgram } from './script.js'

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
      return base58(network.p2pkh, script.subarray(3, 23))
    case 'dilithium_pubkeyhash':
      return dilithium && base58(dilithium.p2pkh, script.subarray(3, 23))
    case 'scripthash':
      return base58((dilithium?.claimsP2sh === true ? dilithium : network).p2sh, script.subarray(2, 22))
    case 'witness_v0_keyhash':
    case 'witness_v0_scripthash':
    case 'witness_v1_taproot':
    case 'witness_v2_p2mr':
    case 'witness_unknown':
      return segwit(script, network.hrp)
    default:
      return undefined
  }
}

/** Returns whether a script has an address, without computing it. */
export function hasAddress(script: Buffer, network: Network): boolean {
  const type = scriptType(script, network)
  return type.startsWith('witness_') || type === 'scripthash' || type.endsWith('pubkeyhash')
}

/** Returns the script that an address pays, in any spelling; undefined if it is malformed or belongs to another network. */
export function decodeAddress(address: string, network: Network): DecodedAddress | undefined {
  return decodeSegwit(address, network) ?? decodeBase58(address, network)
}

/** Returns whether every spend of a script must contain a Dilithium signature, or may do so (P2MR). */
export function isDilithiumScript(script: Buffer, network: Network): boolean {
  const type = scriptType(script, network)
  return type.startsWith('dilithium_') || type === 'witness_v2_p2mr'
}

function base58(version: number, hash: Buffer): string {
  return base58check.encode(Uint8Array.from([version, ...hash]))
}

function segwit(script: Buffer, hrp: string): string | undefined {
  const parts = witnessProgram(script)
  if (parts === undefined) return undefined
  const coder = parts.version === 0 ? bech32 : bech32m
  return coder.encode(hrp, [parts.version, ...coder.toWords(Uint8Array.from(parts.program))], BECH32_LIMIT)
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
