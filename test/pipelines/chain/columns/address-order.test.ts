import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressOf } from '../../../../pipelines/chain/address.js'
import { addressKey, addressRanges } from '../../../../pipelines/chain/columns/address-order.js'
import { MAIN, type Network, REGTEST, SIGNET, TEST } from '../../../../pipelines/chain/networks.js'

/** A network as of Bitcoin, whose addresses of version 0 begin with the digit 1. */
const { dilithium: _, ...PLAIN } = MAIN
const BITCOIN: Network = { ...PLAIN, name: 'bitcoin', hrp: 'bc', p2pkh: 0, p2sh: 5 }

const LEAST = 4

/** The scripts around a hash or program. */
const SCRIPTS: readonly ((hash: string) => string)[] = [
  (hash) => `76a914${hash.slice(0, 40)}88ac`,
  (hash) => `76a914${hash.slice(0, 40)}88bb`,
  (hash) => `a914${hash.slice(0, 40)}87`,
  (hash) => `0014${hash.slice(0, 40)}`,
  (hash) => `0020${hash}`,
  (hash) => `5120${hash}`,
  (hash) => `5220${hash}`,
  (hash) => `5102${hash.slice(0, 4)}`,
  (hash) => `6003${hash.slice(0, 6)}`,
  (hash) => `5204${hash.slice(0, 8)}`,
  (hash) => `5105${hash.slice(0, 10)}`,
]

/** Returns whether a script is in a range for the beginning of an address. */
const finds = (begin: string, script: Buffer, network: Network): boolean => {
  const key = addressKey(script)
  return addressRanges(begin, LEAST, network).some(
    ({ first, last, begins }) => key >= first && key <= last && begins(script),
  )
}

describe('the order of addresses', () => {
  it('has the script of an address within the ranges of each of its beginnings', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      // Leading zero bytes are digits of their own in base 58.
      fc
        .tuple(fc.integer({ min: 1, max: 20 }), fc.uint8Array({ minLength: 32, maxLength: 32 }))
        .map(([zeros, hash]) => hash.fill(0, 0, zeros)),
      fc.constantFrom(new Uint8Array(32), new Uint8Array(32).fill(255)),
    )
    fc.assert(
      fc.property(
        bytes,
        fc.constantFrom(...SCRIPTS),
        fc.constantFrom(MAIN, TEST, SIGNET, REGTEST, BITCOIN),
        (hash, scriptOf, network) => {
          const script = Buffer.from(scriptOf(Buffer.from(hash).toString('hex')), 'hex')
          const address = addressOf(script, network)
          fc.pre(address !== undefined)
          const from = address.startsWith(`${network.hrp}1`) ? network.hrp.length + 1 + LEAST : LEAST
          for (let length = from; length <= address.length; length++) {
            const begin = address.slice(0, length)
            if (!finds(begin, script, network)) throw new Error(`${begin} does not find ${address}`)
            if (from > LEAST && !finds(begin.toUpperCase(), script, network))
              throw new Error(`${begin.toUpperCase()} does not find ${address}`)
          }
          return true
        },
      ),
      { numRuns: 500 },
    )
  })

  it('has few scripts within the ranges of a long beginning', () => {
    const sizes = (begin: string, network = BITCOIN): bigint[] =>
      addressRanges(begin, LEAST, network).map(({ first, last }) => last - first + 1n)
    // 4 characters after the version are 20 of the 40 bits of a key.
    expect(sizes('bc1qw508')).toEqual([1n << 20n])
    expect(sizes('bc1qw508d6qej')).toEqual([1n])
    // As the beginning of an address of 33 or of 34 characters.
    expect(sizes('1BoatSLRHtK')).toEqual([1n, 1n])
    const short = sizes('1Boat').reduce((sum, size) => sum + size, 0n)
    expect(Number(short)).toBeLessThan(2 ** 40 / 58 ** 3)
  })

  it('finds an address by the beginning of its other spelling', () => {
    const script = Buffer.from('0014f2f1d3a1b5a3b1c9d1d4e6a7b8c9dadbdcdddedf', 'hex')
    expect(finds('rdbt1q7tca', script, REGTEST)).toBe(true)
    expect(finds('rdbt1q7tcaq', script, REGTEST)).toBe(false)
  })

  it.each(['bc1', 'bc1q', 'bc1qw5', 'abc', '1', 'bc1bw508', 'bc1!w508', '0OIl', 'héllo', '1'.repeat(36), ''])(
    'has no range for %j',
    (begin) => {
      expect(addressRanges(begin, LEAST, BITCOIN)).toEqual([])
    },
  )
})
