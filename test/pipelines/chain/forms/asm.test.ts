import { describe, expect, it } from 'vitest'
import { asmOf } from '../../../../pipelines/chain/forms/asm.js'
import { BITCOIN_REGTEST, REGTEST } from '../../../../pipelines/chain/networks.js'

// The texts are what `bytes_to_asm_fmt` of the Rust library `bitcoin` 0.32 writes; recorded answers have the usual ones.
const SCRIPTS: readonly (readonly [hex: string, asm: string])[] = [
  ['', ''],
  ['00', 'OP_0'],
  ['4f505160', 'OP_PUSHNUM_NEG1 OP_RESERVED OP_PUSHNUM_1 OP_PUSHNUM_16'],
  ['6a0201ff', 'OP_RETURN OP_PUSHBYTES_2 01ff'],
  ['4c00', 'OP_PUSHDATA1'],
  ['4c0101', 'OP_PUSHDATA1 01'],
  ['4d010001', 'OP_PUSHDATA2 01'],
  ['4e0100000001', 'OP_PUSHDATA4 01'],
  ['4c', '<unexpected end>'],
  ['514d01', 'OP_PUSHNUM_1<unexpected end>'],
  ['0201', 'OP_PUSHBYTES_2 <push past end>'],
  ['514e01000000', 'OP_PUSHNUM_1 OP_PUSHDATA4 <push past end>'],
  ['b0b1b2b9ba', 'OP_NOP1 OP_CLTV OP_CSV OP_NOP10 OP_CHECKSIGADD'],
  ['bbfeff', 'OP_RETURN_187 OP_RETURN_254 OP_INVALIDOPCODE'],
  ['616263646566676869', 'OP_NOP OP_VER OP_IF OP_NOTIF OP_VERIF OP_VERNOTIF OP_ELSE OP_ENDIF OP_VERIFY'],
  [
    'a6a7a8a9aaabacadaeaf',
    'OP_RIPEMD160 OP_SHA1 OP_SHA256 OP_HASH160 OP_HASH256 OP_CODESEPARATOR OP_CHECKSIG OP_CHECKSIGVERIFY OP_CHECKMULTISIG OP_CHECKMULTISIGVERIFY',
  ],
]

describe('asmOf', () => {
  it.each(SCRIPTS)('writes %s', (hex, asm) => {
    expect(asmOf(Buffer.from(hex, 'hex'), BITCOIN_REGTEST)).toBe(asm)
  })

  it('names the opcodes of Dilithium signatures on their chain', () => {
    expect(asmOf(Buffer.from('bbbcbdbe', 'hex'), REGTEST)).toBe(
      'OP_CHECKSIGDILITHIUM OP_CHECKSIGDILITHIUMVERIFY OP_CHECKMULTISIGDILITHIUM OP_CHECKMULTISIGDILITHIUMVERIFY',
    )
  })

  it('names all opcodes, each once', () => {
    const names = Array.from(
      { length: 256 },
      (_, opcode) =>
        asmOf(Buffer.from([opcode, ...new Uint8Array(opcode < 0x4c ? opcode : 8)]), BITCOIN_REGTEST).split(
          ' ',
        )[0],
    )
    expect(new Set(names).size).toBe(256)
    expect(names.filter((name) => name?.startsWith('OP_') !== true)).toEqual([])
  })
})
