import { ByteWriter } from '../../../pipelines/chain/bytes.js'
import { hash160, sha256 } from '../../../pipelines/chain/hash.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { Random } from '../random.js'

/** The kinds of owners of the Dilithium chain. Some have the same script type and differ in what their spends reveal. */
export const OWNER_KINDS = [
  'p2wpkh',
  'p2pkh',
  'p2tr',
  'p2sh-p2wpkh',
  'p2wsh',
  'p2pk',
  'multisig',
  'p2mr',
  'p2mr-plain',
  'dilithium-pubkeyhash',
  'dilithium-pubkey',
  'dilithium-wpkh',
  'dilithium-p2sh',
  'dilithium-p2wsh',
  'dilithium-multisig',
  'nonstandard',
  'witness-unknown',
] as const

/** The kinds of owners of Bitcoin. */
export const BITCOIN_KINDS = [
  'p2wpkh',
  'p2pkh',
  'p2tr',
  'p2tr-script',
  'p2sh-p2wpkh',
  'p2sh-p2wsh',
  'p2sh-multisig',
  'p2wsh',
  'p2pk',
  'p2pk-uncompressed',
  'multisig',
  'multisig-2of3',
  'anchor',
  'nonstandard',
  'witness-unknown',
] as const

export type OwnerKind = (typeof OWNER_KINDS)[number] | (typeof BITCOIN_KINDS)[number]

/** Returns the kinds of owners on a network. */
export function kindsOf({ dilithium }: Network): readonly OwnerKind[] {
  return dilithium === undefined ? BITCOIN_KINDS : OWNER_KINDS
}

export interface Owner {
  readonly kind: OwnerKind
  readonly index: number
  /** The scriptPubKey that pays the owner. */
  readonly script: Buffer
}

/** The data that a spend reveals: the preimage of a script hash, or the key of an address. */
export interface OwnerSecrets {
  readonly keys: readonly Buffer[]
  /** Redeem script, witness script or leaf; empty if there is none. */
  readonly inner: Buffer
}

const DILITHIUM_KEY = 1312
/** Replaces the Dilithium opcodes on a chain without them, where scripts of Dilithium owners are nonstandard. */
const INVALID_OPCODE = 0xff

/** Shares of the kinds among ordinary owners, in thousandths. The other kinds exist only among the showcase owners. */
const COMMON: Readonly<
  Record<'rich' | 'cheap' | 'bitcoin', readonly { readonly kind: OwnerKind; readonly share: number }[]>
> = {
  bitcoin: [
    { kind: 'p2wpkh', share: 420 },
    { kind: 'p2pkh', share: 170 },
    { kind: 'p2tr', share: 170 },
    { kind: 'p2sh-p2wpkh', share: 70 },
    { kind: 'p2wsh', share: 60 },
    { kind: 'p2sh-multisig', share: 50 },
    { kind: 'p2tr-script', share: 30 },
    { kind: 'p2sh-p2wsh', share: 20 },
    { kind: 'p2pk-uncompressed', share: 6 },
    { kind: 'multisig-2of3', share: 4 },
  ],
  rich: [
    { kind: 'p2wpkh', share: 460 },
    { kind: 'p2pkh', share: 180 },
    { kind: 'p2tr', share: 120 },
    { kind: 'p2sh-p2wpkh', share: 60 },
    { kind: 'dilithium-pubkeyhash', share: 60 },
    { kind: 'dilithium-wpkh', share: 60 },
    { kind: 'p2mr', share: 60 },
  ],
  cheap: [
    { kind: 'p2wpkh', share: 680 },
    { kind: 'p2pkh', share: 220 },
    { kind: 'p2tr', share: 60 },
    { kind: 'p2sh-p2wpkh', share: 20 },
    { kind: 'dilithium-wpkh', share: 8 },
    { kind: 'dilithium-pubkeyhash', share: 6 },
    { kind: 'p2mr', share: 6 },
  ],
}

export type Mix = 'rich' | 'cheap'

/** The number of showcase owners of each kind. */
const SHOWCASE_EACH = 3

/** The first index of the owners that are requested by kind. */
const TEST_OWNERS = 1_000_000_000

/** All owners of a simulated chain. Keys and scripts are derived from seed and index, so nothing needs to be stored. */
export class Keyring {
  readonly #owners: (Owner | undefined)[] = []
  readonly #byScript = new Map<string, Owner>()
  readonly #kinds: readonly OwnerKind[]
  /** The number of showcase owners, which have the first indexes. */
  readonly showcase: number
  #count = 0

