import descriptors from '@bitcoinerlab/descriptors-core'
import { createScureLib } from '@bitcoinerlab/descriptors-core/scure'
import type { HDKey } from '@scure/bip32'
import { p2pkh, p2sh, p2tr, p2wpkh } from '@scure/btc-signer'
import { decodeAddress } from '../../../../pipelines/chain/address.js'
import { hexOf } from '../../../../pipelines/chain/hash.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { parseExtendedKey } from './extended-key.js'
import { type KeyPath, parseKeyPath } from './key-path.js'
import { KEY_TYPES, type KeyType } from './key-types.js'
import { assertPublic, Underivable } from './refusal.js'

const { Output } = descriptors.DescriptorsFactory(createScureLib())

/** Derives scripts of one form. */
export interface Account {
  /** The kind of its scripts; undefined if a descriptor names it. */
  readonly type: KeyType | undefined
  /** The number of its branches: 2 with scripts that receive and scripts for change. */
  readonly branches: number
  /** False if each branch has only one script. */
  readonly isRanged: boolean
  /** Returns the script at an index of a branch. @throws Underivable. */
  readonly scriptAt: (branch: number, index: number) => Uint8Array
}

/** The accounts that an extended key or descriptor has. */
export interface Derivations {
  readonly kind: 'extended_key' | 'descriptor'
  readonly accounts: readonly Account[]
}

/** The scripts of one key. */
const SCRIPTS: Readonly<Record<KeyType, (key: Uint8Array) => Uint8Array>> = {
  p2pkh: (key) => p2pkh(key).script,
  p2sh_p2wpkh: (key) => p2sh(p2wpkh(key)).script,
  p2wpkh: (key) => p2wpkh(key).script,
  p2tr: (key) => p2tr(key.subarray(1)).script,
}

