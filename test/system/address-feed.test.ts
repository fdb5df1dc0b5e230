import { createHash } from 'node:crypto'
import { toJson } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { addressOf } from '../../pipelines/chain/address.js'
import { REGTEST } from '../../pipelines/chain/networks.js'
import {
  AddressEventSchema,
  Channel,
  type ChannelEvent,
  ReadsService,
} from '../../proto/gen/headwater/reads/v1/reads_pb.js'
import { rpcClient } from '../../services/rpc/client.js'
import { Code } from '../../services/rpc/error.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { FeedClient } from '../services/explorer/feed-client.js'

const FINALITY = 20
const ADDRESSES = 15
const UNSEEN = 'qcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqrehzm8'

interface Event {
  readonly address: string
  readonly status: 'unconfirmed' | 'confirmed' | 'removed' | 'synced'
  readonly txid: string | null
  readonly block_height: number | null
  readonly value_change: string | null
  readonly unconfirmed: readonly string[]
}

/** A wallet that knows only the events: for each address the height of each transaction, null while unconfirmed. */
class Wallet {
  readonly known = new Map<string, Map<string, number | null>>()
  /** The position from which the wallet resumes each address. */
  readonly since = new Map<string, number>()

  receive({ data, seq }: { data: Event; seq: number }): void {
    expect(seq).toBeGreaterThanOrEqual(this.since.get(data.address) ?? 0)
    this.since.set(data.address, seq)
    const txs = this.known.get(data.address) ?? new Map<string, number | null>()
    this.known.set(data.address, txs)
    if (data.status === 'synced') {
      // Of the unconfirmed transactions, only these are left.
      for (const [txid, height] of txs)
        if (height === null && !data.unconfirmed.includes(txid)) txs.delete(txid)
      return
    }
    if (data.status === 'removed') txs.delete(data.txid!)
    else txs.set(data.txid!, data.block_height)
  }
}

