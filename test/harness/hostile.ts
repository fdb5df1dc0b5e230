import fc from 'fast-check'
import { expect } from 'vitest'
import { RawHttp, type RawResponse } from './raw-http.js'

/** HOSTILE_SEED=… selects other requests; a failure prints the request as it was sent. */
export const SEED = Number(process.env['HOSTILE_SEED'] ?? 20_261_121)
/** Text of a file outside of the served folder. */
export const SECRET = 'outside-of-the-content'
const CLIENTS = 20

/** Words that come from the inside: no request here contains SQL, and no path contains these. */
const INSIDE = /SELECT|FROM |DB::|ClickHouse|Exception|node_modules|\.[jt]s:\d+|\bat \S+ \(|undefined/
const STOLEN = new RegExp(`${SECRET}|root:.*:0:0:`)
/** The refusals that any request may get, and the statuses of a request that is as harmless as it seems. */
const STATUSES = [200, 204, 304, 308, 400, 404, 405, 413, 414, 426, 431, 501, 505]

export interface Hostile {
  readonly bytes: Buffer
  readonly isHead: boolean
  /** Sent on a connection of its own: the server may wait for the rest of the request before. */
  readonly isFirst: boolean
  /** The statuses that the contract allows. */
  readonly statuses: readonly number[]
}

export const oneOf = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)

/** Returns the words of a text. */
export const words = (text: string): string[] => text.trim().split(/\s+/)

/** Parts of a path or an argument, as they are sent. */
export const TEXTS: readonly string[] = [
  ...words(`
    %00 % %zz %u002e %c0%ae %c0%af %e2%28%a1 %ff %ff%fe \u00e9 [] %F0%9F%98%80 ? #
    ..%2f..%2f..%2fetc%2fpasswd ..%2f ..%5c ../ %2e%2e %2e%2e/ ....// // %252e%252e%252f
    /etc/passwd %2fetc%2fpasswd C:%5c .git/config .env package.json file:///etc/passwd
    headwater-secret.md headwater-secret index .mdx .md %0d%0aSet-Cookie:%20a=b %0d%0aset-cookie:x=1
    '%20OR%20'1'='1 '-- %27%29%3b-- {x:UInt64} %7Btxid:String%7D {{7*7}} \${x} $%7Bjndi:ldap://x%7D
    <script>alert(1)</script> %3Cscript%3E "><script> <mark> __proto__ constructor toString
    [object%20Object] null true Infinity -1 0 0.5 1e9 -0 61 1000000000 4294967296
    9007199254740993 18446744073709551616 00000000000000000001`),
  '',
  'a'.repeat(5_000),
  '%F0%9F%A6%80'.repeat(30),
  'f'.repeat(64),
  '0'.repeat(64),
  '0'.repeat(63),
  'G'.repeat(64),
  `bcrt1q${'q'.repeat(38)}`,
]

/** Claims of another address. */
export const SPOOFS: readonly string[] = [
  'x-forwarded-for',
  'x-real-ip',
  'forwarded',
  'cf-connecting-ip',
].flatMap((name) => ['1.2.3.4', '::1', '127.0.0.1, x', 'unknown', '0x7f.1'].map((each) => `${name}: ${each}`))

const HEADERS: readonly string[] = [
  'X-Min-Chain-Height: -1',
  'X-Min-Chain-Height: 1e3',
  'X-Min-Chain-Height: 99999999999999999999',
  'If-None-Match: *',
  'If-None-Match: "',
  'If-None-Match: W/',
  `If-None-Match: ${'W/"a",'.repeat(300)}`,
  'Accept: */*;q=x',
  'Accept: ;;;',
  'Accept: text/markdown;q=NaN',
  `Accept: ${','.repeat(500)}`,
  'Accept-Encoding: gzip, br',
  'Range: bytes=0-1',
  'Expect: 100-continue',
  'Content-Length: 5',
  'Content-Length: 100000000',
  'Content-Length: -5',
  'Content-Length: 5\r\nContent-Length: 6',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip',
  'Upgrade: websocket',
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13',
  ': empty',
  'No colon',
  'Bad\0: x',
  'X: \xff\xfe',
  `X-Long: ${'a'.repeat(10_000)}`,
  `${'A: b\r\n'.repeat(150)}C: d`,
  `Authorization: Bearer ${'x'.repeat(1_000)}`,
  ...SPOOFS.slice(0, 4),
]

const HOSTS = ['y', 'evil.example/"><script>', 'a b', '', '"', 'x'.repeat(300), '[::1', 'localhost:99999999']

