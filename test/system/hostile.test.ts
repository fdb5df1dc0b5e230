import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { READS } from '../../services/explorer/core/reads/index.js'
import type { Read } from '../../services/explorer/core/reads/read.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { readFrames, TIMELINE } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { edgesOf, isInPath, isInUrl, pathOf } from '../services/explorer/edges.js'
import { FeedClient } from '../services/explorer/feed-client.js'
import { RawHttp, type RawResponse } from '../services/explorer/raw-http.js'

/** HOSTILE_SEED=… selects other requests; a failure prints the request as it was sent. */
const SEED = Number(process.env['HOSTILE_SEED'] ?? 20_261_121)
const REQUESTS = 10_000
const SOCKETS = 600
const CLIENTS = 20
const FRAME = 728
/**
 * MB that an explorer keeps after many requests: answers, 48 MB of them, and memory that the runtime does not return
 * at once.
 */
const MAX_KEPT = 88 * 2 ** 20

/** Words that come from the inside: no request here contains SQL, and no path contains these. */
const INSIDE = /SELECT|FROM |DB::|ClickHouse|Exception|node_modules|\.[jt]s:\d+|\bat \S+ \(|undefined/
const STATUSES = new Set([200, 204, 304, 400, 404, 405, 413, 414, 426, 431, 501, 505])

const TEXTS = [
  '%00',
  '%',
  '%zz',
  '%c0%ae',
  '%e2%28%a1',
  '%ff%fe',
  '..%2f..%2f..%2fetc%2fpasswd',
  '%2e%2e',
  '%252e%252e%252f',
  '%0d%0aSet-Cookie:%20a=b',
  "'%20OR%20'1'='1",
  '%27%29%3b--',
  '{x:UInt64}',
  '%7Btxid:String%7D',
  '$%7Bjndi:ldap://x%7D',
  '<script>',
  '1000000000',
  '-1',
  '0.5',
  '1e9',
  '-0',
  '00000000000000000001',
  '9007199254740993',
  '18446744073709551616',
  '4294967296',
  'Infinity',
  'null',
  'true',
  '[]',
  '[object%20Object]',
  '__proto__',
  'constructor',
  'toString',
  'a'.repeat(5_000),
  '%F0%9F%A6%80'.repeat(30),
  'f'.repeat(64),
  '0'.repeat(64),
  '0'.repeat(63),
  'G'.repeat(64),
  'bcrt1q' + 'q'.repeat(38),
]

const HEADERS = [
  'X-Min-Chain-Height: -1',
  'X-Min-Chain-Height: 1e3',
  'X-Min-Chain-Height: 99999999999999999999',
  'If-None-Match: *',
  'If-None-Match: ' + 'W/"a",'.repeat(300),
  'X-Forwarded-For: 1.1.1.1, x, ::1',
  'Authorization: Bearer ' + 'x'.repeat(1_000),
  'Content-Length: 5',
  'Content-Length: 100000000',
  'Content-Length: -5',
  'Content-Length: 5\r\nContent-Length: 6',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip',
  'Upgrade: websocket',
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13',
  'Expect: 100-continue',
  'Range: bytes=0-1',
  'Accept-Encoding: gzip, br',
  'Host: y',
  ': empty',
  'No colon',
  'Bad\0: x',
  'X: \xff\xfe',
  'X-Long: ' + 'a'.repeat(10_000),
  'A: b\r\n'.repeat(150) + 'C: d',
]

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'get',
  'G\0T',
  'A'.repeat(100),
]

const BROKEN = [
  '\r\n\r\n',
  '\0\0\0\0',
  'GET\r\n\r\n',
  'GET /health\r\n\r\n',
  'GET /health HTTP/0.9\r\n\r\n',
  'GET /health HTTP/2.0\r\nHost: x\r\n\r\n',
  'GET  /health  HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /health HTTP/1.1\nHost: x\n\n',
  'GET http://x/health HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET * HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET health HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /health HTTP/1.1\r\n folded: x\r\nHost: x\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n',
  'POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc',
]

interface Hostile {
  readonly bytes: Buffer
  readonly isHead: boolean
}

