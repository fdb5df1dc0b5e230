import type { Network } from './networks.js'
import { DILITHIUM_KEY_SIZE, opcodes, readScript, scriptType, witnessProgram } from './script.js'
import type { TxInput } from './transaction.js'

/** Sizes of a Dilithium2 signature without and with its sighash byte. */
const SIGNATURE_SIZES: readonly number[] = [2420, 2421]

/** The first byte of a P2MR control block without its parity bit. */
const P2MR_LEAF_VERSION = 0xc0

/**
 * Returns whether an input contains a Dilithium signature: in the scriptSig, in a v0 witness, or for a P2MR leaf that checks one.
 * @param prevScript scriptPubKey of the output that it spends; undefined for a coinbase, which contains none.
 */
export function hasDilithiumSignature(
  input: TxInput,
  prevScript: Buffer | undefined,
  network: Network,
): boolean {
  if (prevScript === undefined || network.dilithium === undefined) return false
  if (scriptType(prevScript, network) === 'witness_v2_p2mr')
    return leafChecksDilithium(input.witness, network)
  return pushesHaveSignature(input.scriptSig) || witnessHasSignature(input, prevScript, network)
}

function isSignature(data: Buffer | undefined): boolean {
  return data !== undefined && SIGNATURE_SIZES.includes(data.length)
}

function pushesHaveSignature(scriptSig: Buffer): boolean {
  // A signature alone is longer than this. Most inputs need not be parsed.
  if (scriptSig.length < 2420) return false
  for (const instruction of opcodes(scriptSig)) if (isSignature(instruction?.data)) return true
  return false
}

function witnessHasSignature({ witness, scriptSig }: TxInput, prevScript: Buffer, network: Network): boolean {
  if (witness.length < 2) return false
  const last = witness.at(-1)
  const type = witnessTypeOf(prevScript, scriptSig, network)
  if (type === 'witness_v0_keyhash') return isSignature(witness[0]) && last?.length === DILITHIUM_KEY_SIZE
  if (type !== 'witness_v0_scripthash' || last === undefined) return false
  return checksDilithium(last, network) && witness.slice(0, -1).some(isSignature)
}

/** Returns the type of the output, or of the witness program in its P2SH redeem script, which the witness satisfies. */
function witnessTypeOf(prevScript: Buffer, scriptSig: Buffer, network: Network): string {
  const type = scriptType(prevScript, network)
  if (type !== 'scripthash') return type
  const redeem = readScript(scriptSig)?.at(-1)?.data
  return redeem !== undefined && witnessProgram(redeem) !== undefined ? scriptType(redeem, network) : type
}

function leafChecksDilithium(witness: readonly Buffer[], network: Network): boolean {
  const control = witness.at(-1)
  const leaf = witness.at(-2)
  if (control === undefined || leaf === undefined || control.length === 0) return false
  return (control.readUInt8(0) & 0xfe) === P2MR_LEAF_VERSION && checksDilithium(leaf, network)
}

/** Returns whether a script contains one of the four opcodes that check a Dilithium signature. Pushed bytes do not count. */
function checksDilithium(script: Buffer, { dilithium }: Network): boolean {
  const checking = Object.values(dilithium?.opcodes ?? {})
  for (const instruction of opcodes(script)) {
    if (instruction === undefined) return false
    if (checking.includes(instruction.opcode)) return true
  }
  return false
}

/** Returns whether the redeem script of a P2SH spend checks a Dilithium signature. */
export function redeemsDilithium(input: TxInput, prevScript: Buffer, network: Network): boolean {
  if (network.dilithium === undefined || scriptType(prevScript, network) !== 'scripthash') return false
  const redeem = readScript(input.scriptSig)?.at(-1)?.data
  return redeem !== undefined && checksDilithium(redeem, network)
}
