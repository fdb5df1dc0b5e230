import { reverseHex, sha256 } from './hash.js'
import type { Dilithium, Network } from './networks.js'

/** Types as the node names them, except for P2SH, which the node always names `dilithium_scripthash`, whatever the script is. */
export type ScriptType =
  | 'pubkey'
  | 'pubkeyhash'
  | 'scripthash'
  | 'multisig'
  | 'nulldata'
  | 'witness_v0_keyhash'
  | 'witness_v0_scripthash'
  | 'witness_v1_taproot'
  | 'witness_v2_p2mr'
  | 'anchor'
  | 'dilithium_pubkey'
  | 'dilithium_pubkeyhash'
  | 'dilithium_multisig'
  | 'nonstandard'
  | 'witness_unknown'

export const OP = {
  RETURN: 0x6a,
  DUP: 0x76,
  EQUAL: 0x87,
  EQUALVERIFY: 0x88,
  HASH160: 0xa9,
  CHECKSIG: 0xac,
  CHECKMULTISIG: 0xae,
} as const

/** Size of a Dilithium2 public key. */
export const DILITHIUM_KEY_SIZE = 1312

/** The maximum size of a script that can be spent, by the node's consensus rules. */
const MAX_SCRIPT_SIZE = 10_000

/** The script of an output that anyone can spend, to raise the fee of its transaction (pay-to-anchor). */
const ANCHOR = Buffer.from('51024e73', 'hex')

/** The first bytes of a witness commitment: OP_RETURN, a push of 36 bytes, and its four-byte tag. */
const COMMITMENT_HEADER = Buffer.from('6a24aa21a9ed', 'hex')

export interface Instruction {
  readonly opcode: number
  /** The pushed bytes, undefined for other instructions. */
  readonly data?: Buffer
}

/** Yields the instructions of a script; `undefined` is the last one if a push exceeds the end of the script. */
export function* opcodes(script: Buffer): Generator<Instruction | undefined> {
  for (let at = 0; at < script.length;) {
    const opcode = script.readUInt8(at++)
    const prefix = opcode === 0x4c ? 1 : opcode === 0x4d ? 2 : opcode === 0x4e ? 4 : 0
    if (opcode > 0x4e) {
      yield { opcode }
      continue
    }
    if (at + prefix > script.length) return void (yield undefined)
    const length = prefix === 0 ? opcode : script.readUIntLE(at, prefix)
    at += prefix
    if (at + length > script.length) return void (yield undefined)
    yield { opcode, data: script.subarray(at, at + length) }
    at += length
  }
}

/** Returns all instructions of a script, undefined if a push exceeds its end. */
export function readScript(script: Buffer): Instruction[] | undefined {
  const list: Instruction[] = []
  for (const instruction of opcodes(script)) {
    if (instruction === undefined) return undefined
    list.push(instruction)
  }
  return list
}

/** Returns version and bytes of a witness program, undefined for other scripts. */
export function witnessProgram(
  script: Buffer,
): { readonly version: number; readonly program: Buffer } | undefined {
  if (script.length < 4 || script.length > 42) return undefined
  const first = script.readUInt8(0)
  if (first !== 0 && (first < 0x51 || first > 0x60)) return undefined
  if (script.readUInt8(1) !== script.length - 2) return undefined
  return { version: first === 0 ? 0 : first - 0x50, program: script.subarray(2) }
}

export function scriptType(script: Buffer, { dilithium, hasAnchors }: Network): ScriptType {
  if (isScriptHash(script)) return 'scripthash'
  if (hasAnchors && script.equals(ANCHOR)) return 'anchor'
  const program = witnessProgram(script)
  if (program !== undefined) return witnessType(program.version, program.program.length, dilithium)
  const keyHash = keyHashType(script, dilithium)
  if (keyHash !== undefined) return keyHash
  const instructions = readScript(script)
  if (script.length > 0 && script.readUInt8(0) === OP.RETURN) {
    return instructions?.slice(1).every(({ opcode }) => opcode <= 0x60) === true ? 'nulldata' : 'nonstandard'
  }
  return instructions === undefined ? 'nonstandard' : keyType(instructions, dilithium)
}

function isScriptHash(script: Buffer): boolean {
  return script.length === 23 && script[0] === OP.HASH160 && script[1] === 20 && script[22] === OP.EQUAL
}

function witnessType(version: number, length: number, dilithium: Dilithium | undefined): ScriptType {
  if (version === 0) {
    return length === 20 ? 'witness_v0_keyhash' : length === 32 ? 'witness_v0_scripthash' : 'nonstandard'
  }
  if (version === 1 && length === 32) return 'witness_v1_taproot'
  if (version === 2 && length === 32 && dilithium !== undefined) return 'witness_v2_p2mr'
  return 'witness_unknown'
}

function keyHashType(script: Buffer, dilithium: Dilithium | undefined): ScriptType | undefined {
  const shaped =
    script.length === 25 &&
    script[0] === OP.DUP &&
    script[1] === OP.HASH160 &&
    script[2] === 20 &&
    script[23] === OP.EQUALVERIFY
  if (!shaped) return undefined
  if (script[24] === OP.CHECKSIG) return 'pubkeyhash'
  return script[24] === dilithium?.opcodes.checkSig ? 'dilithium_pubkeyhash' : undefined
}