/** An extended key with its origin and path. The origin is informative. */
const KEY_EXPRESSION = /(\[[^[\](){},]*\])?\b([1-9A-HJ-NP-Za-km-z]{100,120})\b((?:\/[^/,(){}\s]*)*)/g
const ORIGIN = /^\[[\da-f]{8}(?:\/\d{1,10}['h]?)*\]$/i
const MALFORMED =
  'it is neither an extended public key nor an output descriptor that this explorer can derive'

/**
 * Parses an extended public key or an output descriptor of a network.
 * @param type that of the scripts of an extended key. Not set: all types that the key is for.
 * @throws Underivable.
 */
export function parseDerivations(text: string, network: Network, type?: KeyType): Derivations {
  assertPublic(text)
  const trimmed = text.trim()
  if (trimmed.includes('(')) {
    if (type !== undefined)
      throw new Underivable('type is for an extended key: a descriptor names its scripts itself')
    return { kind: 'descriptor', accounts: formsOf(bareOf(trimmed)).map((form) => accountOf(form, network)) }
  }
  const [key = '', ...rest] = trimmed.split('/')
  if (rest.length > 0)
    throw new Underivable('an extended key has a path: send a descriptor, such as wpkh(KEY/0/*)')
  if (!/^[1-9A-HJ-NP-Za-km-z]{100,120}$/.test(key)) throw new Underivable(MALFORMED)
  const parsed = parseExtendedKey(key, network)
  if (type !== undefined && parsed.type !== undefined && parsed.type !== type)
    throw new Underivable(`the key is for scripts of type ${parsed.type}`)
  const only = type ?? parsed.type
  const types = only === undefined ? KEY_TYPES : [only]
  const path = parseKeyPath('/<0;1>/*')
  const keys = new KeyChain(parsed.key)
  const accounts = types.map((each) => {
    const scriptAt = (branch: number, index: number): Uint8Array =>
      SCRIPTS[each](keys.at(path, branch, index))
    return { type: each, branches: 2, isRanged: true, scriptAt }
  })
  return { kind: 'extended_key', accounts }
}

/** Returns a descriptor without its checksum. @throws Underivable if that does not match. */
function bareOf(text: string): string {
  const [bare = '', checksum, ...more] = text.split('#')
  if (checksum === undefined) return bare
  if (more.length > 0 || checksum !== checksumOf(bare))
    throw new Underivable('the checksum after # does not match the descriptor')
  return bare
}

function checksumOf(bare: string): string | undefined {
  try {
    return descriptors.checksum(bare)
  } catch {
    return undefined
  }
}

/** Returns the descriptors of which a descriptor consists: `combo` has four. */
function formsOf(bare: string): string[] {
  const [, key] = /^combo\(([^(),]+)\)$/.exec(bare) ?? []
  if (key === undefined) return [bare]
  return [`pk(${key})`, `pkh(${key})`, `wpkh(${key})`, `sh(wpkh(${key}))`]
}

/** The keys below an extended key, each derived once. */
class KeyChain {
  readonly #branches = new Map<number, HDKey>()
  readonly #keys = new Map<string, Uint8Array>()

  constructor(private readonly key: HDKey) {}

  /** Returns a public key. @throws Underivable for a path that is too deep, and in the case, which never occurs, that there is no key. */
  at(path: KeyPath, branch: number, index: number): Uint8Array {
    const place = `${String(branch)}/${String(index)}`
    let key = this.#keys.get(place)
    if (key === undefined) this.#keys.set(place, (key = this.#derive(path, branch, index)))
    return key
  }

  #derive({ steps, isRanged }: KeyPath, branch: number, index: number): Uint8Array {
    try {
      let parent = this.#branches.get(branch)
      if (parent === undefined) {
        parent = steps.reduce(
          (each, numbers) => each.deriveChild(numbers[branch] ?? numbers[0] ?? 0),
          this.key,
        )
        this.#branches.set(branch, parent)
      }
      const { publicKey } = isRanged ? parent.deriveChild(index) : parent
      if (publicKey !== null) return publicKey
    } catch {
      // Reported below.
    }
    throw new Underivable('a path below an extended key is too deep')
  }
}

/** An extended key of a descriptor, with the part of the text that it replaces. */
interface KeyPart {
  readonly from: number
  readonly to: number
  readonly origin: string
  readonly path: KeyPath
  readonly keys: KeyChain
}

function accountOf(bare: string, network: Network): Account {
  const parts = [...bare.matchAll(KEY_EXPRESSION)].map((match): KeyPart => {
    const [whole, origin = '', key = '', path = ''] = match
    if (origin !== '' && !ORIGIN.test(origin)) throw new Underivable('the origin of a key is malformed')
    const { key: parsed, type } = parseExtendedKey(key, network)
    if (type !== undefined)
      throw new Underivable(
        'a descriptor has a key with a version of SLIP 132: descriptors take xpub or tpub',
      )
    const keys = new KeyChain(parsed)
    return { from: match.index, to: match.index + whole.length, origin, path: parseKeyPath(path), keys }
  })
  const counts = new Set(
    parts.flatMap(({ path }) => path.steps.map(({ length }) => length).filter((length) => length > 1)),
  )
  if (counts.size > 1 || parts.some(({ path }) => path.steps.filter(({ length }) => length > 1).length > 1))
    throw new Underivable('the paths of a descriptor have different numbers of alternatives, or several each')
  const scriptAt = (branch: number, index: number): Uint8Array => {
    let [text, at] = ['', 0]
    for (const { from, to, origin, path, keys } of parts) {
      text += bare.slice(at, from) + origin + hexOf(keys.at(path, branch, index))
      at = to
    }
    return scriptOf(text + bare.slice(at), network)
  }
  const [branches = 1] = counts
  const account = {
    type: undefined,
    branches,
    isRanged: parts.some(({ path }) => path.isRanged),
    scriptAt,
  }
  // Refuses a malformed descriptor at once.
  scriptAt(0, 0)
  return account
}

/** Returns the script of a descriptor without extended keys. @throws Underivable. */
function scriptOf(descriptor: string, network: Network): Uint8Array {
  const [, name, argument = ''] = /^(addr|raw|rawtr)\(([^(),#]*)\)$/.exec(descriptor) ?? []
  const bytes = (pattern: RegExp): Buffer => {
    if (!pattern.test(argument)) throw new Underivable(MALFORMED)
    return Buffer.from(argument, 'hex')
  }
  switch (name) {
    case 'addr': {
      const script = decodeAddress(argument, network)?.script
      if (script === undefined) throw new Underivable('the address of a descriptor is not one of this chain')
      return script
    }
    case 'raw':
      return bytes(/^(?:[\da-f]{2})+$/i)
    case 'rawtr': {
      const key = bytes(/^(?:0[23])?[\da-f]{64}$/i)
      return Buffer.from([0x51, 0x20, ...key.subarray(-32)])
    }
    default:
      try {
        if (!/^(?:sorted)?multi\(/.test(descriptor)) return outputOf(descriptor).getScriptPubKey()
        // The library knows them within other scripts alone.
        return outputOf(`sh(${descriptor})`).getRedeemScript() ?? new Uint8Array()
      } catch {
        throw new Underivable(MALFORMED)
      }
  }
}

/** Returns the output that the library derives. No key or address of a network is left in the descriptor. */
const outputOf = (descriptor: string): InstanceType<typeof Output> =>
  new Output({ descriptor, network: descriptors.networks.bitcoin })
