import { describe, expect, it } from 'vitest'
import { addressOf, encodeBase58check } from '../../../../../pipelines/chain/address.js'
import { BITCOIN_MAIN, MAIN, REGTEST } from '../../../../../pipelines/chain/networks.js'
import { LANGUAGES, MESSAGES } from '../../../../../services/explorer/faces/pages/language.js'
import { formatOf } from '../../../../../services/explorer/faces/pages/locales.js'
import { explain } from '../../../../../services/explorer/faces/pages/query.js'

const ADDRESS = 'qcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqrehzm8'

describe('a query that finds nothing', () => {
  const t = MESSAGES.en
  const known = { t, f: formatOf('en-GB', REGTEST), height: 1559, network: REGTEST }

  it.each([
    ['-1', 'Heights begin at 0.'],
    ['2030-01-01', 'There is no block of 2030-01-01 00:00:00 UTC or later yet.'],
    ['2000', 'Block 2,000 does not exist yet. The newest block is 1,559.'],
    ['ab'.repeat(31) + 'c', 'A hash has 64 characters, this has 63.'],
    ['ab'.repeat(32), t.search.hashUnknown],
    [`${'ab'.repeat(31)}xz`, 'This has the length of a hash, but “x” is not a hexadecimal digit (0–9, a–f).'],
    [`02${'ab'.repeat(32)}`, t.search.keyUnknown],
    [`51${'ab'.repeat(32)}`, t.search.scriptUnknown],
    [ADDRESS, t.search.addressUnknown],
    [`${ADDRESS.slice(0, -1)}9`, t.search.checksum],
    ['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfx', t.search.checksum],
    ['x'.repeat(91), t.search.tooLong],
    [
      '  <b>bold</b> ',
      '“<b>bold</b>” is neither a height, a time, a hash, an address nor part of the name of a mining pool or label.',
    ],
  ])('%s is explained', (query, sentence) => {
    expect(explain(query, known)).toBe(sentence)
  })

  it('that is an address of another chain is recognised', () => {
    expect(explain(ADDRESS, { ...known, network: MAIN })).toBe(
      'This is an address of BTQ regtest. This explorer shows BTQ, whose addresses begin with qbtc1, dbtc1, X, w or x.',
    )
    expect(explain('tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', { ...known, network: BITCOIN_MAIN })).toBe(
      'This is an address of Bitcoin testnet4, Bitcoin testnet3 or Bitcoin signet. This explorer shows Bitcoin, whose addresses begin with bc1, 1 or 3.',
    )
  })

  // From the test vectors of BIP 173, of the specification of CashAddr, and of the wallets of these coins.
  it.each([
    ['ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9', 'Litecoin'],
    ['LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1', 'Litecoin'],
    ['DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L', 'Dogecoin'],
    ['bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', 'Bitcoin Cash'],
    ['qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', 'Bitcoin Cash'],
    ['0x52908400098527886E0F7030069857D2E4169EE7', 'Ethereum'],
    ['1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'Bitcoin'],
  ])('that is %s, an address of another coin, is not called mistyped', (address, coin) => {
    expect(explain(address, known)).toMatch(`This is an address of ${coin}. This explorer shows BTQ regtest`)
    const mistyped = `${address.slice(0, -1)}${address.endsWith('a') ? 'c' : 'a'}`
    if (coin !== 'Ethereum') expect(explain(mistyped, known)).not.toMatch('address of')
  })

  it('that is an address of an unknown coin is not called mistyped', () => {
    expect(explain(encodeBase58check(33, Buffer.alloc(20, 7)), known)).toMatch(
      'a chain that this explorer does not know',
    )
  })

  it.each([1, 3, 5, 9, 20, 38])(
    'that lacks the last %d characters of an address is called incomplete',
    (missing) => {
      for (const network of [REGTEST, BITCOIN_MAIN]) {
        const script = Buffer.from(`0020${'ab'.repeat(32)}`, 'hex')
        const long = addressOf(script, network) ?? ''
        const beginning = long.slice(0, -missing)
        if (beginning.length !== addressOf(script.subarray(0, 22).fill(20, 1, 2), network)?.length)
          expect(explain(beginning, { ...known, network })).toBe(t.search.incomplete)
        const base58 = encodeBase58check(network.p2pkh, Buffer.alloc(20, 0xab)).slice(0, -missing)
        if (missing > 1 && base58.length > 14)
          expect(explain(base58, { ...known, network })).toBe(t.search.incomplete)
      }
    },
  )

  it('is explained in every language', () => {
    for (const language of LANGUAGES) {
      const words = MESSAGES[language]
      const sentence = explain('x'.repeat(91), { ...known, t: words, f: formatOf('en-GB', REGTEST) })
      expect(sentence).toBe(words.search.tooLong)
    }
    expect(MESSAGES.de.search.tooLong).not.toBe(t.search.tooLong)
  })
})

describe('the catalogue', () => {
  /** Returns the paths of all entries. */
  const entries = (value: unknown, path = ''): string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, each]) => entries(each, `${path}.${name}`))
      : [path]

  it('has the same entries in every language, none of them empty', () => {
    for (const language of LANGUAGES) {
      expect(entries(MESSAGES[language]).sort()).toEqual(entries(MESSAGES.en).sort())
      expect(JSON.stringify(MESSAGES[language])).not.toContain('""')
    }
  })
})
