import { createHash } from 'node:crypto'
import { bech32, bech32m, createBase58check } from '@scure/base'
import { describe, expect, it } from 'vitest'
import { addressOf, decodeAddress, hasAddress } from '../../../pipelines/chain/address.js'
import { NETWORKS } from '../../../pipelines/chain/networks.js'

const base58check = createBase58check((bytes: Uint8Array) =>
  Uint8Array.from(createHash('sha256').update(bytes).digest()),
)

/** Returns bytes that depend on a number, of which the first are zeros. */
function bytesOf(seed: number, length: number, zeros = 0): Buffer {
  const bytes = createHash('sha512').update(String(seed)).digest().subarray(0, length)
  return Buffer.from(bytes.fill(0, 0, zeros))
}

const networks = [...NETWORKS.values()]

describe('an address', () => {
  it('of a witness program is that of a general encoder, and is decoded to its script', () => {
    for (const network of networks) {
      for (let version = 0; version <= 16; version++) {
        for (const length of version === 0 ? [20, 32] : [2, 3, 20, 31, 32, 33, 39, 40]) {
          const program = bytesOf(version * 100 + length, length, length % 4)
          const script = Buffer.from([version === 0 ? 0 : 0x50 + version, length, ...program])
          const coder = version === 0 ? bech32 : bech32m
          const expected = coder.encode(
            network.hrp,
            [version, ...coder.toWords(Uint8Array.from(program))],
            90,
          )
          const address = addressOf(script, network)
          expect(address).toBe(expected)
          expect(decodeAddress(expected, network)?.script).toEqual(script)
        }
      }
    }
  })

  it('of a hash is that of a general encoder, with any number of leading zeros', () => {
    for (const network of networks) {
      for (let seed = 0; seed < 200; seed++) {
        const hash = bytesOf(seed, 20, seed % 21)
        const script = Buffer.from([0x76, 0xa9, 20, ...hash, 0x88, 0xac])
        const expected = base58check.encode(Uint8Array.from([network.p2pkh, ...hash]))
        expect(addressOf(script, network)).toBe(expected)
        expect(decodeAddress(expected, network)?.script).toEqual(script)
      }
    }
  })

  it('is there exactly if `hasAddress` says so, for all values of each byte outside of the hash', () => {
    const forms = [
      { before: [0x76, 0xa9, 20], length: 20, after: [0x88, 0xac] },
      { before: [0xa9, 20], length: 20, after: [0x87] },
      { before: [0, 20], length: 20, after: [] },
      { before: [0x52, 32], length: 32, after: [] },
      { before: [33], length: 33, after: [0xac] },
      { before: [0x6a, 20], length: 20, after: [] },
    ]
    const found = new Set<boolean>()
    for (const network of networks) {
      for (const { before, length, after } of forms) {
        const script = Buffer.from([...before, ...bytesOf(length, length), ...after])
        const outside = [...before.keys(), ...after.map((_, at) => before.length + length + at)]
        for (const at of outside) {
          for (let byte = 0; byte < 256; byte++) {
            const changed = Buffer.from(script)
            changed[at] = byte
            const has = hasAddress(changed, network)
            expect(has, changed.toString('hex')).toBe(addressOf(changed, network) !== undefined)
            found.add(has)
          }
        }
      }
    }
    expect(found.size).toBe(2)
  })
})
