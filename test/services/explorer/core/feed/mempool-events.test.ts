import { describe, expect, it } from 'vitest'
import type { MempoolDelta } from '../../../../../pipelines/mempool/mempool-events.js'
import { PoolLeft_Reason } from '../../../../../proto/gen/headwater/events/v1/events_pb.js'
import { Feed } from '../../../../../services/explorer/core/feed/feed.js'
import { publishDelta } from '../../../../../services/explorer/core/feed/mempool-events.js'

interface Message {
  readonly channel: string
  readonly seq: number
  readonly data: {
    readonly txid: string
    readonly fee: string
    readonly removed?: { readonly reason: string }
  }
}

const tx = (txid: string) => ({ txid, fee: 300n, vsize: 100 })
const left = (txid: string, reason: PoolLeft_Reason, by = '', blockHeight?: number) => ({
  ...tx(txid),
  reason,
  by,
  blockHeight,
  firstSeen: undefined,
  raw: Buffer.alloc(0),
  signalled: undefined,
})
const PLACE = { position: 0, time: 0 }
const NOTHING: MempoolDelta = { ...PLACE, entered: [], left: [], passed: [], enteredBefore: 0, leftBefore: 0 }

describe('a change of the mempool', () => {
  const publishAll = (deltas: readonly (MempoolDelta & { readonly txs: readonly string[] })[]) => {
    const feed = new Feed(() => undefined)
    for (const delta of deltas) publishDelta(feed, delta, delta.txs.map(tx))
    const messages = (stream: 'mempool' | 'mempool-with-removals'): Message[] =>
      (feed.missed(stream, 0) ?? []).map(({ text }) => JSON.parse(text) as Message)
    return { feed, messages }
  }

  it('is numbered without gaps for clients that want arrivals, and for those that want removals too', () => {
    const passed = [{ ...tx('p'), block: 'B', blockHeight: 8 }]
    const { messages } = publishAll([
      { ...NOTHING, txs: ['a', 'b', 'c'] },
      // One change, of which the log has two parts.
      {
        ...PLACE,
        enteredBefore: 3,
        leftBefore: 0,
        entered: [],
        passed,
        txs: ['d'],
        left: [
          left('a', PoolLeft_Reason.CONFIRMED, 'B', 8),
          left('b', PoolLeft_Reason.REPLACED, 'd'),
          left('c', PoolLeft_Reason.EVICTED),
        ],
      },
      { ...NOTHING, enteredBefore: 5, leftBefore: 4, txs: ['e'] },
      {
        ...NOTHING,
        enteredBefore: 6,
        leftBefore: 4,
        txs: [],
        left: [left('d', PoolLeft_Reason.EXPIRED), left('e', PoolLeft_Reason.UNKNOWN)],
      },
    ])
    const arrivals = messages('mempool')
    expect(arrivals.map(({ channel, seq, data }) => [channel, seq, data])).toEqual(
      ['a', 'b', 'c', 'p', 'd', 'e'].map((txid, index) => [
        'mempool',
        index + 1,
        { txid, fee: '300', vsize: 100 },
      ]),
    )
    const all = messages('mempool-with-removals')
    expect(all.map(({ channel, seq }) => [channel, seq])).toEqual(
      Array.from({ length: 12 }, (_, index) => ['mempool', index + 1]),
    )
    expect(all.map(({ data }) => `${data.txid} ${data.removed?.reason ?? 'enters'}`)).toEqual([
      'a enters',
      'b enters',
      'c enters',
      'a confirmed',
      'b replaced',
      'c evicted',
      'p enters',
      'p confirmed',
      'd enters',
      'e enters',
      'd expired',
      'e unknown',
    ])
    const none = { block_hash: null, block_height: null, replaced_by: null }
    expect(all[3]?.data).toEqual({
      txid: 'a',
      fee: '300',
      vsize: 100,
      removed: { ...none, reason: 'confirmed', block_hash: 'B', block_height: 8 },
    })
    expect(all[4]?.data.removed).toEqual({ ...none, reason: 'replaced', replaced_by: 'd' })
    expect(all[5]?.data.removed).toEqual({ ...none, reason: 'evicted' })
  })
})
