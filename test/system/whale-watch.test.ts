import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { naiveMoved } from '../harness/naive-statistics.js'
import { baseUnits } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { readFrames, TIMELINE } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'
import { FeedClient, type FeedEvent } from '../services/explorer/feed-client.js'

/** Frames around a reorganisation after which transactions are in the mempool again. */
const [FIRST, LAST] = IS_WHOLE ? [700, 760] : [716, 740]
const THRESHOLD = 200_000_000n

interface Alert {
  readonly txid: string
  readonly value: string
  readonly block_height: number | null
}

const alertOf = ({ data }: FeedEvent): Alert => data as Alert

describe('the channel of whale alerts', () => {
  const frames = readFrames()
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let client: FeedClient

  const level = (index: number): Promise<void> =>
    pipeline.level({
      tip: frames[index]?.chaininfo.bestblockhash ?? '',
      mempoolSize: frames[index]?.mempoolinfo.size ?? 0,
      poolFees: baseUnits(frames[index]?.mempoolinfo.total_fee ?? 0),
    })

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: FIRST })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { whaleMinValue: THRESHOLD },
    })
    await level(FIRST)
    client = await FeedClient.connect(pipeline.url, '/ws')
    await client.subscribe('whale-alerts')
  })
  afterAll(async () => {
    await client.close()
    await pipeline.close()
    await node.close()
  })

  it('publishes each transaction once, when first seen, through a reorganisation, and never ahead of the reads', async () => {
    const seenBefore = new Set(Object.keys(frames[FIRST]?.mempool ?? {}))
    const expected = new Map<string, string>()
    for (let index = FIRST + 1; index <= LAST; index++) {
      node.step(1)
      await level(index)
      for (const { block } of frames[index]?.connected ?? [])
        for (const tx of block.tx) {
          const moved = naiveMoved(tx) ?? 0n
          if (moved > THRESHOLD && !seenBefore.has(tx.txid)) expected.set(tx.txid, moved.toString())
        }
    }
    // Events of transactions that stay in the mempool are among them: a count alone proves nothing.
    const events = await until('an alert of each transaction', async () => {
      const reported = await client.events('whale-alerts', expected.size)
      const txids = new Set(reported.map(alertOf).map(({ txid }) => txid))
      return [...expected.keys()].every((txid) => txids.has(txid)) && reported
    })
    const alerts = events.map(alertOf)
    const txids = alerts.map(({ txid }) => txid)
    expect(new Set(txids).size).toBe(txids.length)
    for (const [txid, value] of expected)
      expect(alerts.find((alert) => alert.txid === txid)).toMatchObject({ txid, value })
    const inMempool = new Set(frames.slice(FIRST, LAST + 1).flatMap(({ mempool }) => Object.keys(mempool)))
    for (const { txid, block_height } of alerts) {
      if (block_height === null) expect(inMempool).toContain(txid)
      else expect(expected.has(txid)).toBe(true)
    }
    expect(alerts.some(({ block_height }) => block_height === null)).toBe(true)
    events.forEach(({ seq }, at) => {
      expect(seq).toBe((events[0]?.seq ?? 0) + at)
    })
    const listed = (await pipeline.get(`/whale-alerts?limit=100&minValue=${String(THRESHOLD)}`)).body.items
    const found = new Set(listed.map(({ txid }: { txid: string }) => txid))
    for (const txid of expected.keys()) expect(found).toContain(txid)
  })
})
