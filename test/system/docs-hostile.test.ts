import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBareDocs, type BareDocs } from '../services/docs/bare-docs.js'
import { passage } from '../services/docs/fake-worker.js'

const SECRET = 'outside-of-the-content'
const REQUESTS = 5_000
const AT_ONCE = 16

let docs: BareDocs

beforeAll(async () => {
  docs = await startBareDocs({
    ...{ askLimit: { most: 1_500, windowMs: 600_000 }, chatLimit: { most: 1_000, windowMs: 600_000 } },
    agentApiKey: 'the-key',
  })
  docs.worker.passages = [passage()]
  await writeFile(join(dirname(docs.folder), 'headwater-secret.md'), SECRET)
})

afterAll(async () => {
  await docs.close()
})

/** The same numbers each time: a case that fails can be found again. */
function randomOf(seed: number) {
  let state = seed
  const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32
  return {
    below: (most: number) => Math.floor(next() * most),
    of: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T,
  }
}

type Random = ReturnType<typeof randomOf>

interface Hostile {
  readonly line: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
  /** The outcomes that the contract allows. */
  readonly expected: readonly number[]
}

const PREFIXES = ['/', '/api/docs/', '/docs/', '/llms.mdx/', '/guide/', '/_docs/', '/api/'] as const
const PIECES = [
  '..%2f',
  '..%5c',
  '../',
  '%2e%2e/',
  '....//',
  '%252e%252e%252f',
  '%00',
  '%ff',
  '%c0%af',
  '%',
  '%zz',
  '%u002e',
  '//',
  '/etc/passwd',
  '%2fetc%2fpasswd',
  'headwater-secret.md',
  'headwater-secret',
  'C:%5c',
  '.git/config',
  '.env',
  'index',
  'file:///etc/passwd',
  '<script>alert(1)</script>',
  '%3Cscript%3E',
  "'--",
  '{{7*7}}',
  '${x}',
  '__proto__',
  'constructor',
  'guide',
  'start',
  '.mdx',
  '.md',
  '?',
  '#',
  '%0d%0aset-cookie:x=1',
  'package.json',
  '\u00e9',
] as const

function path(random: Random): Hostile {
  const pieces = Array.from({ length: 1 + random.below(6) }, () => random.of(PIECES))
  const target = encodeURI(random.of(PREFIXES) + pieces.join('')).replace(/%25/g, '%')
  const absolute = random.below(10) === 0 ? 'http://169.254.169.254' : ''
  return { line: `GET ${absolute}${target}`, expected: [200, 304, 308, 400, 404] }
}

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

const json = 'content-type: application/json'
const spoofed = (random: Random) =>
  `${random.of(['x-forwarded-for', 'x-real-ip', 'forwarded', 'cf-connecting-ip'])}: ${random.of(['1.2.3.4', '::1', '127.0.0.1, x', 'unknown', '0x7f.1', `10.0.${random.below(256)}.${random.below(256)}`])}`

function post(random: Random, target: string, body: string | Buffer, expected: readonly number[]): Hostile {
  return { line: `POST ${target}`, headers: [json, spoofed(random)], body, expected }
}

const KINDS: readonly ((random: Random) => Hostile)[] = [
  path,
  path,
  (random) => post(random, '/api/ask', random.of(BAD_ASKS), [400, 429]),
  (random) => post(random, '/api/chat', random.of(BAD_CHATS), [400, 429]),
  (random) => post(random, '/api/ask', Buffer.from([0x22, 0xff, 0xfe, random.below(256)]), [400, 429]),
  (random) =>
    post(
      random,
      '/api/ask',
      JSON.stringify({ question: 'y'.repeat(520_000 + random.below(9_000)) }),
      [400, 413, 429],
    ),
  (random) => post(random, '/api/ask', JSON.stringify({ question: random.of(PIECES) }), [200, 400, 429]),
  (random) => post(random, '/mcp', random.of(BAD_ASKS), [400, 406]),
  (random) => ({
    line: `${random.of(['PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])} ${random.of(['/', '/api/docs', '/api/ask', '/guide'])}`,
    expected: [405],
  }),
  (random) => ({
    line: `GET /api/search?query=${random.of(['%00', '%', '%ff%fe', 'x'.repeat(5_000), '<mark>', '%F0%9F%98%80'])}&limit=${random.of(['0', '61', 'x', '-1', '1e9', '5', ''])}`,
    expected: [200, 400],
  }),
  () => ({ line: `GET /${'x'.repeat(8_200)}`, expected: [414] }),
  (random) => ({
    line: `GET ${random.of(['/', '/sitemap.xml', '/robots.txt', '/guide/start'])}`,
    headers: [
      `host: ${random.of(['evil.example/"><script>', 'a b', '', '"', 'x'.repeat(300), '[::1', 'localhost:99999999'])}`,
      spoofed(random),
      `accept: ${random.of(['*/*;q=x', ';;;', 'text/markdown;q=NaN', ','.repeat(500)])}`,
      `if-none-match: ${random.of(['"', 'W/', ','.repeat(500), '"a'])}`,
    ],
    expected: [200],
  }),
]

/** Bytes as they are: fetch would tidy them up. */
function send({ line, headers = [], body = '' }: Hostile): Promise<{ status: number; text: string }> {
  const named = headers.some((header) => header.startsWith('host:')) ? [] : ['host: 127.0.0.1']
  const length =
    body.length > 0 || line.startsWith('POST') ? [`content-length: ${Buffer.byteLength(body)}`] : []
  const head = [`${line} HTTP/1.1`, ...named, ...headers, ...length, 'connection: close', '', ''].join('\r\n')
  return new Promise((resolve) => {
    const socket = connect(docs.docs.port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => (text += chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text }))
    socket.write(head)
    socket.write(body)
  })
}

describe(`${String(REQUESTS)} hostile requests`, () => {
  it('are each answered as the contract has it, without a 5xx, and read nothing outside', async () => {
    const random = randomOf(5)
    const requests = Array.from({ length: REQUESTS }, (_, index) => KINDS[index % KINDS.length]!(random))
    const wrong: string[] = []
    const statuses = new Map<number, number>()
    const work = async (): Promise<void> => {
      for (let request = requests.pop(); request !== undefined; request = requests.pop()) {
        const { status, text } = await send(request)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        const body = text.slice(text.indexOf('\r\n\r\n'))
        const isLeak =
          text.includes(SECRET) || /root:.*:0:0:/.test(text) || /set-cookie/i.test(text.split('\r\n\r\n')[0]!)
        const isScript = /<script>|"><script/i.test(body) && /content-type: text\/html/i.test(text)
        if (request.expected.includes(status) && !isLeak && !isScript) continue
        wrong.push(
          `${String(status)} ${request.line.slice(0, 120)} ${String(request.body ?? '').slice(0, 60)}`,
        )
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    expect(wrong).toEqual([])
    // All kinds of answers were there: the requests did get to what they are meant for.
    for (const status of [200, 400, 404, 405, 413, 414, 429])
      expect(statuses.get(status), String(status)).toBeGreaterThan(20)
    expect((await docs.get('/guide/start')).status).toBe(200)
  })
})
