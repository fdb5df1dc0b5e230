import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Guard, type Resolve } from '../../../../services/webhooks/delivery/guard.js'
import { type Outcome, senderFor } from '../../../../services/webhooks/delivery/sender.js'
import type { Hook } from '../../../../services/webhooks/hooks.js'

const [OLD, NEW, OTHER] = [1, 2, 3].map(() => randomBytes(32))
const secretOf = (key: Buffer | undefined): string => `whsec_${(key ?? OLD)!.toString('base64')}`
const delivery = { number: 1, hook: 'a', id: 'msg_1', type: 'reorg', body: '{"text":"ä €"}', queued: 0 }

describe('sending a webhook', () => {
  let server: Server
  let port = 0
  const requests: { url: string; headers: IncomingHttpHeaders; body: string }[] = []

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
      request.on('end', () => {
        const url = request.url ?? ''
        requests.push({ url, headers: request.headers, body })
        const status = Number(url.slice(1))
        if (status === 0) return
        response.writeHead(status, { location: `http://127.0.0.1:${String(port)}/204` }).end('answer')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ;({ port } = server.address() as AddressInfo)
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  function send(host: string, path: string, guard: Guard, signal?: AbortSignal): Promise<Outcome> {
    const url = `http://${host}:${String(port)}${path}`
    const watched = { scripts: new Map(), txids: new Set<string>(), minValue: undefined, reorgs: true }
    const hook: Hook = { id: 'a', url, secrets: [NEW!, OLD!], confirmations: [1], ...watched }
    return senderFor(guard, 300)(hook, delivery, signal ?? new AbortController().signal)
  }

  const local = (): Guard => new Guard(['127.0.0.0/8'])

  it('signs the body with each secret, as receivers verify it', async () => {
    expect(await send('127.0.0.1', '/204', local())).toEqual({ kind: 'delivered' })
    const { headers, body } = requests.at(-1)!
    expect(body).toBe(delivery.body)
    expect(headers).toMatchObject({ 'webhook-id': 'msg_1', 'content-type': 'application/json' })
    for (const key of [OLD, NEW])
      expect(new Webhook(secretOf(key)).verify(body, headers as Record<string, string>)).toEqual({
        text: 'ä €',
      })
    expect(() => new Webhook(secretOf(OTHER)).verify(body, headers as Record<string, string>)).toThrow()
    expect(() => new Webhook(secretOf(OLD)).verify(`${body} `, headers as Record<string, string>)).toThrow()
  })

  it.each([
    [200, { kind: 'delivered' }],
    [299, { kind: 'delivered' }],
    [302, { kind: 'failed', error: 'answered 302' }],
    [307, { kind: 'failed', error: 'answered 307' }],
    [404, { kind: 'failed', error: 'answered 404' }],
    [410, { kind: 'gone' }],
    [503, { kind: 'failed', error: 'answered 503' }],
  ])('takes %i as what it is, and follows no redirect', async (status, outcome) => {
    const before = requests.length
    expect(await send('127.0.0.1', `/${String(status)}`, local())).toEqual(outcome)
    expect(requests.slice(before).map(({ url }) => url)).toEqual([`/${String(status)}`])
  })

  it('gives up on a receiver that does not answer', async () => {
    expect(await send('127.0.0.1', '/0', local())).toEqual({
      kind: 'failed',
      error: 'no answer within 0.3 s',
    })
  })

  it('connects to no address that the operator has not allowed, however it is spelled', async () => {
    const before = requests.length
    for (const host of [
      '127.0.0.1',
      'localhost',
      '127.1',
      '2130706433',
      '0x7f.0.0.1',
      '[::ffff:127.0.0.1]',
      '[::1]',
    ])
      expect(await send(host, '/204', new Guard([])), host).toMatchObject({
        kind: 'failed',
        error: expect.stringMatching('not a public'),
      })
    expect(requests.length).toBe(before)
  })

  it('connects to the address that was checked, whatever the name has become', async () => {
    const addresses = ['127.0.0.1', '127.0.0.9']
    const resolve: Resolve = (_name, _options, done) => {
      done(null, [{ address: addresses.shift() ?? '', family: 4 }])
    }
    const guard = new Guard(['127.0.0.1/32'], resolve)
    expect(await send('name.example', '/204', guard)).toEqual({ kind: 'delivered' })
    expect(addresses).toEqual(['127.0.0.9'])
    expect(requests.at(-1)!.headers.host).toBe(`name.example:${String(port)}`)
    expect(await send('name.example', '/204', guard)).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('127.0.0.9'),
    })
  })
})
