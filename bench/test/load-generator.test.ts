import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { LoadClient } from '../load-generator.js'
import { until } from '../../test/harness/until.js'

describe('a load', () => {
  const servers: Server[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  /**
   * Makes a server.
   * @returns a client of it, and the requests that it received.
   */
  async function start(
    paths: number,
    answer: (request: IncomingMessage, response: ServerResponse) => void,
    repeats = false,
  ) {
    const requested: string[] = []
    const server = createServer((request, response) => {
      requested.push(request.url ?? '')
      answer(request, response)
    })
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const names = Array.from({ length: paths }, (_, index) => `/${String(index)}`)
    return { client: new LoadClient({ port, paths: names, repeats }), requested }
  }
  const send = (
    response: ServerResponse,
    status: number,
    headers: Record<string, string> = {},
    size = 100_000,
  ): void => {
    const body = 'x'.repeat(size)
    response.writeHead(status, { 'content-length': String(body.length), ...headers }).end(body)
  }
  const open = { kind: 'open', warmUpSeconds: 0, seconds: 1, rate: 100 } as const
  const NEVER = 1_000_000

  it('sends requests on schedule whether or not they are answered, and measures the time from when each was due', async () => {
    const held: ServerResponse[] = []
    const { client, requested } = await start(100, (_, response) => {
      held.push(response)
      // A closed loop of fewer connections would never finish. The last is answered first.
      if (held.length === 100) for (const each of held.reverse()) send(each, 200, {}, 1)
    })
    const result = await client.make({ ...open, leaverEvery: NEVER })
    expect(new Set(requested).size).toBe(100)
    expect(result.times).toHaveLength(100)
    expect(result.lags).toHaveLength(100)
    expect(result.others).toEqual({})
    // The first was due 990 ms before the last, and was not answered before it.
    expect(Math.max(...result.times) - Math.min(...result.times)).toBeGreaterThan(900)
  })

  it('distinguishes refusals from other failures, and repeats only refused requests', async () => {
    const counts = new Map<string, number>()
    const { client } = await start(80, (request, response) => {
      const path = request.url ?? ''
      const count = (counts.get(path) ?? 0) + 1
      counts.set(path, count)
      const index = Number(path.slice(1))
      if (index >= 20 || count > 1) send(response, 200)
      else if (index < 5) response.destroy()
      else if (index < 10) send(response, 500)
      else send(response, 503, { 'retry-after': '1' })
    })
    const result = await client.make({ ...open, rate: 80, leaverEvery: NEVER })
    expect(result.times).toHaveLength(60)
    expect(result.refusalTimes).toHaveLength(10)
    expect(result.others).toEqual({ 'connection closed': 5, 500: 5 })
    expect((await client.make({ ...open, rate: 10, leaverEvery: NEVER })).times).toHaveLength(10)
    for (const [path, count] of counts) expect(count, path).toBe(/^\/1\d$/.test(path) ? 2 : 1)
    await expect(client.make({ ...open, rate: 1, leaverEvery: NEVER })).rejects.toThrow(
      'too few transactions',
    )
  })

  it('starts over after the first path if paths repeat', async () => {
    const received: string[] = []
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      received.push(request.url ?? '')
      send(response, 200, {}, 1)
    }
    const { client } = await start(3, answer, true)
    await client.make({ ...open, rate: 20, leaverEvery: NEVER })
    expect(received).toHaveLength(20)
    expect(received.slice(0, 5)).toEqual(['/2', '/1', '/0', '/2', '/1'])
  })

  it('disconnects after some requests', async () => {
    let left = 0
    const { client, requested } = await start(100, (_, response) => {
      response.on('close', () => {
        if (!response.writableFinished) left++
      })
      setImmediate(() => {
        if (!response.destroyed) send(response, 200)
      })
    })
    const result = await client.make({ ...open, leaverEvery: 4 })
    expect(result.left).toBe(25)
    expect(result.times).toHaveLength(75)
    // Nothing waits for the last one that disconnected.
    await until('all were asked', () => requested.length === 100)
    expect(left).toBeLessThanOrEqual(25)
  })

  it('has no more requests in flight than its connections', async () => {
    let [now, most] = [0, 0]
    const held: (() => void)[] = []
    const { client, requested } = await start(1_000_000, (_, response) => {
      most = Math.max(most, ++now)
      held.push(() => {
        now--
        send(response, 200, {}, 1)
      })
      // None is answered before all wait, so that all wait at least once.
      if (most === 7) for (const each of held.splice(0)) setTimeout(each, 20)
    })
    const result = await client.make({ kind: 'closed', connections: 7, warmUpSeconds: 0, seconds: 3 })
    expect(most).toBe(7)
    expect(result.times.length).toBeGreaterThan(7)
    expect(requested.length - result.times.length).toBeLessThanOrEqual(7)
    expect(Math.min(...result.times)).toBeGreaterThan(15)
  })
})
