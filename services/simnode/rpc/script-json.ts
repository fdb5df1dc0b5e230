import { LRUCache } from 'lru-cache'
import { addressOf } from '../../../pipelines/chain/address.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { type Dialect, dialectOf } from '../dialect.js'
import { opcodes, readScript, scriptType } from '../../../pipelines/chain/script.js'

/** The names of the opcodes from 0x61 on. All others are OP_UNKNOWN, as in the node. */
const FROM_NOP =
  'NOP VER IF NOTIF VERIF VERNOTIF ELSE ENDIF VERIFY RETURN TOALTSTACK FROMALTSTACK 2DROP 2DUP 3DUP 2OVER 2ROT 2SWAP IFDUP DEPTH ' +
  'DROP DUP NIP OVER PICK ROLL ROT SWAP TUCK CAT SUBSTR LEFT RIGHT SIZE INVERT AND OR XOR EQUAL EQUALVERIFY RESERVED1 RESERVED2 ' +
  '1ADD 1SUB 2MUL 2DIV NEGATE ABS NOT 0NOTEQUAL ADD SUB MUL DIV MOD LSHIFT RSHIFT BOOLAND BOOLOR NUMEQUAL NUMEQUALVERIFY ' +
  'NUMNOTEQUAL LESSTHAN GREATERTHAN LESSTHANOREQUAL GREATERTHANOREQUAL MIN MAX WITHIN RIPEMD160 SHA1 SHA256 HASH160 HASH256 ' +
  'CODESEPARATOR CHECKSIG CHECKSIGVERIFY CHECKMULTISIG CHECKMULTISIGVERIFY NOP1 CHECKLOCKTIMEVERIFY CHECKSEQUENCEVERIFY NOP4 ' +
  'NOP5 NOP6 NOP7 NOP8 NOP9 NOP10 CHECKSIGADD'
const NAMES: Readonly<Record<number, string>> = {
  0x00: '0',
  0x4f: '-1',
  0x50: 'OP_RESERVED',
  ...Object.fromEntries(FROM_NOP.split(' ').map((name, at) => [0x61 + at, `OP_${name}`])),
  0xff: 'OP_INVALIDOPCODE',
}

/** The maximum number of scripts whose JSON is cached. */
const CACHED_SCRIPTS = 60_000

/** JSON of scripts on one network, with a cache: encoding an address costs more than the rest of an output. */
export class ScriptJson {
  /** JSON by the bytes of the script as latin1. */
  readonly #cache = new LRUCache<string, string>({
    max: CACHED_SCRIPTS,
    memoMethod: (script) => this.#scriptPubKey(Buffer.from(script, 'latin1')),
  })

  readonly #names: Readonly<Record<number, string>>

  readonly dialect: Dialect

  constructor(readonly network: Network) {
    this.dialect = dialectOf(network)
    const own = Object.entries(network.dilithium?.opcodes ?? {})
    const nameOf = (name: string): string => `OP_${name.toUpperCase().replace(/VERIFY$|$/, 'DILITHIUM$&')}`
    const names = own.map(([name, opcode]) => [opcode, nameOf(name)] as const)
    this.#names = { ...NAMES, ...Object.fromEntries(names) }
  }

  /** Returns the value of a `scriptPubKey` key. */
  scriptPubKey(script: Buffer): string {
    return this.#cache.memo(script.toString('latin1'))
  }

  /** Returns the descriptor that the node infers for a script. */
  descriptor(script: Buffer): string {
    const type = scriptType(script, this.network)
    const hex = script.toString('hex')
    const address = addressOf(script, this.network)
    if (type === 'pubkey') return withChecksum(`pk(${hex.slice(2, -2)})`)
    if (type === 'witness_v1_taproot') return withChecksum(`rawtr(${hex.slice(4)})`)
    if (type === 'multisig') {
      const keys = (readScript(script) ?? []).flatMap(({ data }) =>
        data === undefined ? [] : [data.toString('hex')],
      )
      return withChecksum(`multi(${String((script[0] ?? 0x50) - 0x50)},${keys.join(',')})`)
    }
    return withChecksum(address === undefined ? `raw(${hex})` : `addr(${address})`)
  }

  #scriptPubKey(script: Buffer): string {
    const type = scriptType(script, this.network)
    const address = addressOf(script, this.network)
    const hex = script.toString('hex')
    const printed = address === undefined ? '' : `,"address":"${address}"`
    const isClaimed = type === 'scripthash' && this.network.dilithium?.claimsP2sh === true
    const name = isClaimed ? 'dilithium_scripthash' : type
    return `{"asm":"${this.asm(script)}","desc":"${this.descriptor(script)}","hex":"${hex}"${printed},"type":"${name}"}`
  }

  /** Returns the assembly of a script. In a scriptSig, pushes that look like ECDSA signatures are shown with their sighash type. */
  asm(script: Buffer, inScriptSig = false): string {
    const words: string[] = []
    for (const instruction of opcodes(script)) {
      if (instruction === undefined) words.push('[error]')
      else if (instruction.data === undefined || instruction.data.length === 0)
        words.push(this.#opcodeName(instruction.opcode))
      else words.push(pushed(instruction.data, inScriptSig))
    }
    return words.join(' ')
  }

  #opcodeName(opcode: number): string {
    if (opcode > 0x50 && opcode <= 0x60) return String(opcode - 0x50)
    if (opcode > 0 && opcode <= 0x4e) return '0'
    return this.#names[opcode] ?? 'OP_UNKNOWN'
  }
}