const METHODS = [
  ...words('GET HEAD POST PUT DELETE PATCH OPTIONS TRACE CONNECT PROPFIND get'),
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
  'GET http://169.254.169.254/guide/start HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET * HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET health HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /health HTTP/1.1\r\n folded: x\r\nHost: x\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n',
  'POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc',
]

/** A path that begins like one of the server's and continues with anything. */
export function wildPath(beginnings: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(oneOf(beginnings), fc.array(oneOf(TEXTS), { minLength: 1, maxLength: 6 }))
    .map(([beginning, parts]) => beginning + parts.join(''))
}

/** A POST request with JSON, or what should be JSON, from a client that claims another address. */
export function post(
  path: string,
  bodies: fc.Arbitrary<string | Buffer>,
  statuses: readonly number[],
): fc.Arbitrary<Hostile> {
  return fc.tuple(bodies, oneOf(SPOOFS)).map(([body, spoof]) => {
    const length = String(Buffer.byteLength(body))
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${spoof}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
    return {
      bytes: Buffer.concat([Buffer.from(head), Buffer.from(body)]),
      isHead: false,
      isFirst: true,
      statuses,
    }
  })
}

/** Requests for the targets, of which one in nine has a hostile method, header, host or body; or what is no request. */
export function requestFor(targets: fc.Arbitrary<string>): fc.Arbitrary<Hostile> {
  const mostly = <T>(usual: T, others: readonly T[]) =>
    fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, oneOf(others))
  const whole = fc
    .tuple(
      mostly('GET', METHODS),
      targets,
      mostly('x', HOSTS),
      mostly('', HEADERS),
      mostly('', ['body', '{"a":1}', 'x'.repeat(70_000)]),
    )
    .map(([method, path, host, header, body]) => {
      const length =
        body === '' || /length|encoding/i.test(header) ? '' : `Content-Length: ${String(body.length)}\r\n`
      const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${header === '' ? '' : `${header}\r\n`}${length}\r\n`
      return {
        bytes: Buffer.from(head + body, 'latin1'),
        isHead: method === 'HEAD',
        isFirst: false,
        statuses: STATUSES,
      }
    })
  const bytesOnly = (bytes: Buffer): Hostile => ({ bytes, isHead: false, isFirst: false, statuses: STATUSES })
  return fc.oneof(
    { weight: 97, arbitrary: whole },
    { weight: 2, arbitrary: oneOf(BROKEN).map((text) => bytesOnly(Buffer.from(text, 'latin1'))) },
    {
      weight: 1,
      arbitrary: fc
        .uint8Array({ minLength: 1, maxLength: 200 })
        .map((bytes) => bytesOnly(Buffer.from(bytes))),
    },
  )
}

/**
 * Sends the requests, several at once, and checks each answer: its status is one that the contract allows, and it contains
 * nothing from the inside.
 * @returns the number of answers by status; 0 stands for a closed connection.
 */
export async function bombard(port: number, requests: readonly Hostile[]): Promise<Map<number, number>> {
  const counts = new Map<number, number>()
  await inTurns(port, requests, async (client, request) => {
    if (request.isFirst) client.close()
    const response = await client.send(request.bytes, !request.isHead)
    counts.set(response.status, (counts.get(response.status) ?? 0) + 1)
    check(response, request)
  })
  return counts
}

/** Calls a function for each item, several at once, each with a client of its own. */
export async function inTurns<T>(
  port: number,
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

function check({ status, head, body }: RawResponse, { bytes, isHead, statuses }: Hostile): void {
  const sent = `${bytes.toString('latin1').slice(0, 300)}\n→ ${head}\n${body.slice(0, 500)}`
  if (status === 0) return
  expect(statuses, sent).toContain(status)
  const isJson = /\r\ncontent-type: application\/(graphql-response\+)?json/i.test(head)
  // At the path of a page, the answer to a client that accepts anything is a page.
  const isPage = /\r\ncontent-type: text\/html/i.test(head)
  // The HTTP parser's refusals never reach our code; it closes the connection.
  if (status >= 400 && !isJson && !isPage) expect(head, sent).toMatch(/connection: close/i)
  expect(INSIDE.test(body.replaceAll(/Route \S+ not found/g, '')), sent).toBe(false)
  expect(STOLEN.test(body), sent).toBe(false)
  expect(head, sent).not.toMatch(/\r\nset-cookie/i)
  if (isPage) expect(body, sent).not.toMatch(/<script>|"><script/i)
  if (status >= 400 && isJson && !isHead)
    expect(Object.keys(JSON.parse(body) as object).join(' '), sent).toMatch(/\berrors?\b/)
}
