import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import {
  Channel,
  type ChannelEvent,
  ReadsService,
} from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { startRecordedNode } from '../../../../../services/recorded-node/node.js'
import { type RpcClient, rpcClient } from '../../../../../services/rpc/client.js'
import { Code, type RpcError } from '../../../../../services/rpc/error.js'
import { Pipeline } from '../../../../harness/pipeline.js'
import { readFrames, TIMELINE } from '../../../../harness/recording.js'
import { until } from '../../../../harness/until.js'
import { FeedClient } from '../../feed-client.js'
import { type BareRpc, failureOf, startBareRpc } from './bare-rpc.js'
import { CHANNELS } from '../../../../../services/explorer/core/feed/channels.js'
import { RpcFeedClient } from './rpc-feed-client.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** A reorganisation of depth two; the frames around it contain transactions that enter the mempool. */
const REORG = 728

describe('a gRPC subscription to chain events', () => {
  const frames = readFrames()
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let client: RpcClient<typeof ReadsService>

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: REORG - 3 })
    const explorer = { grpcPort: 0, whaleMinValue: 0n }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    client = rpcClient(ReadsService, pipeline.grpcAddress)
    await pipeline.level({ tip: frames[REORG - 3]!.chaininfo.bestblockhash })
  })
  afterAll(async () => {
    client.close()
    await pipeline.close()
    await node.close()
  })

  it('receives every channel as on the WebSocket, and again after a reconnection', async () => {
    const socket = await FeedClient.connect(pipeline.url, '/ws')
    const streams = await Promise.all(
      CHANNELS.map(async ({ name }) => {
        await socket.subscribe(name)
        return RpcFeedClient.subscribe(client, name)
      }),
    )
    for (let frame = REORG - 2; frame <= REORG + 3; frame++) {
      node.step(1)
      const { chaininfo, mempoolinfo } = frames[frame]!
      await pipeline.level({ tip: chaininfo.bestblockhash, mempoolSize: mempoolinfo.size })
    }
    for (const stream of streams) {
      // The socket has subscribed first, and may have received more.
      const [first] = await stream.first(1)
      const reported = await until(`the socket has event ${String(first!.seq)}`, async () => {
        const events = (await socket.events(stream.channel, 1)).filter(({ seq }) => seq >= first!.seq)
        return events.length > 0 && events
      })
      expect(await stream.first(reported.length), stream.channel).toEqual(reported)
      const [{ seq }] = reported as [(typeof reported)[0]]
      const back = await RpcFeedClient.subscribe(client, stream.channel, seq - 1)
      expect(await back.first(reported.length), stream.channel).toEqual(reported)
      back.close()
      stream.close()
    }
    await socket.close()
  })
})

const NAMES = CHANNELS.map(({ name }) => name).join(', ')
const BAD_CHANNEL = `channel must be one of ${NAMES}, or address: and an address`

