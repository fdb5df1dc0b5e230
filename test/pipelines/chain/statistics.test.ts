import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dateOf, dayOf, dayOfDate } from '../../../pipelines/chain/time.js'
import { percentOf } from '../../../pipelines/chain/decimal.js'
import { movedBy } from '../../../pipelines/chain/moved.js'
import { isWitnessCommitment, opReturnPayload, pushedData } from '../../../pipelines/chain/script.js'

const hex = (text: string): Buffer => Buffer.from(text, 'hex')

describe('days', () => {
  it('begin and end at midnight UTC', () => {
    expect(dateOf(dayOf(1_771_804_800))).toBe('2026-02-23')
    expect(dateOf(dayOf(1_771_804_799))).toBe('2026-02-22')
    expect(dayOfDate('1970-01-01')).toBe(0)
    expect(dayOfDate('0001-01-01')).toBe(-719_162)
  })

  it('are parsed as they are written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 49_710 }), (day) => {
        expect(dayOfDate(dateOf(day))).toBe(day)
      }),
    )
  })

  it.each(['2026-02-29', '2026-13-01', '2026-00-10', '2026-1-1', '', 'x', '2026-02-28 '])(
    '%j is no day',
    (date) => {
      expect(dayOfDate(date)).toBeUndefined()
    },
  )
})

describe('percentages', () => {
  it.each([
    [1n, 8n, 2, '12.50'],
    [2n, 3n, 2, '66.67'],
    [1n, 3n, 4, '33.3333'],
    [0n, 0n, 2, '0.00'],
    [5n, 5n, 4, '100.0000'],
    [1n, 20_000n, 2, '0.01'],
    [1n, 20_001n, 2, '0.00'],
  ])('%s of %s, to %s places, is %s', (part, whole, places, text) => {
    expect(percentOf(part, whole, places)).toBe(text)
  })
})

describe('OP_RETURN', () => {
  it.each([
    ['6a', '', ''],
    ['6a00', '', ''],
    ['6a0568656c6c6f', '68656c6c6f', '68656c6c6f'],
    ['6a4c0568656c6c6f', '68656c6c6f', '68656c6c6f'],
    ['6a4d050068656c6c6f', '68656c6c6f', '68656c6c6f'],
    ['6a4e0500000068656c6c6f', '68656c6c6f', '68656c6c6f'],
    ['6a02aabb01cc', 'aabbcc', 'aabbcc'],
    ['6a02aabb0001cc', 'aabbcc', 'aabbcc'],
    // Not only pushes of data: all bytes that follow.
    ['6a51', '51', ''],
    ['6a4f', '4f', ''],
    ['6a60', '60', ''],
    ['6a5d02aabb', '5d02aabb', 'aabb'],
    ['6a02aabb7501cc', '02aabb7501cc', 'aabbcc'],
    // A push beyond the end of the script, whose length would be read as a space.
    ['6a05aabb', '05aabb', ''],
    ['6a20616263', '20616263', ''],
    ['6a0141206162', '0141206162', '41'],
    ['6a4c', '4c', ''],
    ['6a4e050000', '4e050000', ''],
  ])('%s carries %s and pushes %s', (script, data, pushed) => {
    const payload = opReturnPayload(hex(script))
    if (payload === undefined) throw new Error('there is no payload')
    expect(payload.data.toString('hex')).toBe(data)
    expect(pushedData(payload).toString('hex')).toBe(pushed)
  })

  it.each(['76a914', ''])('is not the script %s', (script) => {
    expect(opReturnPayload(hex(script))).toBeUndefined()
  })

  it('recognises a witness commitment by its header and length', () => {
    expect(isWitnessCommitment(hex(`6a24aa21a9ed${'00'.repeat(32)}`))).toBe(true)
    expect(isWitnessCommitment(hex(`6a24aa21a9ed${'00'.repeat(31)}`))).toBe(false)
    expect(isWitnessCommitment(hex(`6a24aa21a9ee${'00'.repeat(32)}`))).toBe(false)
  })
})

describe('the amount that a transaction moves', () => {
  const [a, b, c] = [hex('aa'), hex('bb'), hex('cc')]

  it('excludes outputs to a script among the inputs', () => {
    const outputs = [
      { script: a, value: 70n },
      { script: b, value: 20n },
      { script: c, value: 5n },
    ]
    expect(movedBy({ isCoinbase: false, outputs }, [{ script: a }])).toBe(25n)
    expect(movedBy({ isCoinbase: false, outputs }, [{ script: a }, { script: b }])).toBe(5n)
    expect(movedBy({ isCoinbase: false, outputs: outputs.slice(0, 1) }, [{ script: a }])).toBe(0n)
  })

  it('is zero for a coinbase', () => {
    expect(movedBy({ isCoinbase: true, outputs: [{ script: a, value: 500n }] }, [])).toBe(0n)
  })
})
