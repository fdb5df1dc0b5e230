import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Feed } from '../../../../../services/explorer/core/feed/feed.js'
import { websocketFace } from '../../../../../services/explorer/faces/websocket/face.js'
import { type Handlers, Server } from '../../../../../services/explorer/host/http/server.js'
import { assertPortFree, freePort } from '../../../../../services/process/ports.js'
import { until } from '../../../../harness/until.js'
import { FeedClient } from '../../feed-client.js'

function serverOf(handlers: Partial<Handlers> = {}): Server {
  const server = new Server()
  server.serve({
    answer: () => ({ status: 200, headers: [], body: Buffer.from('{}') }),
    observe: () => undefined,
    refusal: () => undefined,
    ...handlers,
  })
  return server
}

describe('the server of sockets', () => {
  let server: Server
  let feed: Feed
  let url: string

  beforeEach(async () => {
    feed = new Feed((stream, { text }) => {
      server.publish(stream, text)
    })
    const addresses = { subscribe: () => () => undefined }
    server = serverOf({ protocols: websocketFace({ feed, addresses }).sockets ?? [] })
    url = `http://127.0.0.1:${String(await server.listen('127.0.0.1', 0))}`
  })
  afterEach(() => {
    server.close()
  })

  it('drops a client that does not read, and no other', async () => {
    const [slow, quick] = await Promise.all([
      FeedClient.connect(url, '/ws'),
      FeedClient.connect(url, '/api/v1/ws'),
    ])
    for (const client of [slow, quick]) await client.subscribe('blocks')
    slow.socket.pause()
    const padding = 'x'.repeat(100_000)
    let sent = 0
    await until('the slow one is dropped', async () => {
      for (let index = 0; index < 10; index++) feed.publish('blocks', { height: sent++, padding })
      await quick.events('blocks', sent)
      return server.clients === 1
    })
    const seqs = quick.messages.filter((message) => 'seq' in message).map((message) => message['seq'])
    expect(seqs).toEqual(Array.from({ length: sent }, (_, index) => index + 1))
    expect(quick.closed).toBe(false)
    slow.socket.terminate()
    await quick.close()
  })

  it.each([16_385, 250_000])('closes the connection of a message of %d bytes with 1009', async (bytes) => {
    const [client, other] = [await FeedClient.connect(url, '/ws'), await FeedClient.connect(url, '/ws')]
    const closed = once(client.socket, 'close')
    client.send('x'.repeat(bytes))
    const [code, reason] = (await closed) as [number, Buffer]
    expect(code).toBe(1009)
    expect(reason.toString()).toBe('a message may have at most 16384 bytes')
    // Also if it arrives in several frames.
    const alsoClosed = once(other.socket, 'close')
    for (let part = 0; part < 5; part++) other.socket.send('x'.repeat(4_000), { fin: part === 4 })
    expect((await alsoClosed)[0]).toBe(1009)
    await until('both are gone', () => server.clients === 0)
  })

  it('keeps the connection of a client that sends anything, and answers it again', async () => {
    const client = await FeedClient.connect(url, '/ws')
    for (const text of ['', '{', '[]', '{"type":"subscribe","channel":"nothing"}', 'x'.repeat(16_000)])
      client.send(text)
    client.socket.send(Buffer.from([1, 2, 3]))
    await until('six errors', () => client.messages.filter(({ type }) => type === 'error').length === 6)
    client.send({ type: 'ping' })
    await client.reply({ type: 'pong' })
    await client.subscribe('blocks')
    feed.publish('blocks', { height: 0 })
    await client.events('blocks', 1)
    client.send({ type: 'unsubscribe', channel: 'blocks' })
    await client.reply({ type: 'unsubscribed', channel: 'blocks' })
    feed.publish('blocks', { height: 1 })
    client.send({ type: 'ping' })
    await until('it answered', () => client.messages.filter(({ type }) => type === 'pong').length === 2)
    expect(await client.events('blocks', 1)).toHaveLength(1)
    await client.close()
    await until('no client is left', () => server.clients === 0)
  })

  it('sends a client that was connected to a faster process only what it does not have', async () => {
    feed.begin('blocks', 10)
    const client = await FeedClient.connect(url, '/ws')
    await client.subscribe('blocks', 12)
    // Does not belong to the client, which has left the channel meanwhile.
    await client.subscribe('reorgs', 5)
    client.send({ type: 'unsubscribe', channel: 'reorgs' })
    await client.reply({ type: 'unsubscribed', channel: 'reorgs' })
    for (let height = 11; height <= 14; height++) feed.publish('blocks', { height })
    for (let depth = 1; depth <= 7; depth++) feed.publish('reorgs', { depth })
    const events = await client.events('blocks', 2)
    expect(events.map(({ seq }) => seq)).toEqual([13, 14])
    feed.publish('blocks', { height: 15 })
    expect((await client.events('blocks', 3)).map(({ seq }) => seq)).toEqual([13, 14, 15])
    expect(client.messages.filter(({ type }) => type === 'resync')).toEqual([])
    expect(await client.events('reorgs', 0)).toEqual([])
    await client.close()
  })

  it('shares a port with another server of the same explorer only', async () => {
    const [one, two, alone] = [serverOf(), serverOf(), serverOf()] as const
    const port = await freePort()
    await one.listen('127.0.0.1', port, true)
    await two.listen('127.0.0.1', port, true)
    await expect(alone.listen('127.0.0.1', port)).rejects.toThrow('in use')
    await expect(assertPortFree(port, '127.0.0.1', 'a test')).rejects.toThrow('in use')
    for (const each of [one, two, alone]) each.close()
  })

  it('refuses a port that is in use', async () => {
    const other = serverOf()
    await expect(other.listen('127.0.0.1', Number(new URL(url).port))).rejects.toThrow('in use')
    other.close()
  })
})
