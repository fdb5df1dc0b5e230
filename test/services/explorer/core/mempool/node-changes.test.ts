import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Pipeline } from '../../../../harness/pipeline.js'
import { until } from '../../../../harness/until.js'
import { blockOn, type FakeBlock, type FakeTx, grow, tx } from '../../../../pipelines/poll/fake-chain.js'
import { FakeNode } from '../../../../pipelines/poll/fake-node.js'
import { FeedClient } from '../../feed-client.js'

interface Event {
  readonly seq: number
  readonly data: {
    readonly txid: string
    readonly removed?: {
      readonly reason: string
      readonly block_hash: string | null
      readonly replaced_by: string | null
    }
  }
}

describe('changes of the node', () => {
  let node: FakeNode
  let pipeline: Pipeline
  const coinbaseAt = (height: number): FakeTx => node.chain[height]!.txs[0]!

  beforeAll(async () => {
    node = await FakeNode.start(grow([], 8))
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      chain: 'btq-regtest',
    })
    await pipeline.level()
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it('of its minimum fee rate are the floor of the recommended fees, in both directions, although nothing else changes', async () => {
    const recommended = async (minimum: string) =>
      until(`the minimum is ${minimum}`, async () => {
        const { body } = await pipeline.get('/fees/recommended')
        return body.minimumFeeRate === minimum && body
      })
    await recommended('1.00')
    for (const [mempoolminfee, expected] of [
      [0.00005, '5.00'],
      [0.000001, '0.10'],
    ] as const) {
      node.relayFees = { mempoolminfee, minrelaytxfee: 0.000001, incrementalrelayfee: 0.000001 }
      await pipeline.poll()
      const { items, relayFeeRate, incrementalFeeRate } = await recommended(expected)
      expect(new Set(items.map(({ feeRate }: { feeRate: string }) => feeRate))).toEqual(new Set([expected]))
      expect([relayFeeRate, incrementalFeeRate]).toEqual(['0.10', '0.10'])
    }
    node.relayFees = { mempoolminfee: 0.000001 }
    await pipeline.poll()
    await until('what the node does not report is null', async () => {
      const { body } = await pipeline.get('/fees/recommended')
      return body.relayFeeRate === null && body.incrementalFeeRate === null
    })
  })

  it('of its mempool are sent with removals, and without them as before', async () => {
    const [arrivals, both] = [
      await FeedClient.connect(pipeline.url, '/ws'),
      await FeedClient.connect(pipeline.url, '/ws'),
    ]
    await arrivals.subscribe('mempool')
    both.send({ type: 'subscribe', channel: 'mempool', removals: true })
    await both.reply({ type: 'subscribed', channel: 'mempool', removals: true })
    const [seen, late, replaced] = [tx(coinbaseAt(1)), tx(coinbaseAt(2)), tx(coinbaseAt(3))]
    const replacement = tx(coinbaseAt(3))
    for (const each of [seen, replaced]) node.enter(each)
    await pipeline.level()
    node.mempool.delete(replaced.txid)
    node.enter(replacement, 0.00002)
    await pipeline.level()
    node.mempool.delete(seen.txid)
    const before: readonly FakeBlock[] = node.chain
    node.chain = [...before, blockOn(before, [seen, late])]
    await pipeline.level()
    const first = node.chain.at(-1)!
    // A reorganisation returns one of them.
    node.chain = [...before, blockOn(before, [late], 9n)]
    node.enter(seen)
    await pipeline.level()

    const short = ({ data: { txid, removed } }: Event): string => `${txid} ${removed?.reason ?? 'enters'}`
    const all = (await both.events('mempool', 8)) as unknown as Event[]
    expect(new Set(all.slice(0, 2).map(short))).toEqual(
      new Set([`${seen.txid} enters`, `${replaced.txid} enters`]),
    )
    expect(all.slice(2).map(short)).toEqual([
      `${replaced.txid} replaced`,
      `${replacement.txid} enters`,
      `${seen.txid} confirmed`,
      `${late.txid} enters`,
      `${late.txid} confirmed`,
      `${seen.txid} enters`,
    ])
    expect(all[2]?.data.removed?.replaced_by).toBe(replacement.txid)
    expect(all[4]?.data.removed).toMatchObject({ block_hash: first.hash, block_height: first.height })
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => all[0]!.seq + index))
    const entered = (await arrivals.events('mempool', 5)) as unknown as Event[]
    expect(entered.map(short)).toEqual(all.map(short).filter((text) => text.endsWith('enters')))
    expect(entered.map(({ seq }) => seq)).toEqual(entered.map((_, index) => entered[0]!.seq + index))
    await arrivals.close()
    await both.close()
  })

  it('are listed with all txids, in parts', async () => {
    const more = Array.from({ length: 5 }, () => tx(tx()))
    for (const each of more) node.enter(each)
    await pipeline.level({ tip: node.chain.at(-1)!.hash, mempoolSize: node.mempool.size })
    const found: string[] = []
    let path = '/mempool/txids?limit=2'
    for (let part = 0; path !== ''; part++) {
      const { body } = await pipeline.get(path)
      found.push(...body.items)
      expect([body.total, body.limit]).toEqual([node.mempool.size, 2])
      path = body.next_cursor === null ? '' : `/mempool/txids?limit=2&cursor=${body.next_cursor as string}`
    }
    expect(found).toEqual([...node.mempool.keys()].sort())
    expect((await pipeline.get('/mempool/txids?cursor=AAAAAAAA')).status).toBe(400)
  })
})