  constructor(
    readonly seed: string,
    readonly mix: Mix,
    readonly network: Network,
  ) {
    this.#kinds = kindsOf(network)
    this.showcase = this.#kinds.length * SHOWCASE_EACH
  }

  /** Returns the owner with an index. Showcase owners alternate the kinds, the others follow the shares. */
  owner(index: number): Owner {
    const present = this.#owners[index]
    if (present !== undefined) return present
    const common = COMMON[this.network.dilithium === undefined ? 'bitcoin' : this.mix]
    const kind =
      index < this.showcase
        ? this.#kinds[index % this.#kinds.length]
        : Random.of(this.seed, 'kind', index).byShare(common).kind
    if (kind === undefined) throw new RangeError(`no owner ${String(index)}`)
    return this.#make(kind, index)
  }

  /** Returns the n-th owner (from 0) of a kind: a showcase owner for the first few, then an owner that traffic never pays. */
  ownerOf(kind: OwnerKind, n = 0): Owner {
    const at = this.#kinds.indexOf(kind) + n * this.#kinds.length
    return n < SHOWCASE_EACH ? this.owner(at) : this.#make(kind, TEST_OWNERS + at)
  }

  /** Returns the owner of a script, among the first `population` owners and the owners that were requested by kind. */
  find(script: Buffer, population: number): Owner | undefined {
    while (this.#count < population) this.owner(this.#count++)
    return this.#byScript.get(script.toString('latin1'))
  }

  /** Returns the script in the buffer of its owner, or a copy: for scripts that were read from a block and are kept. */
  keep(script: Buffer): Buffer {
    return this.find(script, 0)?.script ?? unpooled(script)
  }

  /** Derives the secrets of an owner. They are not cached: a Dilithium key has 1,312 bytes, too much for thousands of owners. */
  secretsOf({ kind, index }: Pick<Owner, 'kind' | 'index'>): OwnerSecrets {
    const random = Random.of(this.seed, 'key', index)
    const keys = secretKeys(kind, random)
    return { keys, inner: innerScript(kind, keys, this.network, random) }
  }

  #make(kind: OwnerKind, index: number): Owner {
    const script = unpooled(scriptFor(kind, this.secretsOf({ kind, index }), this.network))
    const key = script.toString('latin1')
    const present = this.#byScript.get(key)
    if (present !== undefined) return present
    const owner = { kind, index, script }
    this.#byScript.set(key, owner)
    if (index < TEST_OWNERS) this.#owners[index] = owner
    return owner
  }
}

function secretKeys(kind: OwnerKind, random: Random): Buffer[] {
  switch (kind) {
    case 'p2wsh':
    case 'multisig':
    case 'multisig-2of3':
    case 'p2sh-multisig':
    case 'p2sh-p2wsh':
      return [ecKey(random), ecKey(random), ecKey(random)]
    case 'p2pk-uncompressed':
      return [Buffer.concat([Buffer.from([4]), random.bytes(64)])]
    case 'dilithium-multisig':
      return [random.bytes(DILITHIUM_KEY), random.bytes(DILITHIUM_KEY)]
    case 'p2mr':
    case 'dilithium-pubkeyhash':
    case 'dilithium-pubkey':
    case 'dilithium-wpkh':
    case 'dilithium-p2sh':
    case 'dilithium-p2wsh':
      return [random.bytes(DILITHIUM_KEY)]
    default:
      return [ecKey(random)]
  }
}

/** Returns a compressed public key with a valid first byte; it need not be a point of the curve. */
function ecKey(random: Random): Buffer {
  const key = random.bytes(33)
  key[0] = 2 + (random.bits() & 1)
  return key
}

function innerScript(kind: OwnerKind, keys: readonly Buffer[], network: Network, random: Random): Buffer {
  switch (kind) {
    case 'p2sh-p2wpkh':
      return Buffer.concat([Buffer.from('0014', 'hex'), hash160(keyAt(keys, 0))])
    case 'p2wsh':
    case 'p2sh-multisig':
    case 'p2sh-p2wsh':
      return multisig(0x52, keys, 0x53, 0xae)
    case 'p2tr-script':
      return framed('20', keyAt(keys, 0).subarray(1), 'ac')
    case 'dilithium-p2sh':
    case 'dilithium-p2wsh':
    case 'p2mr':
      return Buffer.concat([
        pushData(keyAt(keys, 0)),
        Buffer.from([network.dilithium?.opcodes.checkSig ?? INVALID_OPCODE]),
      ])
    case 'p2mr-plain':
      // <4 bytes> OP_DROP OP_TRUE: a leaf that requires no signature.
      return Buffer.concat([pushData(random.bytes(4)), Buffer.from([0x75, 0x51])])
    default:
      return Buffer.alloc(0)
  }
}

