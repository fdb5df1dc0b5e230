import { createServer, type ClientHttp2Session, connect, type Http2Server } from 'node:http2'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain } from '../../services/simnode/chain/sim-chain.js'
import { MAX_BODY } from '../../services/explorer/http/body.js'
import { freePort } from '../../services/process/ports.js'
import { useEngine } from '../harness/engine.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { Nginx } from './nginx.js'
import { tool } from './tools.js'

const PER_MINUTE = 6
const SOCKETS_PER_ADDRESS = 20
const [nginx, openssl] = [tool('nginx'), tool('openssl')]

interface HttpRequest {
  readonly path?: string
  /** Sent by POST. */
  readonly body?: string
  /** The address of the client's own end. */
  readonly from?: string
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

describe.skipIf(nginx === undefined || openssl === undefined)('the proxy before an explorer', () => {
  let pipeline: Pipeline
  let node: Awaited<ReturnType<typeof startSimnode>>
  let proxy: Nginx
  let grpc: Http2Server
  const seen: { forwarded: unknown; path: unknown }[] = []

  beforeAll(async () => {
    const chain = buildChain({ seed: 'proxy', blocks: 3 })
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({
      ...{ nodeUrl: node.url, engineUrl: useEngine() },
      explorer: { rateLimitPerMinute: PER_MINUTE, trustedProxyHops: 1 },
    })
    await pipeline.poll()
    await pipeline.materialize()
    await until('the explorer is well', async () => (await fetch(`${pipeline.url}/health`)).ok)
    grpc = createServer((requested, answer) => {
      seen.push({ forwarded: requested.headers['x-forwarded-for'], path: requested.url })
      answer.writeHead(200, { 'content-type': 'application/grpc', 'grpc-status': '0' })
      answer.end()
    })
    await new Promise<void>((resolve) => grpc.listen(0, '127.0.0.1', resolve))
    const explorer = Number(new URL(pipeline.url).port)
    const behind = { explorer, explorerGrpc: (grpc.address() as AddressInfo).port, docs: await freePort() }
    proxy = await Nginx.prepare({ nginx: nginx!, openssl: openssl! }, behind)
    await proxy.start()
  })
  afterAll(async () => {
    await proxy.close()
    grpc.close()
    await pipeline.close()
    await node.close()
  })

  const ask = async (sent: HttpRequest): Promise<number> => (await receive(sent)).status

  function receive({
    path = '/api/v1/stats/summary',
    from = '127.0.0.1',
    host,
    headers = {},
    body,
  }: HttpRequest): Promise<Received> {
    return new Promise((resolve, reject) => {
      request(
        {
          method: body === undefined ? 'GET' : 'POST',
          ...{ host: '127.0.0.1', port: proxy.port, path, localAddress: from, agent: false },
          ...{ rejectUnauthorized: false, servername: host ?? 'explorer.example' },
          headers: { host: host ?? 'explorer.example', ...headers },
        },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (part: string) => (text += part))
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
          })
        },
      )
        .on('error', reject)
        .end(body)
    })
  }

  function socket(path: string, from: string): WebSocket {
    return new WebSocket(`wss://127.0.0.1:${String(proxy.port)}${path}`, {
      ...{ rejectUnauthorized: false, localAddress: from },
      headers: { host: 'explorer.example' },
    }).on('error', () => undefined)
  }

  it('has a configuration that nginx accepts without a warning', () => {
    expect(proxy.test()).toBe('')
  })

  it('counts each client by its own address, regardless of the headers that the client sends', async () => {
    const spoof = (n: number): Record<string, string> => ({ 'x-forwarded-for': `198.51.100.${String(n)}` })
    for (let n = 0; n < PER_MINUTE; n++) expect(await ask({ from: '127.0.0.2', headers: spoof(n) })).toBe(200)
    expect(await ask({ from: '127.0.0.2', headers: spoof(99) })).toBe(429)
    expect(await ask({ from: '127.0.0.2', headers: { 'x-forwarded-for': 'nonsense, 127.0.0.3' } })).toBe(429)
    expect(await ask({ from: '127.0.0.3' })).toBe(200)
    // A client that claims another address does not use up the limit of that address.
    for (let n = 0; n < PER_MINUTE; n++)
      await ask({ from: '127.0.0.4', headers: { 'x-forwarded-for': '127.0.0.5' } })
    expect(await ask({ from: '127.0.0.5' })).toBe(200)
  })

  it('forwards WebSocket in both directions', async () => {
    for (const path of ['/ws', '/api/v1/ws']) {
      const client = socket(path, '127.0.0.6')
      const received: string[] = []
      client.on('message', (data: Buffer) => received.push(data.toString()))
      await until('the socket is open', () => client.readyState === WebSocket.OPEN)
      client.send(JSON.stringify({ type: 'subscribe', channel: 'blocks' }))
      await until('it is subscribed', () => received.some((text) => text.includes('"subscribed"')))
      client.close()
    }
  })

  it('limits the number of sockets per address', async () => {
    const open = Array.from({ length: SOCKETS_PER_ADDRESS }, () => socket('/ws', '127.0.0.7'))
    await until('all are open', () => open.every(({ readyState }) => readyState === WebSocket.OPEN))
    const beyond = socket('/ws', '127.0.0.7')
    const refusal = new Promise<Received>((resolve) => {
      beyond.on('unexpected-response', (_, response) => {
        const { statusCode: status = 0, headers } = response
        response.on('data', (text: Buffer) => {
          resolve({ status, headers, text: text.toString() })
        })
      })
    })
    expectFailure(await refusal, 429, { error: 'Too many connections', retry_after_ms: 1000 })
    expect((await refusal).headers['retry-after']).toBe('1')
    beyond.terminate()
    const other = socket('/ws', '127.0.0.8')
    await until('another address is let in', () => other.readyState === WebSocket.OPEN)
    for (const each of [...open, other]) each.close()
  })

  /** Checks an error of the proxy itself, which has the form of the errors of the explorer. */
  function expectFailure({ status, headers, text }: Received, expected: number, body: object): void {
    expect(status).toBe(expected)
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000',
      'x-content-type-options': 'nosniff',
    })
    expect(JSON.parse(text)).toEqual(body)
  }

  it('passes every body that the explorer accepts, and refuses larger ones as the explorer does', async () => {
    const from = '127.0.0.11'
    const addresses = ['x'.repeat(70_000)]
    const many = await receive({ path: '/api/v1/addresses', from, body: JSON.stringify({ addresses }) })
    expect(many.status).toBe(400)
    expect(JSON.parse(many.text)).toMatchObject({ code: 'HW_INVALID_ARGUMENT' })
    const largest = 'x'.repeat(MAX_BODY)
    expect(await ask({ path: '/api/v1/tx/send', from, body: largest })).toBe(404)
    const tooLarge = { error: 'Body too large', code: 'HW_BODY_TOO_LARGE' }
    const beyond = await receive({ path: '/api/v1/tx/send', from, body: `${largest}x` })
    expectFailure(beyond, 413, tooLarge)
    const own = await receive({ path: '/api/v1/addresses', from, body: 'x'.repeat(300_000) })
    expect([own.status, JSON.parse(own.text)]).toEqual([413, tooLarge])
  })

  it('answers with JSON for pages of any origin if it cannot reach the service', async () => {
    const unreachable = await receive({ host: 'docs.explorer.example', path: '/guide', from: '127.0.0.12' })
    expectFailure(unreachable, 502, { error: 'Bad Gateway' })
    expect(unreachable.headers['retry-after']).toBe('1')
    const other = await receive({ host: 'other.example', from: '127.0.0.12' })
    expectFailure(other, 421, { error: 'Misdirected Request' })
    const metrics = { path: '/metrics', from: '127.0.0.12' }
    const hidden = { error: 'Not Found', code: 'HW_NOT_FOUND' }
    expectFailure(await receive(metrics), 404, hidden)
    expectFailure(await receive({ ...metrics, host: 'docs.explorer.example' }), 404, hidden)
    // The services ignore a slash at the end.
    const slash = { path: '/metrics/', from: '127.0.0.12' }
    expectFailure(await receive(slash), 404, hidden)
    expectFailure(await receive({ ...slash, host: 'docs.explorer.example' }), 404, hidden)
  })

  it('exposes neither metrics nor other hosts nor plain HTTP', async () => {
    expect(await ask({ path: '/metrics', from: '127.0.0.9' })).toBe(404)
    expect(await ask({ path: '/health', from: '127.0.0.9' })).toBe(200)
    expect(await ask({ path: '/api/v1/nonsense', from: '127.0.0.9' })).toBe(404)
    expect(await ask({ host: 'other.example', from: '127.0.0.9' })).toBe(421)
    const plain = await fetch(`http://127.0.0.1:${String(proxy.plainPort)}/x?y`, { redirect: 'manual' })
    expect(plain.status).toBe(308)
    expect(plain.headers.get('location')).toMatch(/^https:\/\/.*\/x\?y$/)
  })

  it('forwards gRPC with the address that it saw', async () => {
    const session: ClientHttp2Session = connect(`https://127.0.0.1:${String(proxy.port)}`, {
      ...{ rejectUnauthorized: false, servername: 'grpc.explorer.example', localAddress: '127.0.0.10' },
    })
    const stream = session.request({
      ...{ ':method': 'POST', ':path': '/headwater.Service/Method', ':authority': 'grpc.explorer.example' },
      ...{ 'content-type': 'application/grpc', te: 'trailers', 'x-forwarded-for': '198.51.100.1' },
    })
    stream.end()
    const status = await new Promise((resolve, reject) => {
      stream.on('response', (headers) => {
        resolve(headers[':status'])
      })
      stream.on('error', reject)
    })
    session.close()
    expect(status).toBe(200)
    expect(seen).toEqual([{ forwarded: '127.0.0.10', path: '/headwater.Service/Method' }])
  })
})
