import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { REGTEST } from '../../../pipelines/chain/networks.js'
import {
  answerCalls,
  hashParameter,
  INVALID_PARAMETER,
  type NodeServer,
  JsonRpcError,
  scriptToScan,
  serveNode,
} from '../../../services/http/json-rpc.js'

let server: NodeServer

beforeAll(async () => {
  server = await serveNode({
    answer: (request, socket) => {
      if (request.calls[0]?.method !== 'reset') return answerCalls(request, callMethod)
      socket.resetAndDestroy()
      return undefined
    },
    control: (method, { pathname }) => ({ status: 418, body: `"${method} ${pathname}"` }),
  })
})
afterAll(() => server.close())

function callMethod(method: string, params: readonly unknown[]): string {
  if (method === 'refuse') throw new JsonRpcError(INVALID_PARAMETER, 'Refused')
  if (method === 'fail') throw new TypeError('not of the node')
  return JSON.stringify([method, ...params])
}

async function post(body: string): Promise<{ status: number; answer: unknown }> {
  const response = await fetch(`http://127.0.0.1:${String(server.port)}/`, { method: 'POST', body })
  return { status: response.status, answer: await response.json() }
}

const error = (code: number, message: string, id: unknown = null): object => ({
  result: null,
  error: { code, message },
  id,
})

describe('JSON-RPC as Bitcoin Core serves it', () => {
  it('returns a result, or an error with its HTTP status', async () => {
    expect(await post('{"method":"echo","params":[1],"id":"a"}')).toEqual({
      status: 200,
      answer: { result: ['echo', 1], error: null, id: 'a' },
    })
    expect(await post('{"method":"refuse","id":1}')).toEqual({ status: 500, answer: error(-8, 'Refused', 1) })
    expect(await post('{"method":"fail"}')).toEqual({ status: 500, answer: error(-1, 'not of the node') })
  })

  it('accepts requests whose lines end without CR, and which name no host, as those of electrs', async () => {
    const socket = connect(server.port, '127.0.0.1')
    const body = '{"method":"echo","id":1}'
    for (let count = 0; count < 2; count++) {
      socket.write(
        `POST / HTTP/1.1\nAuthorization: Basic eA==\nContent-Length: ${String(body.length)}\n\n${body}`,
      )
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Content-Length: 40\r\n/)
      expect(answer.toString()).toMatch(/\r\n\r\n{"result":\["echo"\],"error":null,"id":1}\n$/)
    }
    socket.destroy()
  })

  it('refuses an invalid call', async () => {
    expect(await post('{')).toEqual({ status: 500, answer: error(-32700, 'Parse error') })
    const noMethod = { status: 400, answer: error(-32600, 'Method must be a string') }
    for (const body of ['{}', 'null', '7', '{"method":3}']) expect(await post(body), body).toEqual(noMethod)
    expect((await post('{"method":"echo","params":{}}')).status).toBe(400)
  })

  it('answers each call of a batch separately', async () => {
    expect(await post('[{"method":"echo","id":1},null,{"method":"refuse","id":3}]')).toEqual({
      status: 200,
      answer: [
        { result: ['echo'], error: null, id: 1 },
        error(-32600, 'Method must be a string'),
        error(-8, 'Refused', 3),
      ],
    })
    expect(await post('[]')).toEqual({ status: 200, answer: [] })
  })

  it('passes other requests, and the socket, to its owner', async () => {
    const response = await fetch(`http://127.0.0.1:${String(server.port)}/control/x`)
    expect([response.status, await response.json()]).toEqual([418, 'GET /control/x'])
    await expect(post('{"method":"reset"}')).rejects.toThrow('fetch failed')
  })
})

it('takes 64 hexadecimal digits for a block', () => {
  expect(hashParameter('AB'.repeat(32))).toBe('ab'.repeat(32))
  expect(() => hashParameter('ff')).toThrow("blockhash must be of length 64 (not 2, for 'ff')")
  expect(() => hashParameter(7)).toThrow('not of expected type string')
})

it('takes a descriptor, as a string or in an object, for a script', () => {
  expect(scriptToScan('raw(51AC)', undefined).toString('hex')).toBe('51ac')
  expect(scriptToScan({ desc: 'raw(6a)#abcdefgh' }, undefined).toString('hex')).toBe('6a')
  for (const bad of ['addr(nobody)', 'pk(02)', 7])
    expect(() => scriptToScan(bad, REGTEST)).toThrow(/^Invalid descriptor/)
})
