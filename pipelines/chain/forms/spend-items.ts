import type { Network } from '../networks.js'
import {
  isDilithiumKey,
  isPlainKey,
  readScript,
  scriptType,
  type ScriptType,
  witnessProgram,
} from '../script.js'
import { withoutAnnex } from './inner-scripts.js'

/** The kinds of the items of a witness, and of the pushes of the script of an input. */
export type ItemKind =
  | 'ecdsa_signature'
  | 'schnorr_signature'
  | 'dilithium_signature'
  | 'public_key'
  | 'dilithium_key'
  | 'redeem_script'
  | 'witness_script'
  | 'leaf_script'
  | 'control_block'
  | 'annex'
  | 'empty'
  | 'data'

export interface SpendItem {
  readonly kind: ItemKind
  readonly data: Buffer
  /** The parts of a transaction that a signature covers, as the node names them: `ALL`, `SINGLE|ANYONECANPAY`; undefined for other items. */
  readonly sighash?: string
  /** The number of levels between the leaf and the root of the tree; undefined for all but control blocks. */
  readonly depth?: number
}

/** The items that satisfy the script of an output. */
export interface SpendItems {
  /** None if the script of the input contains more than pushes. */
  readonly scriptSig: readonly SpendItem[]
  readonly witness: readonly SpendItem[]
}

type Described = Omit<SpendItem, 'data'>

const SCHNORR_SIZE = 64
const DILITHIUM_SIGNATURE_SIZE = 2420
const HASH_SIZE = 32
/** The bytes of a control block before the hashes: leaf version, and for P2TR the internal key. */
const CONTROL_SIZE = { witness_v1_taproot: 33, witness_v2_p2mr: 1 } as const
/** The opcodes that push something, apart from OP_RESERVED. */
const LAST_PUSH = 0x60

/**
 * Returns what the items of an input are, by the script that they satisfy. Arguments of a script are recognised by their form: what looks
 * like a signature or a public key may be other data.
 * @param spent the script of the output that it spends.
 */
export function spendItems(
  { scriptSig, witness }: { readonly scriptSig: Buffer; readonly witness: readonly Buffer[] },
  spent: Buffer,
  network: Network,
): SpendItems {
  const type = scriptType(spent, network)
  const instructions = readScript(scriptSig) ?? []
  const pushes = instructions.every(({ opcode }) => opcode <= LAST_PUSH)
    ? instructions.map(({ opcode, data }) => data ?? numberOf(opcode))
    : []
  const redeem = type === 'scripthash' ? pushes.at(-1) : undefined
  const ofWitness = redeem !== undefined && witnessProgram(redeem) ? scriptType(redeem, network) : type
  return {
    scriptSig: pushes.map((data, index) => {
      const isRedeem = redeem !== undefined && index === pushes.length - 1
      return { data, ...(isRedeem ? { kind: 'redeem_script' } : argument(data, network)) }
    }),
    witness: witnessItems(witness, ofWitness, network),
  }
}

/** Returns the number that OP_1NEGATE to OP_16 push. */
const numberOf = (opcode: number): Buffer => Buffer.from([opcode === 0x4f ? 0x81 : opcode - 0x50])

function witnessItems(witness: readonly Buffer[], type: ScriptType, network: Network): SpendItem[] {
  const described = (data: Buffer, own: Described = argument(data, network)): SpendItem => ({ data, ...own })
  switch (type) {
    case 'witness_v0_scripthash':
      return witness.map((data, index) =>
        described(data, index === witness.length - 1 ? { kind: 'witness_script' } : undefined),
      )
    case 'witness_v1_taproot':
    case 'witness_v2_p2mr': {
      const isTaproot = type === 'witness_v1_taproot'
      const items = isTaproot ? withoutAnnex(witness) : witness
      const [control, leaf] = items.length > 1 ? [items.length - 1, items.length - 2] : []
      return witness.map((data, index) => {
        if (index >= items.length) return { data, kind: 'annex' }
        if (index === leaf) return { data, kind: 'leaf_script' }
        if (index !== control) return described(data, isTaproot ? schnorr(data) : undefined)
        const depth = (data.length - CONTROL_SIZE[type]) / HASH_SIZE
        return { data, kind: 'control_block', ...(Number.isInteger(depth) && depth >= 0 ? { depth } : {}) }
      })
    }
    default:
      return witness.map((data) => described(data))
  }
}

/** Returns what an argument of a script of BIP 342 is: a signature without a last byte covers all (`DEFAULT`). */
function schnorr(data: Buffer): Described {
  if (data.length === 0) return { kind: 'empty' }
  const sighash =
    data.length === SCHNORR_SIZE
      ? 'DEFAULT'
      : data.length === SCHNORR_SIZE + 1
        ? sighashName(data[SCHNORR_SIZE])
        : undefined
  return sighash === undefined ? { kind: 'data' } : { kind: 'schnorr_signature', sighash }
}

/** Returns what an argument of a script is by its form. */
function argument(data: Buffer, { dilithium }: Network): Described {
  if (data.length === 0) return { kind: 'empty' }
  if (isPlainKey(data)) return { kind: 'public_key' }
  if (dilithium !== undefined) {
    if (isDilithiumKey(data)) return { kind: 'dilithium_key' }
    if (data.length === DILITHIUM_SIGNATURE_SIZE) return { kind: 'dilithium_signature' }
    if (data.length === DILITHIUM_SIGNATURE_SIZE + 1) return dilithiumSignature(data)
  }
  const sighash = isStrictDer(data) ? sighashName(data.at(-1)) : undefined
  return sighash === undefined ? { kind: 'data' } : { kind: 'ecdsa_signature', sighash }
}

/** Returns what a signature with a sighash is, which may be 0, as in BIP 341. */
function dilithiumSignature(data: Buffer): Described {
  const last = data.at(-1)
  const sighash = last === 0 ? 'DEFAULT' : sighashName(last)
  return { kind: 'dilithium_signature', ...(sighash === undefined ? {} : { sighash }) }
}

const SIGHASHES = [undefined, 'ALL', 'NONE', 'SINGLE'] as const
const ANYONE_CAN_PAY = 0x80

function sighashName(byte = 0): string | undefined {
  const name = SIGHASHES[byte & ~ANYONE_CAN_PAY]
  return name !== undefined && (byte & ANYONE_CAN_PAY) !== 0 ? `${name}|ANYONECANPAY` : name
}

/** Returns whether bytes are two positive integers in strict DER (BIP 66), and one byte after them. */
function isStrictDer(data: Buffer): boolean {
  if (data.length < 9 || data.length > 73 || data[0] !== 0x30 || data[1] !== data.length - 3) return false
  const sizeR = data[3] ?? 0
  const sizeS = data[5 + sizeR] ?? 0
  return sizeR + sizeS + 7 === data.length && [2, 4 + sizeR].every((at) => isInteger(data, at))
}

/** Returns whether a positive integer of DER, as short as possible, begins at an index. */
function isInteger(data: Buffer, at: number): boolean {
  const [tag, size = 0, first = 0, second = 0] = data.subarray(at)
  return tag === 2 && size > 0 && first < 0x80 && (size === 1 || first !== 0 || second >= 0x80)
}
