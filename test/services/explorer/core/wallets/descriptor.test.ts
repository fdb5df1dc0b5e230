import { readFileSync } from 'node:fs'
import { HDKey } from '@scure/bip32'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../../../pipelines/chain/hash.js'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import {
  BITCOIN_MAIN,
  BITCOIN_REGTEST,
  BITCOIN_TESTNET3,
  MAIN,
  type Network,
  REGTEST,
} from '../../../../../pipelines/chain/networks.js'
import { parseDerivations } from '../../../../../services/explorer/core/wallets/descriptor.js'
import type { KeyType } from '../../../../../services/explorer/core/wallets/key-types.js'
import { EXPOSED } from '../../../../../services/explorer/core/wallets/refusal.js'

/** The seed of the words "abandon … about" without passphrase, of which BIP 84 and BIP 86 publish addresses. */
const SEED = Buffer.from(
  '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4',
  'hex',
)
const TEST_VERSIONS = { public: 0x043587cf, private: 0x04358394 }

const account = (path: string, versions?: { public: number; private: number }): string =>
  HDKey.fromMasterSeed(SEED, versions).derive(path).publicExtendedKey

/** Extended keys of the vectors of BIP 32, 380 and 389. */
const [A, B, C, D, E, F] = [
  'xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y',
  'xpub6ERApfZwUNrhLCkDtcHTcxd75RbzS1ed54G1LkBUHQVHQKqhMkhgbmJbZRkrgZw4koxb5JaHWkY4ALHY2grBGRjaDMzQLcgJvLJuZZvRcEL',
  'xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH',
  'xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJY47LJhkJ8UB7WEGuduB',
  'xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV',
  'xpub661MyMwAqRbcGDZQUKLqmWodYLcoBQnQH33yYkkF3jjxeLvY8qr2wWGEWkiKFaaQfJCoi3HeEq3Dc5DptfbCyjD38fNhSqtKc1UHaP4ba3t',
] as const

function scriptsOf(text: string, network: Network = BITCOIN_MAIN, branch = 0, indexes = [0]): string[] {
  const { accounts } = parseDerivations(text, network)
  return indexes.flatMap((index) =>
    accounts.map(({ scriptAt }) => Buffer.from(scriptAt(branch, index)).toString('hex')),
  )
}

