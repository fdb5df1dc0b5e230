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
const CHECKSUM_CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATOR = [0xf5dee51989n, 0xa9fdca3312n, 0x1bab10e32dn, 0x3706b1677an, 0x644d626ffdn] as const

/** Returns the descriptor with its checksum (BIP 380). */
export function withChecksum(descriptor: string): string {
  let checksum = 1n
  let group = 0
  let grouped = 0
  const feed = (value: number): void => {
    const top = checksum >> 35n
    checksum = ((checksum & 0x7ffffffffn) << 5n) ^ BigInt(value)
    GENERATOR.forEach((generator, bit) => {
      if (((top >> BigInt(bit)) & 1n) === 1n) checksum ^= generator
    })
  }
  for (const character of descriptor) {
    const place = INPUT_CHARSET.indexOf(character)
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
  checksum ^= 1n
  let text = ''
  for (let at = 7n; at >= 0n; at--) text += CHECKSUM_CHARSET[Number((checksum >> (5n * at)) & 31n)] ?? ''
  return `${descriptor}#${text}`
}
