import { describe, expect, it } from 'vitest'
import { addressOf } from '../../../../pipelines/chain/address.js'
import { keyScript, otherKeyScripts } from '../../../../pipelines/chain/keys/public-key.js'
import { BITCOIN_MAIN, REGTEST } from '../../../../pipelines/chain/networks.js'
import { keyOf, scriptType } from '../../../../pipelines/chain/script.js'

const hex = (text: string): Buffer => Buffer.from(text, 'hex')
const addresses = (key: string): (string | undefined)[] =>
  otherKeyScripts(hex(key), BITCOIN_MAIN).map((script) => addressOf(script, BITCOIN_MAIN))

// The first receiving key of the mnemonic of BIP 84 and of BIP 86, whose documents have the addresses.
const BIP84 = '0330d54fd0dd420a6e5f8d3624f5f3482cae350f79d5f0753bf5beef9c2d91af3c'
const BIP86 = '02cc8a4bc64d897bddc5fbc2f670f7a8ba0b386779106cf1223c6fc5d7cd6fc115'
/** The generator of the curve, whose addresses are widely known. */
const GENERATOR = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
const UNCOMPRESSED =
  '0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8'

describe('the scripts of a public key', () => {
  it('are those of the published vectors', () => {
    expect(addresses(BIP84)).toContain('bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu')
    expect(addresses(BIP86)).toContain('bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr')
    expect(addresses(GENERATOR)).toEqual([
      '1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH',
      'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
      '3JvL6Ymt8MVWiCNHC7oWU6nLeHNJKLZGLN',
      undefined,
      '1EHNa6Q4Jz2uvNExL497mE43ikXhwF6kZm',
      'bc1pmfr3p9j00pfxjh0zmgp99y8zftmd3s5pmedqhyptwy6lm87hf5sspknck9',
    ])
  })

  it('are the same for both forms of a key, but the script of the key itself', () => {
    const both = [GENERATOR, UNCOMPRESSED].map((key) => {
      const own = keyScript(hex(key), BITCOIN_MAIN)!
      return [own, ...otherKeyScripts(hex(key), BITCOIN_MAIN)].map((script) => script.toString('hex')).sort()
    })
    expect(both[0]).toEqual(both[1])
  })

  it('have no point to compute with if the key is none', () => {
    expect(otherKeyScripts(hex(`02${'ff'.repeat(32)}`), BITCOIN_MAIN)).toHaveLength(3)
    expect(otherKeyScripts(hex('02ff'), BITCOIN_MAIN)).toEqual([])
  })

  it('pay to plain keys on every chain, and to Dilithium keys where there are any', () => {
    const dilithium = Buffer.alloc(1312, 7)
    expect(scriptType(keyScript(hex(GENERATOR), BITCOIN_MAIN)!, BITCOIN_MAIN)).toBe('pubkey')
    expect(keyScript(dilithium, BITCOIN_MAIN)).toBeUndefined()
    const script = keyScript(dilithium, REGTEST)!
    expect(scriptType(script, REGTEST)).toBe('dilithium_pubkey')
    expect(keyOf(script, REGTEST)).toEqual(dilithium)
  })
})
