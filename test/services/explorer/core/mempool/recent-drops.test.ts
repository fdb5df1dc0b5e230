import { describe, expect, it } from 'vitest'
import type { MempoolRemoval } from '../../../../../pipelines/mempool/mempool-events.js'
import { PoolLeft_Reason } from '../../../../../proto/gen/headwater/events/v1/events_pb.js'
import { NO_HISTORY } from '../../../../harness/no-history.js'
import { DroppedTxs } from '../../../../../services/explorer/core/mempool/dropped.js'
import { RecentDrops } from '../../../../../services/explorer/core/mempool/recent-drops.js'

const KB = 1024

function removal(txid: string, fields: Partial<MempoolRemoval> = {}): MempoolRemoval {
  const figures = { fee: 1n, vsize: 1, firstSeen: 7, signalled: undefined, blockHeight: undefined }
  return { txid, reason: PoolLeft_Reason.EVICTED, by: '', raw: Buffer.alloc(KB), ...figures, ...fields }
}

const replaced = (txid: string, by: string): MempoolRemoval =>
  removal(txid, { by, reason: PoolLeft_Reason.REPLACED, signalled: false })

describe('the transactions that left the mempool last', () => {
  it('are dropped from memory oldest first, with all that leads to them', () => {
    const drops = new RecentDrops(10 * 2 * KB)
    for (let position = 0; position < 1_000; position++)
      drops.note({ time: position, position, left: [replaced(`a${String(position)}`, 'b')] })
    const kept = drops.newest().map(({ txid }) => txid)
    expect(kept[0]).toBe('a999')
    expect(kept.length).toBeGreaterThan(9)
    expect(kept.length).toBeLessThan(14)
    expect(drops.replacedBy('b')).toHaveLength(kept.length)
    expect(drops.get('a0')).toBeUndefined()
    expect(drops.get(kept.at(-1)!)?.position).toBe(1_000 - kept.length)
  })

  it('are those that left last, if one leaves twice', async () => {
    const drops = new RecentDrops()
    drops.note({ time: 1, position: 1, left: [replaced('a', 'b')] })
    drops.note({ time: 2, position: 2, left: [removal('a')] })
    const dropped = new DroppedTxs(drops, NO_HISTORY)
    expect((await dropped.find('a'))?.reason).toBe(PoolLeft_Reason.EVICTED)
    expect((await dropped.replacedBy(['b'])).map(({ txid, position }) => [txid, position])).toEqual([
      ['a', 1],
    ])
  })

  it('are those that had left when an answer was begun', async () => {
    const drops = new RecentDrops()
    drops.note({ time: 1, position: 1, left: [replaced('a', 'c')] })
    const earlier = new DroppedTxs(drops, NO_HISTORY)
    drops.note({ time: 2, position: 2, left: [replaced('b', 'c')] })
    const all = { limit: 10, unsignalled: true }
    const txids = async (dropped: DroppedTxs) => (await dropped.replaced(all)).map(({ txid }) => txid)
    expect(await txids(earlier)).toEqual(['a'])
    expect(await earlier.find('b')).toBeUndefined()
    expect((await earlier.replacedBy(['c'])).map(({ txid }) => txid)).toEqual(['a'])
    expect(await txids(new DroppedTxs(drops, NO_HISTORY))).toEqual(['b', 'a'])
  })

  it('do not include confirmed ones, of which the earliest time is known', async () => {
    const drops = new RecentDrops()
    const seenAt = (position: number, firstSeen: number): void => {
      const left = [removal('a', { reason: PoolLeft_Reason.CONFIRMED, by: 'block', firstSeen })]
      drops.note({ time: position, position, left })
    }
    seenAt(1, 5)
    seenAt(2, 9)
    const dropped = new DroppedTxs(drops, NO_HISTORY)
    expect(await dropped.firstSeen('a')).toBe(5)
    expect(await dropped.find('a')).toBeUndefined()
  })
})
