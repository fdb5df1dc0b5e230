import { describe, expect, it } from 'vitest'
import {
  changeInPercent,
  difficultyPeriod,
  nextBits,
  type TimedBlock,
} from '../../../pipelines/chain/difficulty.js'
import {
  BITCOIN_MAIN,
  BITCOIN_REGTEST,
  BITCOIN_TESTNET3,
  BITCOIN_TESTNET4,
  REGTEST,
} from '../../../pipelines/chain/networks.js'

const EASIEST = 0x1d00_ffff

describe('the bits after a period', () => {
  // Times of first and last block, bits before and after. The first seven are all of the recorded main chain; then block 32,256, the
  // first one that was harder, and the vectors of Bitcoin Core's tests (pow_tests.cpp), whose last two meet the limits of a factor of 4.
  it.each([
    [1231006505, 1233061996, EASIEST, EASIEST],
    [1233063531, 1234465122, EASIEST, EASIEST],
    [1234466190, 1235965467, EASIEST, EASIEST],
    [1235966513, 1237507400, EASIEST, EASIEST],
    [1237508786, 1239054978, EASIEST, EASIEST],
    [1239055463, 1240599092, EASIEST, EASIEST],
    [1240599098, 1242098000, EASIEST, EASIEST],
    [1261130161, 1262152739, EASIEST, 0x1d00_d86a],
    [1279008237, 1279297671, 0x1c05_a3f4, 0x1c01_68fd],
    [1263163443, 1269211443, 0x1c38_7f6f, 0x1d00_e1fd],
  ])('from %i to %i', (first, last, before, after) => {
    expect(nextBits(before, last - first, BITCOIN_MAIN)).toBe(after)
    expect(nextBits(before, last - first, BITCOIN_REGTEST)).toBe(before)
  })
})

/** Returns blocks from a height on, at a pace. @param bitsAt returns the bits of a block. */
function blocks(
  from: number,
  to: number,
  pace: number,
  bitsAt: (height: number) => number = () => 0x1c05_a3f4,
): TimedBlock[] {
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const height = from + index
    return { height, time: 1_700_000_000 + height * pace, bits: bitsAt(height) }
  })
}

describe('the period of the newest block', () => {
  it('is expected to continue at its pace', () => {
    // A tenth too fast: with the 2,015 gaps that the node counts, 1 / 0.9 and a little more.
    const period = difficultyPeriod(blocks(2016, 3000, 540), BITCOIN_MAIN)!
    expect(period).toMatchObject({
      start: 2016,
      next: 4032,
      secondsLeft: 1032 * 540,
      previousBits: undefined,
    })
    expect(changeInPercent(period.bits, period.expectedBits!)).toBe('11.17')
    expect(period.expectedBits).toBe(nextBits(0x1c05_a3f4, 2015 * 540, BITCOIN_MAIN))
  })

  it('is exact at its end', () => {
    const last = blocks(0, 2015, 700)
    const span = last[2015]!.time - last[0]!.time
    expect(difficultyPeriod(last, BITCOIN_MAIN)?.expectedBits).toBe(nextBits(0x1c05_a3f4, span, BITCOIN_MAIN))
  })

  it('has the pace of the chain at its beginning, and nothing to expect a change from', () => {
    const [before, after] = [0x1c05_a3f4, 0x1c05_0000]
    const chain = blocks(2000, 2016, 600, (height) => (height < 2016 ? before : after))
    expect(difficultyPeriod(chain, BITCOIN_MAIN)).toMatchObject({
      bits: after,
      previousBits: before,
      secondsLeft: 2016 * 600,
      expectedBits: undefined,
    })
  })

  it.each([BITCOIN_TESTNET3, BITCOIN_TESTNET4])('has no exceptions of test networks', (network) => {
    const chain = blocks(2016, 2100, 600, (height) => (height >= 2098 ? EASIEST : 0x1c05_a3f4))
    expect(difficultyPeriod(chain, network)?.bits).toBe(0x1c05_a3f4)
    expect(difficultyPeriod(chain, BITCOIN_MAIN)?.bits).toBe(EASIEST)
  })

  it('is followed by the bits that the node derives from its last block, an exception or not, but on testnet4', () => {
    const upTo = (height: number): TimedBlock[] =>
      blocks(2016, height, 600, (each) => (each === height ? EASIEST : 0x1c05_a3f4))
    const regular = nextBits(0x1c05_a3f4, 2015 * 600, BITCOIN_MAIN)
    // Not known before the last block: the difficulty of the period is assumed.
    expect(difficultyPeriod(upTo(4030), BITCOIN_TESTNET3)?.expectedBits).toBe(regular)
    expect(difficultyPeriod(upTo(4031), BITCOIN_TESTNET3)).toMatchObject({
      bits: 0x1c05_a3f4,
      expectedBits: nextBits(EASIEST, 2015 * 600, BITCOIN_MAIN),
    })
    expect(difficultyPeriod(upTo(4031), BITCOIN_TESTNET4)?.expectedBits).toBe(regular)
  })

  it('never ends on regtest', () => {
    expect(difficultyPeriod(blocks(0, 5000, 600), BITCOIN_REGTEST)).toMatchObject({
      start: 4032,
      next: undefined,
      secondsLeft: undefined,
      expectedBits: undefined,
    })
  })

  it('is one block where each changes the difficulty', () => {
    const chain = blocks(10, 20, 55, (height) => 0x1c05_0000 + height)
    expect(difficultyPeriod(chain, REGTEST)).toEqual({
      bits: 0x1c05_0014,
      previousBits: 0x1c05_0013,
      start: 20,
      startTime: chain.at(-1)!.time,
      next: 21,
      secondsLeft: 60,
      expectedBits: undefined,
    })
  })

  it('does not exist without blocks', () => {
    expect(difficultyPeriod([], BITCOIN_MAIN)).toBeUndefined()
  })
})