describe('the channel of an address', () => {
  let node: Simnode
  let pipeline: Pipeline
  const chain = new NaiveChain()

  beforeAll(async () => {
    node = await startSimnode({ seed: 'addresses', blocks: 60, txsPerBlock: 5 })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
      explorer: { auditEveryMs: 0, grpcPort: 0 },
    })
    await level()
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function level(): Promise<void> {
    await follow(chain, node)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
  }

  const busiest = (count: number): string[] =>
    [...chain.history]
      .filter(([script, rows]) => chain.addressOf.has(script) && rows.length > 0)
      .sort(([, one], [, other]) => other.length - one.length)
      .slice(0, count)
      .map(([script]) => chain.addressOf.get(script)!)

  const scriptOf = (address: string): string =>
    [...chain.addressOf].find(([, each]) => each === address)?.[0] ?? ''

  /** Returns what is true now: the transactions that the wallet knows or that are new since `from`. */
  async function truth(address: string): Promise<Map<string, number | null>> {
    const txs = new Map<string, number | null>()
    for (const { txid, height } of chain.history.get(scriptOf(address)) ?? []) txs.set(txid, height)
    for (const { txid, block_height } of (await pipeline.get(`/address/${address}/txs?limit=100`)).body.items)
      if (block_height === null) txs.set(txid, null)
    return txs
  }

  /** Expects that what the wallet learned since `before` makes what it knew then what is true now. */
  async function expectTrue(wallet: Wallet, address: string): Promise<void> {
    const expected = await truth(address)
    await until(`the wallet knows ${address}`, () => {
      const known = wallet.known.get(address)
      return known !== undefined && JSON.stringify([...known].sort()) === JSON.stringify([...expected].sort())
    }).catch((error: unknown) => {
      expect([...(wallet.known.get(address) ?? [])].sort()).toEqual([...expected].sort())
      throw error
    })
  }

  /** Connects a wallet, and resumes what it has subscribed to. */
  async function connect(
    wallet: Wallet,
    addresses: readonly string[],
    since: ReadonlyMap<string, number> = new Map(),
  ): Promise<FeedClient> {
    const client = await FeedClient.connect(pipeline.url, '/ws')
    client.socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { seq?: number; data?: Event; type?: string }
      expect(message.type).not.toBe('resync')
      if (message.data !== undefined) wallet.receive(message as { seq: number; data: Event })
    })
    for (const address of addresses)
      client.send({
        type: 'subscribe',
        channel: `address:${address}`,
        ...(since.has(address) ? { since: since.get(address) } : {}),
      })
    await until('all are synced', () => {
      const synced = client.messages.filter(
        (message) => (message['data'] as Event | undefined)?.status === 'synced',
      )
      return synced.length === addresses.length
    })
    return client
  }

  it('makes a wallet know every change, through reorganisations and disconnections', async () => {
    const addresses = busiest(ADDRESSES)
    const wallet = new Wallet()
    for (const address of addresses) wallet.known.set(address, await truth(address))
    let client = await connect(wallet, addresses)
    for (const [round, depth] of [1, 2, 4, FINALITY + 3, 1, 3].entries()) {
      node.simulation.enter(8)
      node.simulation.replace(2)
      await level()
      for (const address of addresses) await expectTrue(wallet, address)
      const isCutOff = round % 2 === 1
      if (isCutOff) await client.close()
      node.simulation.reorg(depth)
      await level()
      node.simulation.enter(3)
      node.simulation.replace(2)
      node.simulation.mine({ blocks: 2 })
      await level()
      if (isCutOff) client = await connect(wallet, addresses, wallet.since)
      for (const address of addresses) await expectTrue(wallet, address)
    }
    const events = client.messages.filter(({ channel }) => channel !== undefined)
    expect(events.every(({ channel }) => String(channel).startsWith('address:'))).toBe(true)
    await client.close()
  })

  it('sends the changes that the node says, and none of another address', async () => {
    const [busy = ''] = busiest(1)
    const wallet = new Wallet()
    const client = await connect(wallet, [busy, UNSEEN])
    const height = chain.tip!.height
    node.simulation.mine({ blocks: 6 })
    await level()
    const rows = (chain.history.get(scriptOf(busy)) ?? []).filter((row) => row.height > height)
    await until('the events are there', () => {
      const events = client.messages.flatMap(({ data }) => (data === undefined ? [] : [data as Event]))
      const confirmed = events.filter(({ status }) => status === 'confirmed')
      return confirmed.length >= rows.length
    })
    const events = client.messages.flatMap(({ data }) => (data === undefined ? [] : [data as Event]))
    expect(
      events
        .filter(({ status }) => status === 'confirmed')
        .map(({ txid, block_height, value_change }) => [txid, block_height, value_change]),
    ).toEqual(rows.map((row) => [row.txid, row.height, String(row.change)]))
    expect(events.filter(({ address }) => address === UNSEEN).map(({ status }) => status)).toEqual(['synced'])
    client.send({ type: 'unsubscribe', channel: `address:${busy}` })
    await client.reply({ type: 'unsubscribed', channel: `address:${busy}` })
    await client.close()
  })

  it('asks for a resync from a position that is unknown, and refuses what is no address or one too many', async () => {
    const client = await FeedClient.connect(pipeline.url, '/ws')
    client.send({ type: 'subscribe', channel: 'address:abc' })
    await client.reply({
      type: 'error',
      error: 'address must be a well-formed address of this chain, a script hash, a public key or a script',
    })
    client.send({ type: 'subscribe', channel: `address:${UNSEEN}`, since: -1 })
    await client.reply({ type: 'error', error: 'since must be an integer from 0 to 9007199254740991' })
    client.send({ type: 'subscribe', channel: `address:${UNSEEN}`, since: 2 ** 50 })
    await client.reply({ type: 'resync', channel: `address:${UNSEEN}` })
    // Any program of 2 to 40 bytes is the witness of some version.
    const addresses = Array.from({ length: 1_000 }, (_, index) => {
      const program = createHash('sha256').update(String(index)).digest()
      return addressOf(Buffer.concat([Buffer.from([0x51, 0x20]), program]), REGTEST)!
    })
    for (const address of addresses) client.send({ type: 'subscribe', channel: `address:${address}` })
    await client.reply({ type: 'error', error: 'a connection subscribes to at most 1,000 addresses' })
    await client.close()
  })

  it('is the same over gRPC, for all addresses of a stream', async () => {
    const client = rpcClient(ReadsService, pipeline.grpcAddress)
    const addresses = busiest(5)
    const stop = new AbortController()
    const received: ChannelEvent[] = []
    const stream = client.subscribe({ channel: Channel.ADDRESS, addresses }, { signal: stop.signal })
    const following = (async () => {
      for await (const event of stream) received.push(event)
    })().catch(() => undefined)
    const eventsOf = (): Event[] =>
      received.flatMap(({ data }) =>
        data.case === 'address'
          ? [toJson(AddressEventSchema, data.value, { useProtoFieldName: true }) as unknown as Event]
          : [],
      )
    await until('all are synced', () => received.length >= addresses.length)
    expect(new Set(eventsOf().map(({ address }) => address))).toEqual(new Set(addresses))
    const height = chain.tip!.height
    node.simulation.mine({ blocks: 3 })
    await level()
    const rows = addresses.flatMap((address) =>
      (chain.history.get(scriptOf(address)) ?? [])
        .filter((row) => row.height > height)
        .map(({ txid }) => txid),
    )
    await until('the events are there', () => {
      const txids = new Set(eventsOf().map(({ txid }) => txid))
      return rows.every((txid) => txids.has(txid))
    })
    stop.abort()
    await following
    // One position for all addresses: it never decreases, so that the last one is where the stream resumes.
    const positions = received.map(({ seq }) => Number(seq))
    expect(positions).toEqual([...positions].sort((one, other) => one - other))
    const refused = [
      [{ channel: Channel.ADDRESS }, 'addresses must contain at least one address'],
      [
        { channel: Channel.ADDRESS, addresses: ['abc'] },
        'address must be a well-formed address of this chain, a script hash, a public key or a script',
      ],
      [
        { channel: Channel.ADDRESS, addresses: Array.from({ length: 1_001 }, (_, index) => String(index)) },
        'a connection subscribes to at most 1,000 addresses',
      ],
    ] as const
    for (const [request, details] of refused) {
      const first = client.subscribe({
        ...request,
        addresses: [...('addresses' in request ? request.addresses : [])],
      })
      await expect(first[Symbol.asyncIterator]().next()).rejects.toMatchObject({
        status: Code.INVALID_ARGUMENT,
        details,
      })
    }
    client.close()
  })
})
