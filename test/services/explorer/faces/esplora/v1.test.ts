import { describe, expect, it } from 'vitest'
import { BITCOIN_MAIN, BITCOIN_REGTEST, type Network } from '../../../../../pipelines/chain/networks.js'
import type { ReadContext } from '../../../../../services/explorer/core/reads/read.js'
import { NO_CHAIN } from '../../../../../services/explorer/core/state/state.js'
import { validateAddress } from '../../../../../services/explorer/faces/esplora/v1/addresses.js'
import { difficultyAdjustment } from '../../../../../services/explorer/faces/esplora/v1/difficulty.js'

const START = 4_032
const [MINED, SPACING] = [500, 540]
const BITS = 0x1c00_8000
const HASH = '243f1394f44554f4ce3fd68649c19adc483ce924'
const PROGRAM = 'ab'.repeat(32)

const contextOf = (network: Network, recent: readonly object[] = []): ReadContext =>
  ({ chain: { ...NO_CHAIN, network, height: START + MINED, recent } }) as unknown as ReadContext

describe("mempool.space's API", () => {
  it('has the period of the difficulty, at its pace so far', () => {
    // The blocks of the period before had half the difficulty.
    const recent = Array.from({ length: 2 * MINED + 1 }, (_, index) => {
      const height = START - MINED + index
      const bits = height < START ? BITS * 2 - 0x1c00_0000 : BITS
      return { height, bits, time: 1_000_000 + height * SPACING }
    })
    const tip = recent.at(-1)!
    const answer = difficultyAdjustment.resolve(contextOf(BITCOIN_MAIN, recent), {}) as Record<string, number>
    const left = 2_016 - MINED
    expect(answer).toMatchObject({
      remainingBlocks: left,
      nextRetargetHeight: START + 2_016,
      previousTime: 1_000_000 + START * SPACING,
      timeAvg: SPACING * 1_000,
      expectedBlocks: (MINED * SPACING) / 600,
      remainingTime: left * SPACING * 1_000,
      estimatedRetargetDate: (tip.time + left * SPACING) * 1_000,
    })
    expect(answer['progressPercent']).toBeCloseTo((MINED / 2_016) * 100, 6)
    expect(answer['difficultyChange']).toBeCloseTo((600 / SPACING - 1) * 100, 0)
    expect(answer['previousRetarget']).toBeCloseTo(100, 0)
  })

  // The answers of Bitcoin Core 28.1.
  it.each([
    ['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn', `76a914${HASH}88ac`, { isscript: false, iswitness: false }],
    ['2MvYsspbAW1kBiXyNQPSz4VmZJSomMgYyUb', `a914${HASH}87`, { isscript: true, iswitness: false }],
    [
      'bcrt1qysl38985g420fn3l66rynsv6m3yre6fy726hhl',
      `0014${HASH}`,
      { isscript: false, iswitness: true, witness_version: 0, witness_program: HASH },
    ],
    [
      'bcrt1q4w46h2at4w46h2at4w46h2at4w46h2at4w46h2at4w46h2at4w4st06f5m',
      `0020${PROGRAM}`,
      { isscript: true, iswitness: true, witness_version: 0, witness_program: PROGRAM },
    ],
    [
      'bcrt1p4w46h2at4w46h2at4w46h2at4w46h2at4w46h2at4w46h2at4w4spc6qv8',
      `5120${PROGRAM}`,
      { isscript: true, iswitness: true, witness_version: 1, witness_program: PROGRAM },
    ],
    ['bcrt1pfeesnyr2tx', '51024e73', { isscript: true, iswitness: true }],
    [
      'bcrt1z4w46h2at4w46h2at4w46h2at4w46h2at4w46h2at4w46h2at4w4sf9r0zv',
      `5220${PROGRAM}`,
      { iswitness: true, witness_version: 2, witness_program: PROGRAM },
    ],
  ])('describes the address %s as the node does', (address, scriptPubKey, expected) => {
    expect(validateAddress.resolve(contextOf(BITCOIN_REGTEST), { address })).toEqual({
      isvalid: true,
      address,
      scriptPubKey,
      ...expected,
    })
  })

  it('describes no other text, such as an address of another chain', () => {
    for (const address of ['nonsense', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'])
      expect(validateAddress.resolve(contextOf(BITCOIN_REGTEST), { address })).toMatchObject({
        isvalid: false,
      })
  })
})
