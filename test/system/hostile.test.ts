import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { READS } from '../../services/explorer/core/reads/index.js'
import type { Read } from '../../services/explorer/core/reads/read.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import {
  bombard,
  type Hostile,
  inTurns,
  oneOf,
  post,
  requestFor,
  SECRET,
  SEED,
  TEXTS,
  wildPath,
  words,
} from '../harness/hostile.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { readFrames, TIMELINE } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { type BareDocs, startBareDocs } from '../services/docs/bare-docs.js'
import { passage } from '../services/docs/fake-worker.js'
import { edgesOf, isInPath, isInUrl, pathOf } from '../services/explorer/edges.js'
import { hostileDocuments } from '../services/explorer/faces/graphql/hostile-documents.js'
import { FeedClient } from '../services/explorer/feed-client.js'

/** The number of requests to each server. */
const REQUESTS = Number(process.env['HOSTILE_REQUESTS'] ?? 800)
const SOCKETS = 300
const FRAME = 728
/**
 * Bytes that a server keeps after many requests: answers, 48 MB of them, and memory that the runtime does not return
 * at once.
 */
const MAX_KEPT = 88 * 2 ** 20

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
function targetOfExplorer(known: readonly string[]): fc.Arbitrary<string> {
  const tails = [
    '&page=2&page=1',
    '&limit=&limit',
    '&__proto__=1',
    '&&&=',
    '?',
    '#x',
    `&${'a=b&'.repeat(500)}`,
  ]
  const ofReads = READS.filter(isInUrl).map((read) => {
    const values = Object.fromEntries(
      Object.keys(read.args).map((name) => [name, argument(read, name, known)]),
    )
    const requiredKeys = Object.keys(values).filter((name) => isInPath(read, name))
    return fc
      .tuple(
        fc.record(values, { requiredKeys }),
        fc.oneof({ weight: 3, arbitrary: fc.constant('') }, oneOf(tails)),
      )
      .map(([given, tail]) => {
        const path = pathOf(read, given, (text) => text)
        return path.includes('?') || tail === '' ? path + tail : `${path}?${tail}`
      })
  })
  const others = words(`
    / // /api /api/v1 /api/v1/ /api/v1//blocks /api/v1/blocks/ /API/V1/blocks /api/v1/../health
    /api/v1/%62locks /ws /api/v1/ws /metrics /health?x /${'a/'.repeat(2_000)}`)
  return fc.oneof(
    { weight: 12, arbitrary: fc.oneof(...ofReads) },
    { weight: 1, arbitrary: oneOf(others) },
    { weight: 1, arbitrary: wildPath(['/', '/api/v1/', '/block/', '/graphql/', '/openapi.json']) },
  )
}

const TARGETS_OF_DOCS = fc.oneof(
  {
    weight: 3,
    arbitrary: wildPath([
      '/',
      '/api/docs/',
      '/docs/',
      '/llms.mdx/',
      '/guide/',
      '/_docs/',
      '/_files/',
      '/api/',
    ]),
  },
  oneOf([
    '/',
    '/sitemap.xml',
    '/robots.txt',
    '/guide/start',
    '/api/docs',
    '/api/ask',
    `/${'x'.repeat(8_200)}`,
  ]),
  fc
    .tuple(oneOf([...TEXTS, 'x'.repeat(5_000)]), oneOf([...TEXTS, '5']))
    .map(([query, limit]) => `/api/search?query=${query}&limit=${limit}`),
)

const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const user = { role: 'user', parts: [{ type: 'text', text: 'x' }] }
const BAD_ASKS = [
  '',
  '{',
  'null',
  '[]',
  '"x"',
  '1',
  '{}',
  deep(10_000),
  `{"question":${deep(5_000)}}`,
  '{"question":null}',
  '{"question":{"toString":"x"}}',
  '{"__proto__":{"question":"x"}}',
  '{"question":["x"]}',
  '{"question":true}',
  JSON.stringify({ question: 'x'.repeat(1_001) }),
  '{"question":"\\u0000',
  '\u0000',
  '{"question":"   "}',
  '{"question":1e400}',
] as const
const BAD_CHATS = [
  '',
  'null',
  '{}',
  '{"messages":{}}',
  '{"messages":[]}',
  '{"messages":[null]}',
  '{"messages":["x"]}',
  deep(20_000),
  JSON.stringify({ messages: Array.from({ length: 21 }, () => user) }),
  JSON.stringify({ messages: [{ ...user, role: 'system' }, user] }),
  JSON.stringify({ messages: [{ ...user, role: 'developer' }] }),
  JSON.stringify({ messages: [{ ...user, role: ['user'] }] }),
  JSON.stringify({ messages: [{ ...user, role: '__proto__' }] }),
  JSON.stringify({ messages: [{ role: 'user', parts: [{ type: 'text' }] }] }),
  JSON.stringify({ messages: [{ role: 'user', parts: [{ type: 'tool-call', text: 'x' }] }] }),
  JSON.stringify({ messages: [{ role: 'user', parts: 'x' }] }),
  JSON.stringify({ messages: [user, { role: 'assistant', parts: [] }] }),
] as const

