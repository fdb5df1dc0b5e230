import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Listener } from '../../../../../services/explorer/faces/face.js'
import { NodeServer } from '../../../../../services/explorer/host/http/node-server.js'
import type { Answer, Request } from '../../../../../services/explorer/http/answer.js'

const REQUESTS = 100

/** Answers `/ready/…` at once, `/slow/…` after a while, the others soon; with the method, path and body. */
async function answerTo(request: Request): Promise<Answer> {
  const { method, path } = request
  const body = method === 'POST' ? await request.body(1_000) : undefined
  await sleep(path.startsWith('/slow/') ? 30 : 0)
  return textAnswer(`${method === 'HEAD' ? 'GET' : method} ${path} ${body?.toString() ?? ''}`)
}

const textAnswer = (text: string): Answer => ({
  status: 200,
  headers: [['content-type', 'text/plain']],
  body: Buffer.from(text),
})

describe('requests that a client sends before it has the answers', () => {
  let listener: Listener
  const kinds = ['ready', 'slow', 'fast'] as const
  const requests = Array.from({ length: REQUESTS }, (_, index) => {
    const path = `/${kinds[index % 3] ?? ''}/${String(index)}`
    const method = index % 10 === 4 ? 'HEAD' : index % 10 === 7 ? 'POST' : 'GET'
    return { method, path, body: method === 'POST' ? `body ${String(index)}` : '' }
  })

  beforeAll(async () => {
    const server = new NodeServer(
      {
        answer: answerTo,
        ready: (path) => (path.startsWith('/ready/') ? textAnswer(`GET ${path} `) : undefined),
        observe: () => undefined,
        refusal: () => undefined,
        sockets: [],
      },
      { what: 'a test' },
    )
    listener = await server.listen({ host: '127.0.0.1', port: 0, isShared: false })
  })
  afterAll(() => listener.close())

  /** Sends all requests, in pieces, and returns the bodies of the answers in their order. */
  async function exchange(pieces: readonly string[]): Promise<readonly string[]> {
    const socket = connect(listener.port, '127.0.0.1')
    socket.setNoDelay()
    let received = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk))
    for (const piece of pieces) {
      socket.write(piece)
      if (pieces.length > 1) await sleep(1)
    }
    await once(socket, 'end')
    const bodies: string[] = []
    for (const { method } of requests) {
      const end = received.indexOf('\r\n\r\n') + 4
      const head = received.slice(0, end)
      expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
      const length = method === 'HEAD' ? 0 : Number(/content-length: (\d+)/i.exec(head)?.[1])
      bodies.push(received.slice(end, end + length))
      received = received.slice(end + length)
    }
    expect(received).toBe('')
    return bodies
  }

  const text = requests
    .map(({ method, path, body }, index) => {
      const length = method === 'POST' ? `content-length: ${String(body.length)}\r\n` : ''
      const close = index === REQUESTS - 1 ? 'connection: close\r\n' : ''
      return `${method} ${path} HTTP/1.1\r\nhost: a\r\n${length}${close}\r\n${body}`
    })
    .join('')
  const expected = requests.map(({ method, path, body }) =>
    method === 'HEAD' ? '' : `${method} ${path} ${body}`,
  )

  it('are all answered in their order', async () => {
    expect(await exchange([text])).toEqual(expected)
  })

  it('are all answered in their order when their bytes come in pieces', async () => {
    const pieces = Array.from({ length: 41 }, (_, index) =>
      text.slice(Math.floor((index * text.length) / 41), Math.floor(((index + 1) * text.length) / 41)),
    )
    expect(await exchange(pieces)).toEqual(expected)
  })
})