function scriptFor(kind: OwnerKind, { keys, inner }: OwnerSecrets, { dilithium }: Network): Buffer {
  const key = keyAt(keys, 0)
  const checkSig = (dilithium?.opcodes.checkSig ?? INVALID_OPCODE).toString(16).padStart(2, '0')
  switch (kind) {
    case 'p2wpkh':
    case 'dilithium-wpkh':
      return framed('0014', hash160(key), '')
    case 'p2pkh':
      return framed('76a914', hash160(key), '88ac')
    case 'dilithium-pubkeyhash':
      return framed('76a914', hash160(key), `88${checkSig}`)
    case 'p2tr':
      return framed('5120', key.subarray(1), '')
    case 'p2tr-script':
      // Not the key of the leaf: the key of the output commits to the tree.
      return framed('5120', sha256(inner), '')
    case 'p2sh-p2wpkh':
    case 'p2sh-multisig':
    case 'dilithium-p2sh':
      return framed('a914', hash160(inner), '87')
    case 'p2sh-p2wsh':
      return framed('a914', hash160(witnessScriptHash(inner)), '87')
    case 'p2wsh':
    case 'dilithium-p2wsh':
      return framed('0020', sha256(inner), '')
    case 'p2pk':
    case 'p2pk-uncompressed':
      return Buffer.concat([pushData(key), Buffer.from('ac', 'hex')])
    case 'dilithium-pubkey':
      return framed('4d2005', key, checkSig)
    case 'multisig':
      return multisig(0x51, keys, 0x53, 0xae)
    case 'multisig-2of3':
      return multisig(0x52, keys, 0x53, 0xae)
    case 'anchor':
      return ANCHOR
    case 'dilithium-multisig':
      return multisig(0x51, keys, 0x52, dilithium?.opcodes.checkMultisig ?? INVALID_OPCODE)
    case 'p2mr':
    case 'p2mr-plain':
      return framed('5220', leafHash(inner), '')
    case 'nonstandard':
      return framed('14', hash160(key), '7551')
    case 'witness-unknown':
      return framed('5320', key.subarray(1), '')
  }
}

/** The script of a pay-to-anchor output, which anyone can spend: all owners of the kind have it. */
export const ANCHOR = Buffer.from('51024e73', 'hex')

/** Returns the redeem script of a witness script inside P2SH. */
export function witnessScriptHash(witnessScript: Buffer): Buffer {
  return framed('0020', sha256(witnessScript), '')
}

/** Returns a copy in memory of its own: a retained small buffer would retain the whole slab that Node allocated it from. */
function unpooled(bytes: Buffer): Buffer {
  const copy = Buffer.alloc(bytes.length)
  bytes.copy(copy)
  return copy
}

function keyAt(keys: readonly Buffer[], at: number): Buffer {
  const key = keys[at]
  if (key === undefined) throw new RangeError('an owner without a key')
  return key
}

function framed(before: string, middle: Buffer, after: string): Buffer {
  return Buffer.concat([Buffer.from(before, 'hex'), middle, Buffer.from(after, 'hex')])
}

function multisig(need: number, keys: readonly Buffer[], of: number, opcode: number): Buffer {
  return Buffer.concat([Buffer.from([need]), ...keys.map(pushData), Buffer.from([of, opcode])])
}

const LEAF_TAG = sha256(Buffer.from('TapLeaf'))

/** Returns the root of a P2MR tree with one leaf, as the recorded node computes it: a tap leaf hash of version 0xc0. */
function leafHash(leaf: Buffer): Buffer {
  const sized = new ByteWriter().sized(leaf).finish()
  return sha256(Buffer.concat([LEAF_TAG, LEAF_TAG, Buffer.from([0xc0]), sized]))
}

/** Returns a push of the data with the shortest opcode for its length. */
export function pushData(data: Buffer): Buffer {
  const { length } = data
  const writer = new ByteWriter(length + 5)
  if (length < 0x4c) writer.u8(length)
  else if (length < 0x100) writer.u8(0x4c).u8(length)
  else if (length < 0x10000) writer.u8(0x4d).u16(length)
  else writer.u8(0x4e).u32(length)
  return writer.bytes(data).finish()
}

/** Returns the script of an OP_RETURN output. */
export function dataScript(data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x6a]), pushData(data)])
}
