import { describe, expect, it } from 'vitest'
import { BITCOIN_MAIN, type Network, REGTEST } from '../../../../../../pipelines/chain/networks.js'
import { scriptType } from '../../../../../../pipelines/chain/script.js'
import { multisigField } from '../../../../../../services/explorer/core/reads/script.js'
import { scriptName } from '../../../../../../services/explorer/faces/pages/components/scripts.js'
import { MESSAGES } from '../../../../../../services/explorer/faces/pages/language.js'

const KEY = `02${'ab'.repeat(32)}`

function nameOf(hex: string, network: Network, language: 'en' | 'de' = 'en'): string {
  const script = Buffer.from(hex, 'hex')
  const shown = { script_type: scriptType(script, network), ...multisigField(script, network) }
  return scriptName({ t: MESSAGES[language] }, { ...shown, script_pub_key: hex })
}

describe('the name of a script without an address', () => {
  it.each([
    [`21${KEY}ac`, BITCOIN_MAIN, 'P2PK 02abab…'],
    [`4d2005${'cd'.repeat(1312)}bb`, REGTEST, 'Dilithium P2PK cdcdcd…'],
    [`4d2005${'cd'.repeat(1312)}bb`, BITCOIN_MAIN, 'nonstandard'],
    [`52${`21${KEY}`.repeat(3)}53ae`, BITCOIN_MAIN, '2-of-3 multisig'],
    [`0111${`21${KEY}`.repeat(17)}0111ae`, BITCOIN_MAIN, '17-of-17 multisig'],
    [`53${`21${KEY}`.repeat(2)}52ae`, BITCOIN_MAIN, 'nonstandard'],
    ['6a0568656c6c6f', BITCOIN_MAIN, 'OP_RETURN'],
    ['', BITCOIN_MAIN, 'nonstandard'],
  ])('of %s', (hex, network, name) => {
    expect(nameOf(hex, network)).toBe(name)
  })

  it('is in the language of the page', () => {
    expect(nameOf(`51${`21${KEY}`.repeat(2)}52ae`, BITCOIN_MAIN, 'de')).toBe('1-von-2-Multisig')
  })
})