/** Requests to the documentation that a client may be refused for their number. */
const QUESTIONS = fc.oneof(
  post('/api/ask', oneOf(BAD_ASKS), [400, 429]),
  post(
    '/api/ask',
    fc.nat(255).map((last) => Buffer.from([0x22, 0xff, 0xfe, last])),
    [400, 429],
  ),
  post(
    '/api/ask',
    fc.nat(9_000).map((more) => JSON.stringify({ question: 'y'.repeat(520_000 + more) })),
    [400, 413, 429],
  ),
  post(
    '/api/ask',
    oneOf(TEXTS).map((question) => JSON.stringify({ question })),
    [200, 400, 429],
  ),
  post('/api/chat', oneOf(BAD_CHATS), [400, 429]),
  post('/mcp', oneOf(BAD_ASKS), [400, 406]),
)

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

interface Target {
  readonly port: number
  readonly requests: fc.Arbitrary<Hostile>
  /** The least part of the answers that has each status: most requests arrive where they are meant to. */
  readonly least: Readonly<Record<number, number>>
  /** Paths that are answered as ever afterwards. */
  readonly paths: readonly string[]
}

describe('servers under attack', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let docs: BareDocs
  const servers: Partial<Record<string, Target>> = {}

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    const recorded = readFrames()[FRAME]
    const tip = recorded?.chaininfo.bestblockhash ?? ''
    await pipeline.level({ tip, mempoolSize: recorded?.mempoolinfo.size ?? 0 })
    const { items } = (await pipeline.get('/txs/recent?limit=50')).body
    const paying = items.find((tx: { is_coinbase: boolean }) => !tx.is_coinbase)
    const known = [tip, paying.txid as string, paying.outputs[0].addresses[0].address as string]
    servers['explorer'] = {
      port: Number(new URL(pipeline.url).port),
      requests: fc.oneof(
        { weight: 5, arbitrary: requestFor(targetOfExplorer(known)) },
        { weight: 1, arbitrary: post('/graphql', hostileDocuments, [200, 400, 413]) },
      ),
      least: { 200: 0.05, 400: 0.25 },
      paths: READS.filter(({ args }) => Object.keys(args).length === 0).map(({ path }) => `/api/v1${path}`),
    }
    const limit = { most: Math.floor(REQUESTS / 8), windowMs: 3_600_000 }
    docs = await startBareDocs({ askLimit: limit, chatLimit: limit, agentApiKey: 'the-key' })
    docs.worker.passages = [passage()]
    await writeFile(join(dirname(docs.folder), 'headwater-secret.md'), SECRET)
    servers['docs'] = {
      port: docs.docs.port,
      requests: fc.oneof(requestFor(TARGETS_OF_DOCS), QUESTIONS),
      // A body that is too large is rare: its sender has mostly exceeded the limit of requests by then.
      least: {
        ...{ 200: 0.05, 400: 0.05, 404: 0.05, 405: 0.005, 414: 0.005, 429: 0.005 },
        ...(REQUESTS < 4_000 ? {} : { 413: 0.002 }),
      },
      paths: ['/guide/start', '/api/docs'],
    }
  })
  afterAll(async () => {
    await docs.close()
    await pipeline.close()
    await node.close()
  })

  it.each(['explorer', 'docs'])(
    `the %s survives ${String(REQUESTS)} hostile requests: no internal error, no internal details, no memory kept`,
    async (name) => {
      const { port, requests, least, paths } = servers[name]!
      const sample = (numRuns: number, seed: number) => fc.sample(requests, { numRuns, seed })
      await bombard(port, sample(1_000, SEED + 1))
      const before = kept()
      const counts = await bombard(port, sample(REQUESTS, SEED))
      for (const path of paths)
        expect((await fetch(`http://127.0.0.1:${String(port)}${path}`)).status, path).toBe(200)
      const growth = kept() - before
      console.info(`${name}: kept ${(growth / 2 ** 20).toFixed(1)} MB:`, Object.fromEntries(counts))
      expect(growth).toBeLessThan(MAX_KEPT)
      // Most of them were parsed.
      expect(counts.get(0) ?? 0).toBeLessThan(REQUESTS / 4)
      for (const [status, part] of Object.entries(least))
        expect(counts.get(Number(status)) ?? 0, status).toBeGreaterThan(part * REQUESTS)
    },
  )

  it('survives broken frames on a socket, and keeps no memory of their senders', async () => {
    const handshake = Buffer.from(
      'GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    const choices = fc.sample(fc.array(oneOf(FRAMES), { minLength: 1, maxLength: 4 }), {
      numRuns: SOCKETS,
      seed: SEED,
    })
    await inTurns(servers['explorer']!.port, choices, async (client, frames) => {
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
})

/** Bytes in use after a garbage collection. */
function kept(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