function pushed(data: Buffer, inScriptSig: boolean): string {
  if (data.length <= 4) return String(scriptNumber(data))
  return inScriptSig && isEcSignature(data)
    ? `${data.toString('hex', 0, data.length - 1)}[ALL]`
    : data.toString('hex')
}

function isEcSignature(data: Buffer): boolean {
  return data.length >= 9 && data.length <= 73 && data[0] === 0x30 && data[1] === data.length - 3
}

/** Returns the number that a push encodes: little endian, with the sign in the top bit. */
function scriptNumber(data: Buffer): number {
  let value = 0
  for (const [at, byte] of data.entries()) value += (at === data.length - 1 ? byte & 0x7f : byte) * 256 ** at
  return ((data[data.length - 1] ?? 0) & 0x80) === 0 ? value : -value
}

const INPUT_CHARSET =
  '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ '
/** The places of characters in it, by their codes. */
const PLACES = Int32Array.from({ length: 128 }, (_, code) => INPUT_CHARSET.indexOf(String.fromCharCode(code)))
const CHECKSUM_CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
/**
 * Additions to the checksum of 40 bits for each value of the five bits that leave it: the upper 8 bits, and the lower 32.
 * Numbers instead of BigInts, because scripts have up to a million characters.
 */
const [ADDED_UPPER, ADDED_LOWER] = ((): readonly [Int32Array, Int32Array] => {
  const generator = [0xf5dee51989, 0xa9fdca3312, 0x1bab10e32d, 0x3706b1677a, 0x644d626ffd]
  const [upper, lower] = [new Int32Array(32), new Int32Array(32)]
  for (let value = 0; value < 32; value++)
    for (const [bit, added] of generator.entries()) {
      if (((value >> bit) & 1) === 0) continue
      upper[value] = (upper[value] ?? 0) ^ Math.floor(added / 2 ** 32)
      lower[value] = (lower[value] ?? 0) ^ (added % 2 ** 32)
    }
  return [upper, lower]
})()

/** Returns the descriptor with its checksum (BIP 380). */
export function withChecksum(descriptor: string): string {
  let [upper, lower] = [0, 1]
  let [group, grouped] = [0, 0]
  const feed = (value: number): void => {
    const top = upper >> 3
    upper = (((upper & 7) << 5) | (lower >>> 27)) ^ (ADDED_UPPER[top] ?? 0)
    lower = (lower << 5) ^ value ^ (ADDED_LOWER[top] ?? 0)
  }
  for (let at = 0; at < descriptor.length; at++) {
    const place = PLACES[descriptor.charCodeAt(at)] ?? -1
    feed(place & 31)
    group = group * 3 + (place >> 5)
    if (++grouped === 3) {
      feed(group)
      group = 0
      grouped = 0
    }
  }
  if (grouped > 0) feed(group)
  for (let at = 0; at < 8; at++) feed(0)
  const checksum = BigInt(upper) * 2n ** 32n + BigInt((lower ^ 1) >>> 0)
  let text = ''
  for (let at = 7n; at >= 0n; at--) text += CHECKSUM_CHARSET[Number((checksum >> (5n * at)) & 31n)] ?? ''
  return `${descriptor}#${text}`
}
