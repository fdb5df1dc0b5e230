import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { type AddressForm, addressForms, addressOf } from '../../../pipelines/chain/address.js'
import { MAIN, type Network, REGTEST, TEST } from '../../../pipelines/chain/networks.js'
import { scriptType } from '../../../pipelines/chain/script.js'

/** A network as of Bitcoin, whose addresses of version 0 begin with the digit 1. */
const { dilithium: _, ...PLAIN } = MAIN
const BITCOIN: Network = { ...PLAIN, name: 'bitcoin', hrp: 'bc', p2pkh: 0, p2sh: 5 }

const isOf = (address: string, form: AddressForm): boolean => {
  if ('prefix' in form)
    return address.startsWith(form.prefix) && address.length === (form.length ?? address.length)
  const order = (one: string, other: string) => one.length - other.length || (one < other ? -1 : 1)
  return order(address, form.first) >= 0 && order(form.last, address) >= 0
}

describe('the forms of addresses', () => {
  const SCRIPTS = [
    ['76a914', 20, '88ac'],
    ['76a914', 20, '88bb'],
    ['a914', 20, '87'],
    ['0014', 20, ''],
    ['0020', 32, ''],
    ['5120', 32, ''],
    ['5220', 32, ''],
  ] as const

  it('tell the type of the script of any address', () => {
    const hash = fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.constantFrom(0, 255).map((byte) => new Uint8Array(32).fill(byte)),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(MAIN, TEST, REGTEST, BITCOIN),
        fc.constantFrom(...SCRIPTS),
        hash,
        (network, [before, size, after], bytes) => {
          const script = Buffer.from(
            before + Buffer.from(bytes.subarray(0, size)).toString('hex') + after,
            'hex',
          )
          const address = addressOf(script, network)
          if (address === undefined) return
          const types = addressForms(network)
            .filter((form) => isOf(address, form))
            .map(({ type }) => type)
          const type = scriptType(script, network)
          expect(types).toEqual(type === 'witness_unknown' ? [] : [type])
        },
      ),
      { numRuns: 2000 },
    )
  })
})
