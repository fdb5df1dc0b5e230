import { describe, expect, it } from 'vitest'
import { isWalletText } from '../../../../../services/explorer/core/wallets/wallet-text.js'

// From the test vectors of BIP 32, 39, 84 and 380.
const XPUB =
  'xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8'
const ZPUB =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs'
const KEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
const WIF = 'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn'

describe('a text that may be of a wallet', () => {
  it.each([
    XPUB,
    ZPUB,
    XPUB.replace('xpub', 'xprv'),
    XPUB.slice(0, 5),
    ` ${XPUB}\n`,
    `[d34db33f/84h/0h/0h]${XPUB}/0/*`,
    `https://blockpath.com/search/addr?q=${XPUB}`,
    `wpkh(${XPUB}/0/*)#abcdefgh`,
    `sh(multi(1,${KEY}))`,
    `tr(`,
    WIF,
    WIF.slice(0, 40),
    '5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ',
    'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about',
    'Abandon Abandon Abandon Abandon Abandon Abandon Abandon Abandon Abandon Abandon Abandon About',
    'legal winner thank year wave sausage',
  ])('%s', (text) => {
    expect(isWalletText(text)).toBe(true)
  })

  it.each([
    '',
    '840000',
    '2026-11-20 14:30',
    KEY,
    KEY.toUpperCase(),
    'c'.repeat(64),
    `${'C5'.repeat(16)}${'c5'.repeat(16)}`,
    `https://mempool.space/tx/${'9f'.repeat(32)}`,
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
    '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy',
    'LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1',
    'addr(3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy)#abcdefgh',
    'Foundry USA',
    'the public goods fund',
    'Satoshi (first address)',
  ])('is not: %s', (text) => {
    expect(isWalletText(text)).toBe(false)
  })
})