/** Returns whether bytes have the form of a public key of secp256k1. */
export function isPlainKey(data: Buffer | undefined): boolean {
  if (data === undefined) return false
  if (data.length === 33) return data[0] === 2 || data[0] === 3
  return data.length === 65 && (data[0] === 4 || data[0] === 6 || data[0] === 7)
}

/** Returns whether bytes have the size of a Dilithium2 public key. */
export function isDilithiumKey(data: Buffer | undefined): boolean {
  return data?.length === DILITHIUM_KEY_SIZE
}

function keyType(instructions: readonly Instruction[], dilithium: Dilithium | undefined): ScriptType {
  const last = instructions.at(-1)?.opcode
  const [first] = instructions
  if (instructions.length === 2) {
    if (last === OP.CHECKSIG && isPlainKey(first?.data)) return 'pubkey'
    if (last === dilithium?.opcodes.checkSig && isDilithiumKey(first?.data)) return 'dilithium_pubkey'
  }
  if (multisigIn(instructions, dilithium) === undefined) return 'nonstandard'
  return last === OP.CHECKMULTISIG ? 'multisig' : 'dilithium_multisig'
}

/** The signatures that a multisig script requires, and its public keys. */
export interface Multisig {
  readonly required: number
  readonly keys: readonly Buffer[]
}

/** Returns what a multisig script requires; undefined for scripts of other types. */
export function multisigOf(script: Buffer, { dilithium }: Network): Multisig | undefined {
  const instructions = readScript(script)
  return instructions && multisigIn(instructions, dilithium)
}

function multisigIn(
  instructions: readonly Instruction[],
  dilithium: Dilithium | undefined,
): Multisig | undefined {
  const last = instructions.at(-1)?.opcode
  const isKey =
    last === OP.CHECKMULTISIG
      ? isPlainKey
      : last !== undefined && last === dilithium?.opcodes.checkMultisig
        ? isDilithiumKey
        : undefined
  const required = smallNumber(instructions[0])
  const total = smallNumber(instructions.at(-2))
  if (isKey === undefined || required === undefined || total === undefined) return undefined
  const keys = instructions.slice(1, -2).flatMap(({ data }) => data ?? [])
  const isComplete = keys.length === total && instructions.length === total + 3 && keys.every(isKey)
  return isComplete && required >= 1 && required <= total ? { required, keys } : undefined
}

/** Returns the public key that a script pays to (P2PK), plain or Dilithium; undefined for scripts of other types. */
export function keyOf(script: Buffer, network: Network): Buffer | undefined {
  return scriptType(script, network).endsWith('pubkey') ? readScript(script)?.[0]?.data : undefined
}

/** Returns a number from 1 to 20 as multisig scripts encode it, OP_1 to OP_16 or a pushed byte; undefined for anything else. */
function smallNumber(instruction: Instruction | undefined): number | undefined {
  if (instruction === undefined) return undefined
  const { opcode, data } = instruction
  if (opcode >= 0x51 && opcode <= 0x60) return opcode - 0x50
  return data?.length === 1 && data.readUInt8(0) > 16 && data.readUInt8(0) <= 20
    ? data.readUInt8(0)
    : undefined
}

/** Returns whether an output with this script can never be spent, and is therefore not in the UTXO set. */
export function isUnspendable(script: Buffer): boolean {
  return (script.length > 0 && script[0] === OP.RETURN) || script.length > MAX_SCRIPT_SIZE
}

/** The data of an OP_RETURN output. */
export interface OpReturnPayload {
  /** The bytes that the script pushes, or the script after OP_RETURN if it contains more than complete pushes of data. */
  readonly data: Buffer
  /** True for the script after OP_RETURN. */
  readonly isScript: boolean
}

/** Returns the data of an OP_RETURN output, undefined for other scripts. */
export function opReturnPayload(script: Buffer): OpReturnPayload | undefined {
  if (script[0] !== OP.RETURN) return undefined
  const pushes = readScript(script.subarray(1))?.map(({ data }) => data)
  if (pushes === undefined || pushes.includes(undefined)) return { data: script.subarray(1), isScript: true }
  return { data: Buffer.concat(pushes as Buffer[]), isScript: false }
}

/** Returns the concatenated data that an OP_RETURN output pushes. Opcodes that push a number (OP_1 to OP_16) push no data. */
export function pushedData({ data, isScript }: OpReturnPayload): Buffer {
  return isScript ? Buffer.concat([...opcodes(data)].map((each) => each?.data ?? Buffer.alloc(0))) : data
}

/** Returns whether an output of a coinbase commits to the witnesses of its block (BIP 141). */
export function isWitnessCommitment(script: Buffer): boolean {
  return script.length >= 38 && script.subarray(0, 6).equals(COMMITMENT_HEADER)
}

/** Returns the key of a script in the tables: the first 20 bytes of its SHA-256 as hex. */
export function scriptHash(script: Uint8Array): string {
  return sha256(script).toString('hex', 0, 20)
}

/**
 * Returns the key of a script in the tables by its script hash of the Electrum protocol: the SHA-256 of the script, its bytes in
 * reverse order, as hex. Undefined if it is malformed.
 */
export function scriptKeyOf(electrumHash: string): string | undefined {
  return /^[0-9a-f]{64}$/.test(electrumHash)
    ? Buffer.from(electrumHash, 'hex').reverse().toString('hex', 0, 20)
    : undefined
}

/** Returns the script hash of a script in the form of the Electrum protocol, see `scriptKeyOf`. */
export function electrumHashOf(script: Uint8Array): string {
  return reverseHex(sha256(script))
}
