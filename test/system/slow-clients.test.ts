import { Type } from '@sinclair/typebox'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_BODY } from '../../services/explorer/http/body.js'
import { declareRead } from '../../services/explorer/core/reads/read.js'
import { until } from '../harness/until.js'
import { type BareServer, sendRaw, startBare } from '../services/explorer/bare-server.js'

const BIG = 'x'.repeat(20_000_000)

const big = declareRead({
  name: 'big',
  path: '/big',
  fresh: 'live',
  args: {},
  answer: Type.Object({ text: Type.String() }),
  resolve: () => ({ text: BIG }),
})
const late = declareRead({
  name: 'late',
  path: '/late',
  fresh: 'live',
  args: {},
  answer: Type.Object({}),
  resolve: () => sleep(60_000, {}, { ref: false }),
})

/** One byte more than the largest body that the API accepts. */
const TOO_LARGE = String(MAX_BODY + 1)
const LINE = 'GET /health HTTP/1.1\r\nHost: x\r\n'
/** Established connections on the server's side, as the kernel counts them. */
function connections(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  return lines.filter((fields) => fields[1]?.endsWith(local) === true && fields[3] === '01').length
}

describe('a slow client', () => {
  let bare: BareServer

  beforeAll(async () => {
    bare = await startBare({ reads: [big, late] })
  })
  afterAll(() => {
    bare.close()
  })

  it.concurrent.each([
    ['says nothing', '', undefined],
    ['drips a request line', 'GET /hea', 'a'],
    ['drips a header', `${LINE}X: `, 'a'],
    ['drips headers', LINE, 'a: b\r\n'],
    ['drips a body', 'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n', 'a'],
    [
      'drips a body while its answer is made',
      'GET /api/v1/late HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n',
      'a',
    ],
    ['drips the next request', `${LINE}\r\n`, 'G'],
    ['asks for a socket and drips', `${LINE}Upgrade: websocket\r\n`, 'a'],
  ])('that %s is disconnected', async (_, bytes, drip) => {
    // After ten seconds, on a clock that ticks every four; if each byte restarted the time, the connection would stay
    // open.
    const options = { everyMs: 2_000, ...(drip === undefined ? {} : { drip }) }
    expect(await sendRaw(bare.port, bytes, options)).toMatchObject({ closed: true })
  })

  it.concurrent('that does not read its answer is disconnected', async () => {
    // Only the kernel can count the server's side.
    if (process.platform !== 'linux') return
    const own = await startBare({ reads: [big] })
    const socket = connect(own.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    socket.write('GET /api/v1/big HTTP/1.1\r\nHost: x\r\n\r\n')
    await until('the connection is there', () => connections(own.port) === 1)
    await until('the connection is closed', () => connections(own.port) === 0)
    socket.destroy()
    own.close()
  })

  it.concurrent('delays no other client', async () => {
    await until('another one is answered while a slow one is there', async () => {
      const slow = connect(bare.port, '127.0.0.1')
      await once(slow, 'connect')
      slow.write(LINE)
      expect((await fetch(`${bare.url}/health`)).status).toBe(200)
      const isThere = slow.readyState === 'open'
      slow.destroy()
      return isThere
    })
  })
})

describe('a request that is too large', () => {
  let bare: BareServer

  beforeAll(async () => {
    bare = await startBare()
  })
  afterAll(() => {
    bare.close()
  })

  const statuses = (text: string): string[] => text.match(/HTTP\/1\.1 \d+/g) ?? []

  it('with a long URL gets an error that says so', async () => {
    const { status, headers } = await fetch(`${bare.url}/health?${'a'.repeat(9_000)}`)
    expect(status).toBe(414)
    expect(headers.get('content-type')).toContain('json')
  })

  it.each([
    ['a header of a megabyte', `${LINE}X: ${'a'.repeat(2 ** 20)}\r\n\r\n`],
    ['a URL of a megabyte', `GET /${'a'.repeat(2 ** 20)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['headers without end', LINE + 'a: b\r\n'.repeat(2 ** 17)],
  ])('with %s is answered 414 or 431, or the connection closes', async (_, bytes) => {
    const { text, closed } = await sendRaw(bare.port, bytes)
    expect(closed).toBe(true)
    for (const status of statuses(text)) expect(status).toMatch(/414|431|505/)
    expect((await fetch(`${bare.url}/health`)).status).toBe(200)
  })

  it('with a small body is answered as if it had none, and so is the next one', async () => {
    const body = `${LINE}Content-Length: 3\r\n\r\nabc`
    expect(statuses((await sendRaw(bare.port, body + body, { answers: 2 })).text)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 200',
    ])
  })

  it.each([
    ['GET', `Content-Length: ${TOO_LARGE}`, 200],
    ['GET', 'Content-Length: 10000000000', 200],
    ['GET', 'Transfer-Encoding: chunked', 200],
    ['POST', `Content-Length: ${TOO_LARGE}`, 405],
  ])('with a large body is answered and disconnected: %s, %s', async (method, header, status) => {
    // A client that sends a smaller body than it declared is disconnected too, but only after ten seconds of silence.
    const earlier = connect(bare.port, '127.0.0.1')
    earlier.write(`${LINE}\r\n`)
    await once(earlier, 'data')
    const { text, closed } = await sendRaw(
      bare.port,
      `${method} /health HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`,
    )
    expect(statuses(text)).toEqual([`HTTP/1.1 ${String(status)}`])
    expect(closed).toBe(true)
    expect(earlier.readyState).toBe('open')
    earlier.destroy()
  })

  it.each(['HEAD', 'OPTIONS'])(
    'with a large body is disconnected if the answer has no body: %s',
    async (method) => {
      const request = `${method} /health HTTP/1.1\r\nHost: x\r\nContent-Length: ${TOO_LARGE}\r\n\r\n`
      expect(await sendRaw(bare.port, request)).toMatchObject({ text: '', closed: true })
      expect((await fetch(`${bare.url}/health`)).status).toBe(200)
    },
  )
})
