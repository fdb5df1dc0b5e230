import { describe, expect, it } from 'vitest'
import type { MempoolTx } from '../../../../pipelines/mempool/mempool-tx.js'
import { mempoolChange, reasonLeft } from '../../../../pipelines/poll/mempool/delta.js'

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

describe('reasonLeft', () => {
  it('is confirmed if a block contains it, whatever else holds', () => {
    const effect = { kind: 'confirmed', block: 'B', txid: 'a' } as const
    expect(reasonLeft(entry('a', 'x:0'), effect, () => 'other')).toEqual({
      txid: 'a',
      reason: 'confirmed',
      block: 'B',
    })
  })

  it('is replaced if another transaction of the mempool, or of a block, spends one of its inputs', () => {
    const conflict = { kind: 'conflict', block: 'B', txid: 'winner' } as const
    const byPool = reasonLeft(entry('a', 'x:0', 'y:1'), conflict, (outpoint) =>
      outpoint === 'y:1' ? 'new' : undefined,
    )
    expect(byPool).toEqual({ txid: 'a', reason: 'replaced', by: 'new' })
    expect(reasonLeft(entry('a', 'x:0'), conflict, none)).toEqual({
      txid: 'a',
      reason: 'replaced',
      by: 'winner',
    })
  })

  it('is evicted if nothing else explains it', () => {
    expect(reasonLeft(entry('a', 'x:0'), undefined, none)).toEqual({ txid: 'a', reason: 'evicted' })
    expect(reasonLeft(entry('a', 'x:0'), undefined, () => 'a')).toEqual({ txid: 'a', reason: 'evicted' })
  })
})