const oneOf = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)
const escape = (text: string): string => encodeURIComponent(Buffer.from(text).toString()).slice(0, 6_000)

/** Texts for an argument: at its limits, beyond them, or of another kind; already encoded for a URL. */
function argument(read: Read, name: string, known: readonly string[]): fc.Arbitrary<string> {
  const { inside, plausible, outside } = edgesOf(read, name, SEED)
  return fc.oneof(
    oneOf([...inside, ...plausible, ...outside, ...known].map(escape)),
    oneOf(TEXTS),
    fc.string({ unit: 'binary', maxLength: 80 }).map(escape),
    fc.integer().map(String),
    fc.double().map(String),
  )
}

/** The target of a request line: a read with its arguments, some repeated or unknown, or an unknown path. */
function target(known: readonly string[]): fc.Arbitrary<string> {
  const ofReads = READS.filter(isInUrl).map((read) => {
    const values = Object.fromEntries(
      Object.keys(read.args).map((name) => [name, argument(read, name, known)]),
    )
    return fc
      .tuple(
        fc.record(values, { requiredKeys: Object.keys(values).filter((name) => isInPath(read, name)) }),
        fc.oneof(
          { weight: 3, arbitrary: fc.constant('') },
          oneOf([
            '&page=2&page=1',
            '&limit=&limit',
            '&__proto__=1',
            '&&&=',
            '?',
            '#x',
            '&' + 'a=b&'.repeat(500),
          ]),
        ),
      )
      .map(([given, tail]) => {
        const path = pathOf(read, given, (text) => text)
        return path.includes('?') || tail === '' ? path + tail : `${path}?${tail}`
      })
  })
  const others = oneOf([
    '/',
    '//',
    '/api',
    '/api/v1',
    '/api/v1/',
    '/api/v1//blocks',
    '/api/v1/blocks/',
    '/API/V1/blocks',
    '/api/v1/../health',
    '/api/v1/%62locks',
    '/ws',
    '/api/v1/ws',
    '/metrics',
    '/health?x',
    `/${'a/'.repeat(2_000)}`,
  ])
  return fc.oneof(
    { weight: 12, arbitrary: fc.oneof(...ofReads) },
    { weight: 1, arbitrary: others },
    { weight: 1, arbitrary: oneOf(TEXTS).map((text) => `/api/v1/${text}`) },
  )
}

