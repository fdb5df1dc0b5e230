import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { Transport } from '../../../../pipelines/tables/connection/transport.js'
import { until } from '../../../harness/until.js'

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

describe('the transport', () => {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function connected(answer: Answer, login = '', timeoutMs = 5_000) {
    const sockets: Socket[] = []
    const server: Server = createServer((request, response) => {
      void text(request).then((body) => {
        answer(request, response, body)
      })
    })
    server.on('connection', (socket) => sockets.push(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://${login}127.0.0.1:${String((server.address() as AddressInfo).port)}`
    const transport = new Transport({ url, database: 'd', timeoutMs, refusal: (reason) => new Error(reason) })
    closing.push(
      () => server.close(),
      () => transport.close(),
    )
    return { transport, sockets }
  }
  const resultOf = async (transport: Transport, query: string): Promise<string> =>
    text((await transport.exec({ query })).stream)

  it('sends query, database, settings and escaped parameters, and the user of the URL', async () => {
    const { transport, sockets } = await connected((request, response, body) => {
      response.end(JSON.stringify({ url: request.url, body, login: request.headers.authorization }))
    }, 'me:se%3Acret@')
    const query = 'SELECT {a:String}'
    const { stream } = await transport.exec({
      query,
      query_params: { a: "'\\\t\n\r&", b: 7n },
      clickhouse_settings: { readonly: '2' },
    })
    const { url, body, login } = JSON.parse(await text(stream)) as Record<string, string>
    expect(body).toBe(query)
    expect(login).toBe(`Basic ${Buffer.from('me:se:cret').toString('base64')}`)
    const search = Object.fromEntries(new URL(String(url), 'http://host').searchParams)
    expect(search).toEqual({ database: 'd', readonly: '2', param_a: "'\\\\\\t\\n\\r&", param_b: '7' })
    await resultOf(transport, query)
    expect(sockets).toHaveLength(1)
  })

  it('sends values with their query in the URL', async () => {
    const { transport } = await connected((request, response, body) => {
      response.end(`${String(new URL(String(request.url), 'http://host').searchParams.get('query'))} ${body}`)
    })
    const { stream } = await transport.exec({ query: 'INSERT', values: Readable.from(['a', 'b']) })
    expect(await text(stream)).toBe('INSERT ab')
  })

  it('rejects with the text of the server if it refuses a query, also after it has begun to answer', async () => {
    const { transport } = await connected((_, response, body) => {
      if (body === 'begun') response.setHeader('x-clickhouse-exception-code', '60')
      else response.statusCode = 404
      response.end(`no ${body}`)
    })
    await expect(transport.exec({ query: 'begun' })).rejects.toThrow('no begun')
    await expect(transport.command({ query: 'wrong' })).rejects.toThrow('no wrong')
    expect(await transport.ping({})).toMatchObject({ success: false, error: new Error('no ') })
  })

  it('sends a read again if the server has closed its idle connection, and nothing else', async () => {
    const { transport, sockets } = await connected((request, response, body) => {
      // As if the connection had been closed before the request arrived.
      if (sockets.length === 1 && body !== 'first') request.socket.destroy()
      else response.end(body)
    })
    expect(await resultOf(transport, 'first')).toBe('first')
    expect(await resultOf(transport, 'second')).toBe('second')
    sockets.length = 0
    expect(await resultOf(transport, 'first')).toBe('first')
    await expect(transport.command({ query: 'third' })).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  it('waits for a query that takes longer than a connection may be idle, on a new and on a used connection', async () => {
    const { transport, sockets } = await connected((_, response, body) => {
      setTimeout(() => response.end(body), 2_600)
    })
    expect(await resultOf(transport, 'first')).toBe('first')
    expect(await resultOf(transport, 'second')).toBe('second')
    expect(sockets).toHaveLength(1)
  }, 20_000)

  it('sends nothing again once the server has begun to answer, or the transport is closed', async () => {
    let requests = 0
    const { transport, sockets } = await connected((request, response, body) => {
      requests++
      if (body === 'first') response.end(body)
      if (body === 'begun') response.write('begun', () => request.socket.resetAndDestroy())
    })
    expect(await resultOf(transport, 'first')).toBe('first')
    await expect(resultOf(transport, 'begun')).rejects.toThrow('aborted')
    expect(await resultOf(transport, 'first')).toBe('first')
    const silent = transport.exec({ query: 'silent' })
    await until('it is sent', () => requests === 4)
    await transport.close()
    await expect(silent).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect({ requests, connections: sockets.length }).toEqual({ requests: 4, connections: 2 })
  })

  it('gives up a request that waits for a connection', async () => {
    const { transport, sockets } = await connected(() => undefined)
    const silent = Array.from({ length: 16 }, () =>
      transport.exec({ query: 'silent' }).catch(() => undefined),
    )
    await until('all connections are used', () => sockets.length === 16)
    const waiting = transport.exec({ query: 'waiting', abort_signal: AbortSignal.timeout(50) })
    await expect(waiting).rejects.toThrow('timeout')
    await expect(
      transport.exec({ query: 'late', abort_signal: AbortSignal.abort(new Error('too late')) }),
    ).rejects.toThrow('too late')
    await transport.close()
    await Promise.all(silent)
  })

  it('rejects if the server falls silent or the signal aborts, before the answer and within it', async () => {
    const { transport } = await connected(
      (_, response, body) => {
        if (body === 'begun') response.write('begun')
      },
      '',
      200,
    )
    await expect(transport.exec({ query: 'silent' })).rejects.toThrow('the server does not respond')
    await expect(resultOf(transport, 'begun')).rejects.toThrow('aborted')
    const controller = new AbortController()
    const aborted = transport.exec({ query: 'silent', abort_signal: controller.signal })
    const { stream } = await transport.exec({ query: 'begun', abort_signal: controller.signal })
    controller.abort(new Error('given up'))
    await expect(aborted).rejects.toThrow('given up')
    await expect(text(stream)).rejects.toThrow('aborted')
  })
})
