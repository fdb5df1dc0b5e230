import type { Dilithium, Network } from '../networks.js'

const NAMED_FROM = 0x4c

/** The names of the opcodes from OP_PUSHDATA1 (0x4c) on, as the Rust library `bitcoin` spells them, which Esplora's servers use. */
const NAMES =
  `PUSHDATA1 PUSHDATA2 PUSHDATA4 PUSHNUM_NEG1 RESERVED PUSHNUM_1 PUSHNUM_2 PUSHNUM_3 PUSHNUM_4 PUSHNUM_5 PUSHNUM_6 \
PUSHNUM_7 PUSHNUM_8 PUSHNUM_9 PUSHNUM_10 PUSHNUM_11 PUSHNUM_12 PUSHNUM_13 PUSHNUM_14 PUSHNUM_15 PUSHNUM_16 NOP VER IF NOTIF VERIF \
VERNOTIF ELSE ENDIF VERIFY RETURN TOALTSTACK FROMALTSTACK 2DROP 2DUP 3DUP 2OVER 2ROT 2SWAP IFDUP DEPTH DROP DUP NIP OVER PICK ROLL \
ROT SWAP TUCK CAT SUBSTR LEFT RIGHT SIZE INVERT AND OR XOR EQUAL EQUALVERIFY RESERVED1 RESERVED2 1ADD 1SUB 2MUL 2DIV NEGATE ABS NOT \
0NOTEQUAL ADD SUB MUL DIV MOD LSHIFT RSHIFT BOOLAND BOOLOR NUMEQUAL NUMEQUALVERIFY NUMNOTEQUAL LESSTHAN GREATERTHAN LESSTHANOREQUAL \
GREATERTHANOREQUAL MIN MAX WITHIN RIPEMD160 SHA1 SHA256 HASH160 HASH256 CODESEPARATOR CHECKSIG CHECKSIGVERIFY CHECKMULTISIG \
CHECKMULTISIGVERIFY NOP1 CLTV CSV NOP4 NOP5 NOP6 NOP7 NOP8 NOP9 NOP10 CHECKSIGADD`.split(' ')

const INVALID = 0xff

/** The opcodes that push as many bytes as a number of one, two or four bytes after them says. */
const LENGTH_SIZES: Readonly<Record<number, number>> = { 0x4c: 1, 0x4d: 2, 0x4e: 4 }

/**
 * Returns a script as text in the form of Esplora: `OP_DUP OP_HASH160 OP_PUSHBYTES_20 … OP_EQUALVERIFY OP_CHECKSIG`. Opcodes without a
 * name are `OP_RETURN_` with their number. A script that ends within a push ends in `<push past end>` or `<unexpected end>`.
 */
export function asmOf(script: Buffer, { dilithium }: Pick<Network, 'dilithium'>): string {
  const words: string[] = []
  for (let at = 0; at < script.length;) {
    const opcode = script.readUInt8(at++)
    const lengthSize = LENGTH_SIZES[opcode] ?? 0
    if (at + lengthSize > script.length) return `${words.join(' ')}<unexpected end>`
    const length = opcode < NAMED_FROM ? opcode : lengthSize === 0 ? 0 : script.readUIntLE(at, lengthSize)
    at += lengthSize
    words.push(opcodeName(opcode, dilithium))
    if (length === 0) continue
    if (at + length > script.length) return `${words.join(' ')} <push past end>`
    words.push(script.toString('hex', at, at + length))
    at += length
  }
  return words.join(' ')
}

function opcodeName(opcode: number, dilithium: Dilithium | undefined): string {
  if (opcode === 0) return 'OP_0'
  if (opcode < NAMED_FROM) return `OP_PUSHBYTES_${String(opcode)}`
  const name = NAMES[opcode - NAMED_FROM] ?? dilithiumName(opcode, dilithium)
  if (name !== undefined) return `OP_${name}`
  return opcode === INVALID ? 'OP_INVALIDOPCODE' : `OP_RETURN_${String(opcode)}`
}

/** Returns the name of an opcode of Dilithium signatures, as the node prints it. */
function dilithiumName(opcode: number, dilithium: Dilithium | undefined): string | undefined {
  switch (opcode) {
    case dilithium?.opcodes.checkSig:
      return 'CHECKSIGDILITHIUM'
    case dilithium?.opcodes.checkSigVerify:
      return 'CHECKSIGDILITHIUMVERIFY'
    case dilithium?.opcodes.checkMultisig:
      return 'CHECKMULTISIGDILITHIUM'
    case dilithium?.opcodes.checkMultisigVerify:
      return 'CHECKMULTISIGDILITHIUMVERIFY'
    default:
      return undefined
  }
}
