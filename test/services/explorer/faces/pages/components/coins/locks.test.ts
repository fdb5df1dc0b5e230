import { describe, expect, it } from 'vitest'
import {
  locktimeText,
  replacementText,
  sequenceText,
} from '../../../../../../../services/explorer/faces/pages/components/coins/locks.js'
import { Format } from '../../../../../../../services/explorer/faces/pages/format.js'
import { MESSAGES } from '../../../../../../../services/explorer/faces/pages/language.js'

const page = { t: MESSAGES.en, f: new Format('en-GB') }
const SIGNALS = 'signals that it may be replaced (RBF)'
const SIGNALS_NOT = 'does not signal replacement (RBF)'

describe('a sequence in words', () => {
  it.each([
    [0xffff_ffff, 2, '0xffffffff: final, neither signals replacement nor locks'],
    [0xffff_fffe, 2, `0xfffffffe: ${SIGNALS_NOT}`],
    [0xffff_fffd, 2, `0xfffffffd: ${SIGNALS}`],
    [0, 2, `0x00000000: ${SIGNALS}`],
    [1, 2, `0x00000001: ${SIGNALS}; locked until the spent output has 1 confirmation`],
    [144, 2, `0x00000090: ${SIGNALS}; locked until the spent output has 144 confirmations`],
    // BIP 68 applies from version 2 on, and not with the highest bit.
    [144, 1, `0x00000090: ${SIGNALS}`],
    [0x8000_0090, 2, `0x80000090: ${SIGNALS}`],
    // Units of 512 seconds.
    [0x0040_0001, 2, `0x00400001: ${SIGNALS}; locked until 9 minutes after the block of the spent output`],
    [
      0x0040_ffff,
      2,
      `0x0040ffff: ${SIGNALS}; locked until 559,232 minutes after the block of the spent output`,
    ],
    // Other bits are ignored.
    [0x0001_0001, 2, `0x00010001: ${SIGNALS}; locked until the spent output has 1 confirmation`],
    // The version is unsigned.
    [1, 0xffff_ffff, `0x00000001: ${SIGNALS}; locked until the spent output has 1 confirmation`],
  ])('%i in version %i', (sequence, version, words) => {
    expect(sequenceText(page, sequence, version)).toBe(words)
  })
})

describe('a locktime in words', () => {
  const of = (locktime: number, sequences: readonly number[], count = sequences.length): string =>
    locktimeText(page, {
      locktime: String(locktime),
      input_count: count,
      inputs: sequences.map((sequence) => ({ sequence: String(sequence) })),
    })

  it('is a height, a time or no lock', () => {
    expect(of(0, [0])).toBe('0: no lock')
    expect(of(499_999_999, [0])).toBe('499,999,999: only in blocks after 499,999,999')
    expect(of(500_000_000, [0])).toBe(
      '500000000: only in blocks after 1985-11-05 00:53:20 UTC, by the median of their times',
    )
  })

  it('has no effect if every input is final, which is not known if there are more', () => {
    expect(of(7, [0xffff_ffff, 0xffff_ffff])).toBe('7: without effect, because every input is final')
    expect(of(7, [0xffff_ffff, 0xffff_fffe])).toBe('7: only in blocks after 7')
    expect(of(7, [0xffff_ffff], 2)).toBe('7: only in blocks after 7')
  })
})

describe('replacement in words', () => {
  const of = (sequences: readonly number[], count = sequences.length): string =>
    replacementText(page, {
      locktime: '0',
      input_count: count,
      inputs: sequences.map((sequence) => ({ sequence: String(sequence) })),
    })

  it('is signalled by any input', () => {
    expect(of([0xffff_ffff, 0xffff_fffd])).toBe(SIGNALS)
    expect(of([0xffff_ffff, 0xffff_fffe])).toBe(SIGNALS_NOT)
    expect(of([0xffff_ffff], 2)).toBe('no input on this page signals replacement (RBF)')
  })
})