describe('a gRPC subscription', () => {
  let bare: BareRpc

  beforeEach(async () => {
    bare = await startBareRpc()
  })
  afterEach(async () => {
    await bare.close()
  })

  const publish = (count: number): void => {
    for (let index = 0; index < count; index++)
      bare.feed.publish('blocks', { height: index, hash: 'ab'.repeat(32), tx_count: 1 })
  }
  const subscribe = (since?: number) => RpcFeedClient.subscribe(bare.client, 'blocks', since)
  const seqs = (events: readonly ChannelEvent[]): number[] => events.map(({ seq }) => Number(seq))
  const received = (client: RpcFeedClient, count: number) =>
    until(`${String(count)} events`, () => client.events.length >= count)

  it('continues after the last event that the client has', async () => {
    publish(10)
    const client = await subscribe(7)
    await received(client, 3)
    publish(2)
    await received(client, 5)
    expect(seqs(client.events)).toEqual([8, 9, 10, 11, 12])
    client.close()
  })

  it.each([
    ['are forgotten', 5_000, 3],
    ['are not there yet', 5, 6],
  ])(
    'receives resync if the events after the last known %s, and then continues',
    async (_, published, since) => {
      publish(published)
      const client = await subscribe(since)
      await received(client, 1)
      publish(1)
      await received(client, 2)
      expect(client.events.map(({ data }) => data.case)).toEqual(['resync', 'blocks'])
      expect(seqs(client.events)).toEqual([published, published + 1])
      client.close()
    },
  )

  it('of a client that was connected to a faster process continues after its last event', async () => {
    publish(5)
    const client = await subscribe(7)
    publish(2)
    publish(2)
    await received(client, 2)
    expect(seqs(client.events)).toEqual([8, 9])
    client.close()
  })

  it('receives resync at a gap in the numbers', async () => {
    publish(2)
    const client = await subscribe()
    bare.feed.publish('blocks', { height: 9, hash: 'cd'.repeat(32), tx_count: 1 }, 10)
    await received(client, 1)
    publish(1)
    await received(client, 2)
    expect(seqs(client.events)).toEqual([10, 11])
    expect(client.events.map(({ data }) => data.case)).toEqual(['resync', 'blocks'])
    client.close()
  })

  it.each([
    [{}, BAD_CHANNEL],
    [{ channel: 999 as never }, BAD_CHANNEL],
    [{ channel: Channel.BLOCKS, since: -1n }, 'since must be an integer from 0 to 9007199254740991'],
    [{ channel: Channel.BLOCKS, since: 2n ** 53n }, 'since must be an integer from 0 to 9007199254740991'],
  ])('to %o is INVALID_ARGUMENT', async (request, details) => {
    const first = bare.client.subscribe(request)[Symbol.asyncIterator]().next()
    expect(await failureOf(first)).toMatchObject({ status: Code.INVALID_ARGUMENT, details })
  })

  it('to the mempool has removals if these are requested, with numbers of their own', async () => {
    const removed = { reason: 'confirmed', block_hash: 'ab', block_height: 7, replaced_by: null }
    const event = { txid: 'a', fee: '1', vsize: 1 }
    bare.feed.publish('mempool', event, 1)
    bare.feed.publish('mempool-with-removals', event, 1)
    bare.feed.publish('mempool-with-removals', { ...event, removed }, 2)
    const first = async (removals: boolean, count: number): Promise<ChannelEvent[]> => {
      const request = { channel: Channel.MEMPOOL, since: 0n, removals }
      const iterator = bare.client.subscribe(request)[Symbol.asyncIterator]()
      const found: ChannelEvent[] = []
      for (let index = 0; index < count; index++) found.push((await iterator.next()).value as ChannelEvent)
      await iterator.return?.()
      return found
    }
    const arrival = {
      channel: Channel.MEMPOOL,
      seq: 1n,
      data: { case: 'mempool', value: { txid: 'a', fee: '1' } },
    }
    const [only] = await first(false, 1)
    expect(only).toMatchObject(arrival)
    expect(only?.data.value).not.toHaveProperty('removed.reason')
    expect(await first(true, 2)).toMatchObject([
      arrival,
      {
        channel: Channel.MEMPOOL,
        seq: 2n,
        data: { value: { txid: 'a', removed: { blockHash: 'ab', blockHeight: 7n } } },
      },
    ])
    const refused = bare.client.subscribe({ channel: Channel.BLOCKS, removals: true })
    expect(await failureOf(refused[Symbol.asyncIterator]().next())).toMatchObject({
      status: Code.INVALID_ARGUMENT,
    })
  })

  it('leaves nothing behind when its client disconnects, and ends with UNAVAILABLE when the server stops', async () => {
    const clients = await Promise.all(Array.from({ length: 50 }, () => subscribe()))
    await until('all wait', () => bare.feed.waiting === 50)
    for (const client of clients.slice(1)) client.close()
    await until('one waits', () => bare.feed.waiting === 1)
    await bare.close()
    await until('it has ended', () => clients[0]?.error !== undefined)
    expect((clients[0]?.error as RpcError).status).toBe(Code.UNAVAILABLE)
    expect(bare.feed.waiting).toBe(0)
  })

  it('is one of at most a hundred on a connection: another waits until one of them ends', async () => {
    const clients = await Promise.all(Array.from({ length: 100 }, () => subscribe()))
    const other = new RpcFeedClient(bare.client, 'blocks', 0)
    publish(1)
    for (const client of clients) await received(client, 1)
    expect(other.isSubscribed).toBe(false)
    clients[0]?.close()
    await received(other, 1)
    for (const client of [...clients, other]) client.close()
  })

  it('whose client does not read costs no memory, however many events there are: it receives resync when the client reads on', async () => {
    const iterator = bare.client.subscribe({ channel: Channel.BLOCKS, since: 0n })[Symbol.asyncIterator]()
    publish(1)
    expect((await iterator.next()).value).toMatchObject({ seq: 1n })
    // Fills the feed's own memory, which is the same with and without subscribers.
    await publishSlowly(5_000)
    collectGarbage()
    const before = process.memoryUsage()
    await publishSlowly(300_000)
    collectGarbage()
    const after = process.memoryUsage()
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(
      4 * 2 ** 20,
    )

    const events: ChannelEvent[] = []
    while (events.at(-1)?.data.case !== 'resync') events.push((await iterator.next()).value as ChannelEvent)
    // In transit: 64 KB each in HTTP/2's window, and some messages on both sides.
    expect(events.length).toBeLessThan(3_000)
    expect(seqs(events.slice(0, -1))).toEqual(events.slice(0, -1).map((_, index) => index + 2))
    publish(1)
    expect((await iterator.next()).value).toMatchObject({ seq: events.at(-1)!.seq + 1n })
    await iterator.return?.()
    await until('no client is subscribed', () => bare.feed.waiting === 0)
  })

  /** In steps, between which messages in transit proceed. */
  async function publishSlowly(count: number): Promise<void> {
    for (let done = 0; done < count; done += 500) {
      publish(500)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
})
