import { type Client, createClient } from 'graphql-ws'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import { blocks as channel } from '../../../../../services/explorer/core/feed/channels.js'
import { type ChainState, NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import type { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { until } from '../../../../harness/until.js'
import { type BareServer, startBare } from '../../bare-server.js'

interface Message {
  readonly seq: string
  readonly resync: boolean
  readonly data: { readonly height: number } | null
}

describe('GraphQL subscriptions', () => {
  let bare: BareServer
  let client: Client
  /** The sockets of the client, the newest last. */
  let sockets: WebSocket[]

  beforeEach(async () => {
    const state = new State()
    const view = {} as ChainState['view']
    state.adopt({ ...NO_CHAIN, view, position: 7, network: REGTEST })
    state.mempoolLoaded()
    const tables = { fence: () => Promise.resolve(NO_CHAIN.fence) } as unknown as Tables
    bare = await startBare({ state, tables })
    sockets = []
    class Observed extends WebSocket {
      constructor(...args: ConstructorParameters<typeof WebSocket>) {
        super(...args)
        sockets.push(this)
      }
    }
    const url = `${bare.url.replace('http', 'ws')}/graphql`
    client = createClient({ url, webSocketImpl: Observed, retryAttempts: 0, lazy: true })
  })
  afterEach(async () => {
    await client.dispose()
    bare.close()
  })

  const publish = (from: number, to: number): void => {
    for (let seq = from; seq <= to; seq++)
      bare.feed.publish('blocks', { height: seq, hash: String(seq), tx_count: 1 }, seq)
  }
  const blocks = (since?: number) =>
    client.iterate<{ blocks: Message }>({
      query: 'subscription ($since: BigInt) { blocks(since: $since) { seq resync data { height } } }',
      ...(since === undefined ? {} : { variables: { since: String(since) } }),
    })

  it('resume where a client was cut off, and miss nothing', async () => {
    publish(1, 5)
    const received: number[] = []
    let since = 0
    const follow = async (): Promise<void> => {
      try {
        for await (const { data } of blocks(since)) {
          const message = data?.blocks
          received.push(Number(message?.data?.height))
          since = Number(message?.seq)
          if (since >= 900) return
        }
      } catch {
        // The connection was cut.
      }
    }
    for (let round = 0; since < 900; round++) {
      const following = follow()
      await until('the client connects', () => sockets.length > round)
      const last = Math.min(900, 105 + round * 100)
      publish(6 + round * 100, last)
      // Cut in the middle of the events, and after them.
      if (round % 2 === 1) await until('the events arrive', () => since >= last)
      sockets.at(-1)?.terminate()
      await following
    }
    expect(received).toEqual(Array.from({ length: 900 }, (_, index) => index + 1))
    expect(sockets.length).toBeGreaterThan(2)
  })

  it('to the mempool have removals if these are requested, with numbers of their own', async () => {
    const removed = { reason: 'replaced', block_hash: null, block_height: null, replaced_by: 'b' }
    const event = { txid: 'a', fee: '1', vsize: 1 }
    bare.feed.publish('mempool', event, 1)
    bare.feed.publish('mempool-with-removals', event, 1)
    bare.feed.publish('mempool-with-removals', { ...event, removed }, 2)
    const query = `subscription ($removals: Boolean) {
      mempool(since: "0", removals: $removals) { seq data { txid removed { reason replaced_by block_height } } }
    }`
    const next = async (removals: boolean, count: number) => {
      const iterator = client.iterate({ query, variables: { removals } })
      const found: unknown[] = []
      for (let index = 0; index < count; index++) found.push((await iterator.next()).value.data.mempool)
      await iterator.return?.()
      return found
    }
    const arrival = { seq: '1', data: { txid: 'a', removed: null } }
    expect(await next(false, 1)).toEqual([arrival])
    expect(await next(true, 2)).toEqual([
      arrival,
      {
        seq: '2',
        data: { txid: 'a', removed: { reason: 'replaced', replaced_by: 'b', block_height: null } },
      },
    ])
  })

  it('report events that are not available any more by a resync, and continue', async () => {
    publish(1, channel.history * 2)
    const messages: Message[] = []
    for await (const { data } of blocks(5)) {
      if (data === undefined || data === null) continue
      messages.push(data.blocks)
      if (messages.length === 2) break
      publish(channel.history * 2 + 1, channel.history * 2 + 1)
    }
    const last = channel.history * 2
    expect(messages).toEqual([
      { seq: String(last), resync: true, data: null },
      { seq: String(last + 1), resync: false, data: { height: last + 1 } },
    ])
  })

  it('end at once when the client ends them or disconnects', async () => {
    const iterator = blocks()
    const first = iterator.next()
    await until('the subscription waits', () => bare.feed.waiting === 1)
    await iterator.return?.()
    await until('the subscription has ended', () => bare.feed.waiting === 0)
    await first
    const again = blocks().next()
    again.catch(() => undefined)
    await until('the subscription waits', () => bare.feed.waiting === 1)
    sockets.at(-1)?.terminate()
    await until('the subscription has ended', () => bare.feed.waiting === 0 && bare.server.clients === 0)
  })

  describe('to the changes of addresses', () => {
    const addresses = (name: string): string =>
      addressOf(Buffer.from(`0014${name.repeat(20)}`, 'hex'), REGTEST)!
    const changes = (list: readonly string[], since?: string) =>
      client.iterate<{ address: { address: string; seq: string; data: { status: string } } }>({
        query: `subscription ($list: [String!]!, $since: BigInt) {
          address(addresses: $list, since: $since) { address seq resync data { status } }
        }`,
        variables: { list, since },
      })

    it('begin with the state of each, and end with the connection', async () => {
      const list = [addresses('ab'), addresses('cd')]
      const iterator = changes(list)
      const seen = [await iterator.next(), await iterator.next()].map(({ value }) => value.data.address)
      const state = { seq: '7', resync: false, data: { status: 'synced' } }
      expect(seen).toEqual(list.map((address) => ({ address, ...state })))
      expect(bare.scripts.size).toBe(2)
      sockets.at(-1)?.terminate()
      await until('the subscriptions have ended', () => bare.scripts.size === 0)
      await expect(iterator.next()).rejects.toBeDefined()
    })

    it('report a position that does not exist by a resync', async () => {
      const iterator = changes([addresses('ab')], String(2 ** 50))
      const { value } = await iterator.next()
      expect(value.data.address).toEqual({ address: addresses('ab'), seq: '7', resync: true, data: null })
      await iterator.return?.()
      await until('the subscription has ended', () => bare.scripts.size === 0)
    })

    it('are limited for each connection, and need addresses of the chain', async () => {
      const errorOf = async (list: readonly string[]): Promise<unknown> =>
        changes(list)
          .next()
          .then(
            ({ value }) => value.errors[0].message,
            (errors: unknown) => (errors as { message: string }[])[0]?.message,
          )
      expect(await errorOf(['x'])).toBe(
        'address must be a well-formed address of this chain, a script hash, a public key or a script',
      )
      expect(await errorOf([])).toBe('addresses must contain at least one address')
      const kept = changes([addresses('ab'), addresses('cd')])
      await kept.next()
      const others = Array.from({ length: 999 }, (_, index) => `other${String(index)}`)
      expect(await errorOf(others)).toBe('a connection subscribes to at most 1,000 addresses')
      await kept.return?.()
    })
  })

  it.each([
    ['{ chain { height } }', 'send queries as HTTP requests', 'HW_INVALID_ARGUMENT'],
    ['subscription { blocks(since: -1) { seq } }', 'since must be an integer', 'HW_INVALID_ARGUMENT'],
    ['subscription {', 'Syntax Error', 'HW_INVALID_ARGUMENT'],
  ])('refuse %s', async (query, message, code) => {
    const received: unknown[] = []
    try {
      for await (const each of client.iterate({ query })) received.push(...(each.errors ?? []))
    } catch (errors) {
      received.push(...(errors as unknown[]))
    }
    const [error] = received as { message: string; extensions: unknown }[]
    expect(error?.message).toContain(message)
    expect(error?.extensions).toMatchObject({ code })
  })

  it('survive messages that are not of the protocol', async () => {
    for (const text of ['x', '{}', '{"type":"subscribe","id":"1","payload":{"query":"{"}}', '[]', '\u0000']) {
      const socket = new WebSocket(`${bare.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
      const closed = new Promise<number>((resolve) => socket.on('close', resolve))
      socket.on('open', () => {
        socket.send(text)
      })
      expect(await closed).toBeGreaterThanOrEqual(4400)
    }
    const unknown = new WebSocket(`${bare.url.replace('http', 'ws')}/graphql`)
    expect(await new Promise<number>((resolve) => unknown.on('close', resolve))).toBe(4406)
    expect((await fetch(`${bare.url}/health`)).status).toBe(200)
  })
})