const refusalOf = (text: string, network: Network = BITCOIN_MAIN, type?: KeyType): string => {
  try {
    parseDerivations(text, network, type)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

describe('extended keys', () => {
  it.each([
    // Path of the account, type, branch, index, address: BIP 44, BIP 84 and BIP 86.
    ["m/44'/0'/0'", 'p2pkh', 0, 0, '1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA'],
    ["m/84'/0'/0'", 'p2wpkh', 0, 0, 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu'],
    ["m/84'/0'/0'", 'p2wpkh', 0, 1, 'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g'],
    ["m/84'/0'/0'", 'p2wpkh', 1, 0, 'bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el'],
    ["m/86'/0'/0'", 'p2tr', 0, 0, 'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr'],
    ["m/86'/0'/0'", 'p2tr', 0, 1, 'bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh'],
    ["m/86'/0'/0'", 'p2tr', 1, 0, 'bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7'],
  ] as const)(
    'derive the addresses that the BIPs publish: %s, %s %i/%i',
    (path, type, branch, index, address) => {
      const { kind, accounts } = parseDerivations(account(path), BITCOIN_MAIN, type)
      expect(kind).toBe('extended_key')
      expect(accounts.map((each) => each.type)).toEqual([type])
      const script = Buffer.from(accounts[0]!.scriptAt(branch, index))
      expect(addressOf(script, BITCOIN_MAIN)).toBe(address)
    },
  )

  it('derive the address that BIP 49 publishes, of a test network', () => {
    const upub = account("m/49'/1'/0'", { public: 0x044a5262, private: 0x044a4e28 })
    expect(upub).toMatch(/^upub/)
    const { accounts } = parseDerivations(upub, BITCOIN_TESTNET3)
    expect(accounts.map(({ type }) => type)).toEqual(['p2sh_p2wpkh'])
    expect(addressOf(Buffer.from(accounts[0]!.scriptAt(0, 0)), BITCOIN_TESTNET3)).toBe(
      '2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2',
    )
  })

  it.each([
    [0x0488b21e, BITCOIN_MAIN, ['p2pkh', 'p2sh_p2wpkh', 'p2wpkh', 'p2tr']],
    [0x049d7cb2, BITCOIN_MAIN, ['p2sh_p2wpkh']],
    [0x04b24746, BITCOIN_MAIN, ['p2wpkh']],
    [0x043587cf, BITCOIN_REGTEST, ['p2pkh', 'p2sh_p2wpkh', 'p2wpkh', 'p2tr']],
    [0x045f1cf6, BITCOIN_REGTEST, ['p2wpkh']],
    [0x0488b21f, MAIN, ['p2pkh', 'p2sh_p2wpkh', 'p2wpkh', 'p2tr']],
    [0x043587cf, REGTEST, ['p2pkh', 'p2sh_p2wpkh', 'p2wpkh', 'p2tr']],
  ] as const)('of version %i of a network are for its types of scripts', (version, network, types) => {
    const key = account('m/0', { public: version, private: 0 })
    expect(parseDerivations(key, network).accounts.map(({ type }) => type)).toEqual(types)
  })

  it('of other networks, for multisig, or of another type are refused', () => {
    expect(refusalOf(account('m/0', TEST_VERSIONS))).toContain('another network')
    expect(refusalOf(A, BITCOIN_REGTEST)).toContain('another network')
    expect(refusalOf(account('m/0', { public: 0x04b24746, private: 0 }), BITCOIN_REGTEST)).toContain(
      'another network',
    )
    // The Dilithium chain has a version of its own, and none of SLIP 132.
    expect(refusalOf(A, MAIN)).toContain('another network')
    expect(refusalOf(account('m/0', { public: 0x045f1cf6, private: 0 }), REGTEST)).toContain(
      'another network',
    )
    expect(refusalOf(account('m/0', { public: 0x02aa7ed3, private: 0 }))).toContain('multisig')
    expect(refusalOf(account('m/0', { public: 0x04b24746, private: 0 }), BITCOIN_MAIN, 'p2tr')).toContain(
      'p2wpkh',
    )
    expect(refusalOf(`${A}/0`)).toContain('send a descriptor')
    expect(refusalOf(`${A.slice(0, -1)}Z`)).toContain('checksum')
  })
})

describe('descriptors', () => {
  it.each([
    // BIP 381 to 386 and Bitcoin Core's own: descriptor, indexes, scripts.
    [`pk(${A}/0)`, [0], ['210379e45b3cf75f9c5f9befd8e9506fb962f6a9d185ac87001ec44a8d3df8d4a9e3ac']],
    [
      `wpkh([ffffffff/13']${C}/1/2/*)`,
      [0, 1, 2],
      [
        '0014326b2249e3a25d5dc60935f044ee835d090ba859',
        '0014af0bd98abc2f2cae66e36896a39ffe2d32984fb7',
        '00141fa798efd1cbf95cebf912c031b8a4a6e9fb9f27',
      ],
    ],
    [
      `combo(${E}/*)`,
      [1],
      [
        '21032869a233c9adff9a994e4966e5b821fd5bac066da6c3112488dc52383b4a98ecac',
        '76a914a8409d1b6dfb1ed2a3e8aa5e0ef2ff26b15b75b788ac',
        '0014a8409d1b6dfb1ed2a3e8aa5e0ef2ff26b15b75b7',
        'a91473e39884cb71ae4e5ac9739e9225026c99763e6687',
      ],
    ],
    [
      `sh(multi(2,[00000000/111'/222]${B},${A}/0))#tjg09x5t`,
      [0],
      ['a91445a9a622a8b0a1269944be477640eedc447bbd8487'],
    ],
    [
      `sortedmulti(2,${B}/*,${A}/0/0/*)`,
      [0, 1, 2],
      [
        '5221025d5fc65ebb8d44a5274b53bac21ff8307fec2334a32df05553459f8b1f7fe1b62102fbd47cc8034098f0e6a94c6aeee8528abf0a2153a5d8e46d325b7284c046784652ae',
        '52210264fd4d1f5dea8ded94c61e9641309349b62f27fbffe807291f664e286bfbe6472103f4ece6dfccfa37b211eb3d0af4d0c61dba9ef698622dc17eecdf764beeb005a652ae',
        '5221022ccabda84c30bad578b13c89eb3b9544ce149787e5b538175b1d1ba259cbb83321024d902e1a2fc7a8755ab5b694c575fce742c48d9ff192e63df5193e4c7afe1f9c52ae',
      ],
    ],
    ['raw(deadbeef)#89f8spxm', [0], ['deadbeef']],
    [
      'rawtr(a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd)',
      [0],
      ['5120a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd'],
    ],
    [
      'tr(a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd)',
      [0],
      ['512077aab6e066f8a7419c5ab714c12c67d25007ed55a43cadcacb4d7a970a093f11'],
    ],
    [
      'tr(a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd,pk(669b8afcec803a0d323e9a17f3ea8e68e8abe5a278020a929adbec52421adbd0))',
      [0],
      ['512017cf18db381d836d8923b1bdb246cfcd818da1a9f0e6e7907f187f0b2f937754'],
    ],
  ] as const)('derive the published scripts: %s', (descriptor, indexes, scripts) => {
    const derived = scriptsOf(descriptor, BITCOIN_MAIN, 0, [...indexes])
    expect(derived).toEqual(scripts)
  })

  it('derive scripts of miniscript', () => {
    const [key] = scriptsOf(`pk(${A}/5)`)
    const script = Buffer.from(`${key!.slice(0, -2)}ad029000b2`, 'hex')
    const derived = scriptsOf(`wsh(and_v(v:pk(${A}/*),older(144)))`, BITCOIN_MAIN, 0, [5])
    expect(derived).toEqual([`0020${sha256(script).toString('hex')}`])
  })

  it('that nest too deeply are refused', () => {
    for (const text of ['('.repeat(4000), `wsh(${'and_v('.repeat(600)})`, `tr(${A},${'{'.repeat(3000)})`])
      expect(refusalOf(text)).toContain('neither')
  })

  it("derive the addresses of Bitcoin Core's deriveaddresses", () => {
    const key =
      'tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B'
    const addresses = (descriptor: string, indexes: number[]): unknown[] =>
      scriptsOf(descriptor, BITCOIN_REGTEST, 0, indexes).map((script) =>
        addressOf(Buffer.from(script, 'hex'), BITCOIN_REGTEST),
      )
    const first = 'bcrt1qjqmxmkpmxt80xz4y3746zgt0q3u3ferr34acd5'
    expect(addresses(`wpkh(${key}/1/1/0)#s9ga3alw`, [0])).toEqual([first])
    expect(addresses(`wpkh(${key}/1/1/*)`, [0, 1, 2])).toEqual([
      first,
      'bcrt1qhku5rq7jz8ulufe2y6fkcpnlvpsta7rq4442dy',
      'bcrt1qpgptk2gvshyl0s9lqshsmx932l9ccsv265tvaq',
    ])
    expect(addresses(`combo(${key}/1/1/0)`, [0])).toEqual([
      undefined,
      'mtfUoUax9L4tzXARpw1oTGxWyoogp52KhJ',
      first,
      '2NDvEwGfpEqJWfybzpKPHF2XH3jwoQV3D7x',
    ])
  })

  it.each([
    // The valid ones of BIP 389: a descriptor with alternatives, and that of each branch.
    [`pk(${A}/<0;1>)`, [`pk(${A}/0)`, `pk(${A}/1)`]],
    [
      `wpkh([ffffffff/13h]${C}/<1;3>/2/*)`,
      [`wpkh([ffffffff/13h]${C}/1/2/*)`, `wpkh([ffffffff/13h]${C}/3/2/*)`],
    ],
    [
      `multi(2,${B}/<1;2>/*,${A}/<3;4>/0/*)`,
      [`multi(2,${B}/1/*,${A}/3/0/*)`, `multi(2,${B}/2/*,${A}/4/0/*)`],
    ],
    [`pkh(${D}/<0;1;2>)`, [`pkh(${D}/0)`, `pkh(${D}/1)`, `pkh(${D}/2)`]],
    [
      `sh(multi(2,${B}/<1;2;3>/0/*,${A}/0/*,${F}/0/0/<3;4;5>/*))`,
      [3, 4, 5].map(
        (each) => `sh(multi(2,${B}/${String(each - 2)}/0/*,${A}/0/*,${F}/0/0/${String(each)}/*))`,
      ),
    ],
    [`wpkh(${C}/**)`, [`wpkh(${C}/0/*)`, `wpkh(${C}/1/*)`]],
  ])('with alternatives have a branch for each: %s', (descriptor, single) => {
    const { accounts } = parseDerivations(descriptor, BITCOIN_MAIN)
    expect(accounts.map(({ branches }) => branches)).toEqual([single.length])
    for (const [branch, text] of single.entries())
      expect(scriptsOf(descriptor, BITCOIN_MAIN, branch, [7])).toEqual(scriptsOf(text, BITCOIN_MAIN, 0, [7]))
  })

  it.each([
    [`sh(multi(2,${B},${A}/0))#tjg09x5t`, 'checksum'],
    [`pk(${A}/0)#`, 'checksum'],
    [`sh(multi(2,[00000000/111'/222]${B},${A}/0))#tjg09x5tq`, 'checksum'],
    [`sh(multi(2,[00000000/111'/222]${B},${A}/0))#tjg09x5`, 'checksum'],
    [`sh(multi(2,[00000000/111'/222]${B},${A}/0))##tjg09x4t`, 'checksum'],
    [`pk(${A}/0'/1)`, 'hardened'],
    [`pk(${A}/*h)`, 'hardened'],
    [`pkh(${D}/<2147483647h;0>/0)`, 'hardened'],
    [`pkh(${D}/2147483648)`, 'larger'],
    [`pkh(${D}/1aa)`, 'malformed'],
    [`combo([012345678]${B})`, 'origin'],
    [`pkh([deadbeef/<0;1>]${D}/0)`, 'origin'],
    [`pkh(${D}/<0;1>/<2;3>)`, 'alternatives'],
    [`sh(multi(2,${B}/<1;2;3>/0/*,${A}/<3;4>/*))`, 'alternatives'],
    [`wpkh(${D}/<0;0>/*)`, 'distinct'],
    [`wpkh(${D}/<>/*)`, 'malformed'],
    [`wpkh(${D}/0>/*)`, 'malformed'],
    [`wpkh(${D}/<0/*)`, 'malformed'],
    [`wpkh(${D}/<0;>/*)`, 'malformed'],
    [`wpkh(${D}/*/0)`, 'malformed'],
    [`wsh(multi(2,[aaaaaaaa][aaaaaaaa]${D}/0,${A}))`, 'neither'],
    [
      'wsh(multi(2,[aaaaaaaa],03a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd))',
      'neither',
    ],
    ['addr(asdf)', 'address'],
    ['addr(bcrt1qjqmxmkpmxt80xz4y3746zgt0q3u3ferr34acd5)', 'address'],
    ['raw(asdf)', 'neither'],
    ['raw(Ü)#00000000', 'checksum'],
    [`wsh(wpkh(${D}))`, 'neither'],
    [`sh(sh(pk(${D})))`, 'neither'],
    [`sh(pk(${D}`, 'neither'],
    [`wpkh(${account('m/84/0', { public: 0x04b24746, private: 0 })}/*)`, 'SLIP 132'],
    ['wpkh(', 'neither'],
    ['hello', 'neither'],
    ['bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', 'neither'],
  ])('that are invalid are refused: %s', (descriptor, message) => {
    expect(refusalOf(descriptor)).toContain(message)
  })

  it('refuse private keys and seed words, and repeat nothing of them', () => {
    const xprv = HDKey.fromMasterSeed(SEED).privateExtendedKey
    const ours = HDKey.fromMasterSeed(SEED, {
      public: MAIN.extendedKey,
      private: 0x0488ade5,
    }).privateExtendedKey
    // Not recognised by its beginning.
    const other = HDKey.fromMasterSeed(SEED, { public: 1, private: 0x01b26746 }).privateExtendedKey
    const wif = 'L4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY1'
    const words = 'abandon '.repeat(11) + 'about'
    for (const secret of [xprv, ours, other, xprv.slice(0, 40), wif, words])
      for (const text of [secret, `wpkh(${secret}/0/*)`, `sh(multi(1,${secret},${A}))`]) {
        if (text !== words && text.includes(words)) continue
        const message = refusalOf(text)
        expect(message).toBe(EXPOSED)
        for (let at = 0; at + 8 < secret.length; at++) expect(message).not.toContain(secret.slice(at, at + 8))
      }
  })
})

interface Decoded {
  readonly scriptPubKey: string
  readonly decoded?: {
    readonly desc: string
    readonly segwit?: { readonly desc: string; readonly hex: string }
  }
}

describe('descriptors of a recorded node of Bitcoin', () => {
  const folder = new URL('../../../../recording/bitcoin-regtest/', import.meta.url)
  const { addresses, scripts } = JSON.parse(readFileSync(new URL('oracles.json', folder), 'utf8')) as Record<
    string,
    Record<string, Decoded>
  >

  it('derive the scripts that the node describes by them', () => {
    const forms = new Set<string>()
    for (const { scriptPubKey, decoded } of Object.values({ ...addresses, ...scripts })) {
      if (decoded === undefined) continue
      const described = [
        [decoded.desc, scriptPubKey],
        [decoded.segwit?.desc, decoded.segwit?.hex],
      ] as const
      for (const [descriptor, script] of described) {
        if (descriptor === undefined || script === undefined) continue
        expect(scriptsOf(descriptor, BITCOIN_REGTEST), descriptor).toEqual([script])
        // A checksum that is not the node's.
        expect(
          refusalOf(`${descriptor.slice(0, -1)}${descriptor.endsWith('q') ? 'p' : 'q'}`, BITCOIN_REGTEST),
        ).toContain('checksum')
        forms.add(/^\w+(?:\(\w+(?=\())?/.exec(descriptor)![0])
      }
    }
    expect([...forms].sort()).toEqual(['addr', 'multi', 'pk', 'raw', 'rawtr', 'wsh(multi'])
  })
})
