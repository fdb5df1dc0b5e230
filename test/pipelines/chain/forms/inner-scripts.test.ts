import { describe, expect, it } from 'vitest'
import { innerScripts } from '../../../../pipelines/chain/forms/inner-scripts.js'
import { BITCOIN_REGTEST, REGTEST } from '../../../../pipelines/chain/networks.js'

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
const P2SH = bytes(`a914${'11'.repeat(20)}87`)
const P2WSH = bytes(`0020${'22'.repeat(32)}`)
const P2WPKH = bytes(`0014${'33'.repeat(20)}`)
const P2TR = bytes(`5120${'44'.repeat(32)}`)
const P2MR = bytes(`5220${'55'.repeat(32)}`)
const SCRIPT = bytes('51ac')
const CONTROL = bytes(`c0${'66'.repeat(32)}`)
const ANNEX = bytes('50aa')
const SIGNATURE = Buffer.alloc(64, 7)
const NONE = Buffer.alloc(0)

/** A push of bytes, as the last instruction of a scriptSig. */
const push = (data: Buffer): Buffer => Buffer.concat([Buffer.from([data.length]), data])

describe('innerScripts', () => {
  it('finds the script of P2SH', () => {
    const scriptSig = Buffer.concat([push(SIGNATURE), push(SCRIPT)])
    expect(innerScripts({ scriptSig, witness: [] }, P2SH, BITCOIN_REGTEST)).toEqual({ redeemScript: SCRIPT })
    expect(innerScripts({ scriptSig: NONE, witness: [] }, P2SH, BITCOIN_REGTEST)).toEqual({})
    expect(innerScripts({ scriptSig: bytes('05aa'), witness: [] }, P2SH, BITCOIN_REGTEST)).toEqual({})
  })

  it('finds both scripts of P2SH-P2WSH, and one of P2SH-P2WPKH', () => {
    const witness = [NONE, SIGNATURE, SCRIPT]
    expect(innerScripts({ scriptSig: push(P2WSH), witness }, P2SH, BITCOIN_REGTEST)).toEqual({
      redeemScript: P2WSH,
      witnessScript: SCRIPT,
    })
    expect(innerScripts({ scriptSig: push(P2WPKH), witness }, P2SH, BITCOIN_REGTEST)).toEqual({
      redeemScript: P2WPKH,
    })
  })

  it('finds the script of P2WSH, and none of P2WPKH', () => {
    const input = { scriptSig: NONE, witness: [SIGNATURE, SCRIPT] }
    expect(innerScripts(input, P2WSH, BITCOIN_REGTEST)).toEqual({ witnessScript: SCRIPT })
    expect(innerScripts(input, P2WPKH, BITCOIN_REGTEST)).toEqual({})
    expect(innerScripts({ scriptSig: NONE, witness: [] }, P2WSH, BITCOIN_REGTEST)).toEqual({})
  })

  it('finds the leaf of P2TR, with and without an annex, and none for a spend by key', () => {
    const of = (witness: Buffer[]) => innerScripts({ scriptSig: NONE, witness }, P2TR, BITCOIN_REGTEST)
    expect(of([SIGNATURE, SCRIPT, CONTROL])).toEqual({ witnessScript: SCRIPT })
    expect(of([SIGNATURE, SCRIPT, CONTROL, ANNEX])).toEqual({ witnessScript: SCRIPT })
    expect(of([SIGNATURE])).toEqual({})
    expect(of([SIGNATURE, ANNEX])).toEqual({})
  })

  it('finds the leaf of P2MR, which has no annex', () => {
    const of = (witness: Buffer[]) => innerScripts({ scriptSig: NONE, witness }, P2MR, REGTEST)
    expect(of([SIGNATURE, SCRIPT, CONTROL])).toEqual({ witnessScript: SCRIPT })
    expect(innerScripts({ scriptSig: NONE, witness: [SCRIPT, CONTROL] }, P2MR, BITCOIN_REGTEST)).toEqual({})
  })
})
