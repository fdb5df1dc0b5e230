import { describe, expect, it } from 'vitest'
import type { MempoolTx } from '../../../../pipelines/mempool/mempool-tx.js'
import { type Cause, causesOf, mempoolChange, ownCause } from '../../../../pipelines/poll/mempool/delta.js'

const none = (): undefined => undefined

function entry(txid: string, ...outpoints: string[]): MempoolTx {
  return { txid, raw: Buffer.alloc(0), fee: 1n, firstSeen: 1, outpoints }
}

describe('poolChange', () => {
  it('returns what entered, in the order of the list, and what left', () => {
    const known = new Map([
      ['a', 1],
      ['b', 1],
    ])
    expect(mempoolChange(known, ['e', 'b', 'd', 'c'])).toEqual({ entered: ['e', 'd', 'c'], left: ['a'] })
    expect(mempoolChange(known, ['b', 'a'])).toEqual({ entered: [], left: [] })
    expect(mempoolChange(new Map(), [])).toEqual({ entered: [], left: [] })
  })

  it('ignores an id that is listed twice', () => {
    const known = new Map([
      ['a', 1],
      ['b', 1],
    ])
    expect(mempoolChange(known, ['a', 'a'])).toEqual({ entered: [], left: ['b'] })
    expect(mempoolChange(known, ['a', 'b', 'c', 'c'])).toEqual({ entered: ['c'], left: [] })
  })
})

describe('the cause that a transaction shows by itself', () => {
  const confirmed = { kind: 'confirmed', block: 'B', height: 7, txid: 'a' } as const
  const conflict = { kind: 'conflict', block: 'B', height: 7, txid: 'winner' } as const

  it('is a block that contains it, whatever else holds', () => {
    expect(ownCause(entry('a', 'x:0'), confirmed, () => 'other', 9)).toEqual({
      reason: 'confirmed',
      block: 'B',
      height: 7,
    })
  })

  it('is another transaction of the mempool, or of a block, that spends one of its inputs', () => {
    const byPool = ownCause(
      entry('a', 'x:0', 'y:1'),
      conflict,
      (outpoint) => (outpoint === 'y:1' ? 'new' : undefined),
      9,
    )
    expect(byPool).toEqual({ reason: 'replaced', by: 'new' })
    expect(ownCause(entry('a', 'x:0'), conflict, none, 9)).toEqual({ reason: 'replaced', by: 'winner' })
  })

  it('is its age, if the node has received it before the limit', () => {
    expect(ownCause(entry('a', 'x:0'), undefined, none, 2)).toEqual({ reason: 'expired' })
    expect(ownCause(entry('a', 'x:0'), undefined, none, 1)).toBeUndefined()
    expect(ownCause(entry('a', 'x:0'), undefined, () => 'a', 0)).toBeUndefined()
  })
})

describe('the causes of transactions that leave together', () => {
  it('are those of their ancestors, unless a block confirms these', () => {
    const [parent, child, grandchild, other] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(64))
    const left = [
      entry(grandchild!, `${child!}:0`),
      entry(child!, `${parent!}:1`),
      entry(parent!, 'x:0'),
      entry(other!, 'y:0'),
    ]
    const causes = (cause: Cause) => causesOf(left, ({ txid }) => (txid === parent ? cause : undefined))
    const replaced = { reason: 'replaced', by: 'new' } as const
    expect(causes(replaced)).toEqual([replaced, replaced, replaced, undefined])
    const confirmed = { reason: 'confirmed', block: 'B', height: 7 } as const
    expect(causes(confirmed)).toEqual([undefined, undefined, confirmed, undefined])
  })
})
