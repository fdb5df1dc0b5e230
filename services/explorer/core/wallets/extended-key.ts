import { createBase58check } from '@scure/base'
import { HDKey } from '@scure/bip32'
import { sha256 } from '../../../../pipelines/chain/hash.js'
import { BITCOIN_MAIN, type Network, NETWORKS } from '../../../../pipelines/chain/networks.js'
import type { KeyType } from './key-types.js'
import { EXPOSED, Underivable } from './refusal.js'

/** An extended public key. */
export interface ExtendedKey {
  readonly key: HDKey
  /** The only type of scripts that it is for; undefined if it is for all. */
  readonly type: KeyType | undefined
}

/** The versions of extended keys of Bitcoin that name a type of scripts (SLIP 132), on its main chain and on test networks. */
const SLIP132: ReadonlyMap<number, { readonly type: KeyType | 'multisig'; readonly isTest: boolean }> =
  new Map([
    [0x049d7cb2, { type: 'p2sh_p2wpkh', isTest: false }],
    [0x04b24746, { type: 'p2wpkh', isTest: false }],
    [0x0295b43f, { type: 'multisig', isTest: false }],
    [0x02aa7ed3, { type: 'multisig', isTest: false }],
    [0x044a5262, { type: 'p2sh_p2wpkh', isTest: true }],
    [0x045f1cf6, { type: 'p2wpkh', isTest: true }],
    [0x024289ef, { type: 'multisig', isTest: true }],
    [0x02575483, { type: 'multisig', isTest: true }],
  ])

const KEY_BYTES = 78
/** The place of the key in the bytes of an extended key, which begins with 0 if it is private. */
const KEY_AT = 45
const base58check = createBase58check((bytes: Uint8Array) => Uint8Array.from(sha256(bytes)))

/**
 * Parses an extended public key of a network.
 * @throws Underivable if it is malformed, private, of another network, or for multisig.
 */
export function parseExtendedKey(text: string, network: Network): ExtendedKey {
  const bytes = payloadOf(text)
  if (bytes?.length !== KEY_BYTES)
    throw new Underivable('an extended key is malformed: its checksum does not match')
  if (bytes[KEY_AT] === 0) throw new Underivable(EXPOSED)
  const version = Buffer.from(bytes).readUInt32BE()
  const slip132 = network.coin === BITCOIN_MAIN.coin ? SLIP132.get(version) : undefined
  const isOfNetwork =
    slip132 === undefined ? version === network.extendedKey : slip132.isTest === network.isTest
  if (!isOfNetwork) {
    const isKnown =
      SLIP132.has(version) || [...NETWORKS.values()].some((each) => each.extendedKey === version)
    throw new Underivable(
      isKnown ? 'an extended key is of another network' : 'an extended key has an unknown version',
    )
  }
  if (slip132?.type === 'multisig')
    throw new Underivable('an extended key is for multisig: send a descriptor with the keys of all signers')
  try {
    return { key: HDKey.fromExtendedKey(text, { public: version, private: 0 }), type: slip132?.type }
  } catch {
    throw new Underivable('an extended key is malformed: it contains no point of the curve')
  }
}

function payloadOf(text: string): Uint8Array | undefined {
  try {
    return base58check.decode(text)
  } catch {
    return undefined
  }
}