function request(known: readonly string[]): fc.Arbitrary<Hostile> {
  const mostly = <T>(usual: T, others: readonly T[]) =>
    fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, oneOf(others))
  const whole = fc
    .tuple(
      mostly('GET', METHODS),
      target(known),
      mostly('', HEADERS),
      mostly('', ['body', '{"a":1}', 'x'.repeat(70_000)]),
    )
    .map(([method, path, header, body]) => {
      const length =
        body === '' || /length|encoding/i.test(header) ? '' : `Content-Length: ${String(body.length)}\r\n`
      const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${header === '' ? '' : `${header}\r\n`}${length}\r\n`
      return { bytes: Buffer.from(head + body, 'latin1'), isHead: method === 'HEAD' }
    })
  const broken = oneOf(BROKEN).map((text) => ({ bytes: Buffer.from(text, 'latin1'), isHead: false }))
  const noise = fc
    .uint8Array({ minLength: 1, maxLength: 200 })
    .map((bytes) => ({ bytes: Buffer.from(bytes), isHead: false }))
  return fc.oneof(
    { weight: 95, arbitrary: whole },
    { weight: 2, arbitrary: broken },
    { weight: 1, arbitrary: noise },
  )
}

/** A client's frame, with every possible defect. */
function frame({
  first,
  payload,
  masked = true,
  length = payload.length,
}: {
  first: number
  payload: Buffer
  masked?: boolean
  length?: number
}): Buffer {
  const mask = masked ? 0x80 : 0
  const head =
    length < 126
      ? Buffer.from([first, mask | length])
      : Buffer.concat([
          Buffer.from([first, mask | 127]),
          Buffer.from(length.toString(16).padStart(16, '0'), 'hex'),
        ])
  const key = masked ? Buffer.from([1, 2, 3, 4]) : Buffer.alloc(0)
  const sent = masked ? Buffer.from(payload.map((byte, index) => byte ^ (key[index % 4] ?? 0))) : payload
  return Buffer.concat([head, key, sent])
}

const text = Buffer.from('{"type":"subscribe","channel":"blocks","since":-1}')
const FRAMES: readonly (readonly [string, Buffer])[] = [
  ['reserved bits', frame({ first: 0xf1, payload: text })],
  ['no mask', frame({ first: 0x81, payload: text, masked: false })],
  ['an unknown opcode', frame({ first: 0x83, payload: text })],
  ['bad UTF-8', frame({ first: 0x81, payload: Buffer.from([0xc3, 0x28, 0xff]) })],
  ['half a surrogate', frame({ first: 0x81, payload: Buffer.from([0xed, 0xa0, 0x80]) })],
  ['too much', frame({ first: 0x81, payload: Buffer.alloc(17_000, 0x20) })],
  ['a length without end', frame({ first: 0x81, payload: text, length: 2 ** 40 })],
  ['a continuation of nothing', frame({ first: 0x80, payload: text })],
  [
    'fragments',
    Buffer.concat([
      frame({ first: 0x01, payload: text.subarray(0, 9) }),
      frame({ first: 0x80, payload: text.subarray(9) }),
    ]),
  ],
  [
    'fragments without end',
    Buffer.concat(
      Array.from({ length: 60 }, (_, index) =>
        frame({ first: index === 0 ? 0x01 : 0x00, payload: Buffer.alloc(500, 0x20) }),
      ),
    ),
  ],
  [
    'a text within a text',
    Buffer.concat([frame({ first: 0x01, payload: text }), frame({ first: 0x81, payload: text })]),
  ],
  ['a long ping', frame({ first: 0x89, payload: Buffer.alloc(126, 1) })],
  ['a fragmented ping', frame({ first: 0x09, payload: Buffer.alloc(1) })],
  [
    'many pings',
    Buffer.concat(Array.from({ length: 500 }, () => frame({ first: 0x89, payload: Buffer.alloc(100) }))),
  ],
  ['a close of one byte', frame({ first: 0x88, payload: Buffer.from([3]) })],
  ['a close with a wrong code', frame({ first: 0x88, payload: Buffer.from([0, 1, 0xff]) })],
  ['binary', frame({ first: 0x82, payload: text })],
  ['deep JSON', frame({ first: 0x81, payload: Buffer.from('['.repeat(15_000)) })],
  [
    'a wrong since',
    frame({ first: 0x81, payload: Buffer.from('{"type":"subscribe","channel":"mempool","since":1e400}') }),
  ],
  [
    'a channel of the prototype',
    frame({ first: 0x81, payload: Buffer.from('{"type":"subscribe","channel":"__proto__"}') }),
  ],
  ['noise', randomBytes(100)],
]

describe('an explorer under attack', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let port: number
  let known: string[]

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    port = Number(new URL(pipeline.url).port)
    const recorded = readFrames()[FRAME]
    const tip = recorded?.chaininfo.bestblockhash ?? ''
    await pipeline.level({ tip, mempoolSize: recorded?.mempoolinfo.size ?? 0 })
    const { items } = (await pipeline.get('/txs/recent?limit=50')).body
    const paying = items.find((tx: { is_coinbase: boolean }) => !tx.is_coinbase)
    known = [tip, paying.txid as string, paying.outputs[0].addresses[0].address as string]
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it(`survives ${String(REQUESTS)} hostile requests: no internal error, no internal details, no memory kept`, async () => {
    const sample = (numRuns: number, seed: number) => fc.sample(request(known), { numRuns, seed })
    await bombard(sample(1_000, SEED + 1))
    const before = kept()
    const began = performance.now()
    const seen = await bombard(sample(REQUESTS, SEED))
    const seconds = (performance.now() - began) / 1000
    await until(
      'the connections are gone',
      async () => (await pipeline.get('/mempool/summary')).status === 200,
    )
    const grown = kept() - before
    console.info(
      `${String(REQUESTS)} requests in ${seconds.toFixed(1)} s, kept ${(grown / 2 ** 20).toFixed(1)} MB:`,
      Object.fromEntries([...seen].sort(([one], [other]) => one - other)),
    )
    // Most of them were parsed.
    expect(seen.get(0) ?? 0).toBeLessThan(REQUESTS / 4)
    expect(seen.get(200) ?? 0).toBeGreaterThan(REQUESTS / 20)
    expect(seen.get(400) ?? 0).toBeGreaterThan(REQUESTS / 4)
    expect(grown).toBeLessThan(MAX_KEPT)
    for (const read of READS.filter(({ args }) => Object.keys(args).length === 0))
      expect((await pipeline.get(read.path)).status, read.path).toBe(200)
  })

  it('survives broken frames on a socket, and keeps no memory of their senders', async () => {
    const handshake = Buffer.from(
      'GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    const choices = fc.sample(fc.array(oneOf(FRAMES), { minLength: 1, maxLength: 4 }), {
      numRuns: SOCKETS,
      seed: SEED,
    })
    await inTurns(choices, async (client, frames) => {
      const opened = await client.send(handshake, false)
      expect(opened.status).toBe(101)
      for (const [, bytes] of frames) client.push(bytes)
      await client.finish()
    })
    const wsClients = async () => (await getAnswer(`${pipeline.url}/health`)).body.wsClients as number
    await until('no client is left', async () => (await wsClients()) === 0)
    const client = await FeedClient.connect(pipeline.url, '/ws')
    client.send({ type: 'ping' })
    await client.reply({ type: 'pong' })
    await client.close()
  })

  it('survives subscriptions by the thousand', async () => {
    const clients = await Promise.all(
      Array.from({ length: 50 }, () => FeedClient.connect(pipeline.url, '/api/v1/ws')),
    )
    for (const client of clients) {
      for (let count = 0; count < 100; count++) {
        client.send({
          type: 'subscribe',
          channel: ['blocks', 'mempool', 'stats', 'reorgs'][count % 4],
          ...(count % 3 === 0 ? { since: count } : {}),
        })
        client.send({ type: 'subscribe', channel: `no-${String(count)}` })
        client.send({ type: 'unsubscribe', channel: 'stats' })
      }
      client.send({ type: 'ping' })
    }
    await Promise.all(clients.map((client) => client.reply({ type: 'pong' })))
    await Promise.all(clients.map((client) => client.close()))
    expect((await getAnswer(`${pipeline.url}/health`)).status).toBe(200)
  })

  /**
   * Sends the requests.
   * @returns the number of answers by status.
   */
  async function bombard(requests: readonly Hostile[]): Promise<Map<number, number>> {
    const seen = new Map<number, number>()
    await inTurns(requests, async (client, { bytes, isHead }) => {
      const response = await client.send(bytes, !isHead)
      seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
      check(response, bytes, isHead)
    })
    return seen
  }

  async function inTurns<T>(
    items: readonly T[],
    each: (client: RawHttp, item: T) => Promise<void>,
  ): Promise<void> {
    let next = 0
    const clients = Array.from({ length: CLIENTS }, async () => {
      const client = new RawHttp(port)
      for (let item = items[next++]; item !== undefined; item = items[next++]) await each(client, item)
      client.close()
    })
    await Promise.all(clients)
  }
})

function check({ status, head, body }: RawResponse, bytes: Buffer, isHead: boolean): void {
  const sent = `${bytes.toString('latin1').slice(0, 300)}\n→ ${head}\n${body.slice(0, 500)}`
  if (status === 0) return
  expect(STATUSES.has(status), sent).toBe(true)
  expect(INSIDE.test(body.replaceAll(/Route \S+ not found/g, '')), sent).toBe(false)
  const isJson = /\r\ncontent-type: application\/json/i.test(head)
  // At the path of a page, the answer to a client that accepts anything is a page.
  const isPage = /\r\ncontent-type: text\/html/i.test(head)
  // The HTTP parser's refusals never reach our code; it closes the connection.
  if (status >= 400 && !isJson && !isPage) expect(head, sent).toMatch(/connection: close/i)
  if (status >= 400 && isJson && !isHead) expect(JSON.parse(body), sent).toHaveProperty('error')
}

/** Bytes in use after a garbage collection. */
function kept(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
