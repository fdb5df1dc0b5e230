import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { create, toBinary } from '@bufbuild/protobuf'
import {
  PassagesRequestSchema,
  RetrievalService,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { Code, RpcError } from '../../../services/rpc/error.js'
import { type Call, rpcService } from '../../../services/rpc/handlers.js'
import { type RpcClient, rpcClient } from '../../../services/rpc/client.js'
import { type RpcServer, startRpcServer } from '../../../services/rpc/server.js'
import { floodReflection, StalledClient, watchHealth } from './library-client.js'
import { until } from '../../harness/until.js'

/** The behaviour of the handlers, which each test sets. */
let onSearch: (query: string, call: Call) => Promise<{ ranking: number }>

const service = rpcService(RetrievalService, {
  search: ({ query }, call) => onSearch(query, call),
  passages: ({ query: size }) => {
    const id = size === '' ? 'p1' : 'x'.repeat(Number(size))
    return { passages: [{ id, similarity: 0.5 }] }
  },
  status: () => Promise.reject(new TypeError('a secret of the inside')),
})

describe('a server and a client of gRPC', () => {
  const logged: unknown[] = []
  let server: RpcServer
  let client: RpcClient<typeof RetrievalService>

  beforeAll(async () => {
    const logger = pino({ level: 'error' }, { write: (line: string) => logged.push(JSON.parse(line)) })
    server = await startRpcServer({ host: '127.0.0.1', port: 0, services: [service], logger })
    client = rpcClient(RetrievalService, `127.0.0.1:${String(server.port)}`)
  })
  afterEach(() => {
    onSearch = () => Promise.resolve({ ranking: 1 })
  })
  afterAll(async () => {
    client.close()
    await server.close()
  })

  const failure = (call: Promise<unknown>): Promise<RpcError> =>
    call.then(
      () => Promise.reject(new Error('it did not fail')),
      (error: unknown) => error as RpcError,
    )

  it("carry messages, metadata and the caller's address", async () => {
    const seen: string[] = []
    onSearch = async (query, call) => {
      seen.push(query, call.metadata('x-asked'), call.metadata('x-not'), call.peer)
      call.setHeader('x-reported', 'yes')
      return { ranking: 2 }
    }
    const headers: Readonly<Record<string, string>>[] = []
    const metadata = { 'x-asked': 'this' }
    const answer = await client.search({ query: 'ü' }, { metadata, onHeaders: (each) => headers.push(each) })
    expect(answer).toMatchObject({ ranking: 2, pages: [] })
    expect(seen).toEqual(['ü', 'this', '', '127.0.0.1'])
    expect(headers).toEqual([expect.objectContaining({ 'x-reported': 'yes' })])
    expect((await client.passages({})).passages[0]).toMatchObject({ id: 'p1', similarity: 0.5 })
  })

  it('carry the error that a handler declares, and no details of any other', async () => {
    onSearch = () => Promise.reject(new RpcError('HW_RATE_LIMITED', 'later', { 'retry-after-ms': '7' }))
    const reported = await failure(client.search({}))
    expect(reported).toMatchObject({
      status: Code.RESOURCE_EXHAUSTED,
      details: 'later',
      code: 'HW_RATE_LIMITED',
    })
    expect(reported.trailers['retry-after-ms']).toBe('7')
    const undeclared = await failure(client.status({}))
    expect(undeclared).toMatchObject({ status: Code.INTERNAL, details: 'Internal error', code: 'HW_DEFECT' })
    expect(JSON.stringify(logged)).toContain('a secret of the inside')
  })

  it.each(['the deadline', 'the caller'])('end a call by %s on both sides', async (by) => {
    let ended = false
    let begun = false
    onSearch = (_, { signal }) => {
      begun = true
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended = true
          reject(signal.reason as Error)
        })
      })
    }
    const caller = new AbortController()
    const call = failure(
      client.search({}, by === 'the caller' ? { signal: caller.signal } : { timeoutMs: 100 }),
    )
    await until('it has begun', () => begun)
    if (by === 'the caller') caller.abort()
    expect((await call).status).toBe(by === 'the caller' ? Code.CANCELLED : Code.DEADLINE_EXCEEDED)
    await until('the handler knows', () => ended)
  })

  it('refuse a request that is too large, and an unknown method', async () => {
    expect((await failure(client.search({ query: 'x'.repeat(70_000) }))).status).toBe(Code.RESOURCE_EXHAUSTED)
    const other = { ...RetrievalService, typeName: 'headwater.other.v1.Other' }
    const methods = RetrievalService.methods.map((method) => ({ ...method, parent: other }))
    const stranger = rpcClient({ ...other, methods }, `127.0.0.1:${String(server.port)}`)
    expect((await failure(stranger.search({}))).status).toBe(Code.UNIMPLEMENTED)
    stranger.close()
  })

  it('end calls whose clients do not read if too many bytes wait, and answer a client that reads', async () => {
    const before = process.memoryUsage().rss
    const address = `http://127.0.0.1:${String(server.port)}`
    const message = toBinary(PassagesRequestSchema, create(PassagesRequestSchema, { query: '4000000' }))
    const stalled = Array.from({ length: 20 }, () => new StalledClient(address, 10, message))
    await until('calls are refused', () => stalled.some(({ refused }) => refused > 0))
    // All responses together have 800 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 2 ** 20)
    await until('a client that reads is answered', () =>
      client.passages({ query: '4000000' }).then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ status: Code.UNAVAILABLE, code: 'HW_OVERLOADED' })
          return false
        },
      ),
    )
    await until('calls are ended', () => stalled.some(({ ended }) => ended > 0))
    for (const each of stalled) each.close()
  })

  it('return UNAVAILABLE at once if no server listens, and find a server that starts later', async () => {
    const logger = pino({ level: 'silent' })
    const first = await startRpcServer({ host: '127.0.0.1', port: 0, services: [service], logger })
    const other = rpcClient(RetrievalService, `127.0.0.1:${String(first.port)}`)
    expect((await other.passages({})).passages).toHaveLength(1)
    await first.close()
    expect((await failure(other.passages({}))).status).toBe(Code.UNAVAILABLE)
    const again = await startRpcServer({ host: '127.0.0.1', port: first.port, services: [service], logger })
    await until('it is found', () =>
      other.passages({}).then(
        () => true,
        () => false,
      ),
    )
    other.close()
    await again.close()
  })

  it('report the health of a service as it changes, and NOT_FOUND for an unknown one', async () => {
    const at = `127.0.0.1:${String(server.port)}`
    const reported: Record<string, string[]> = {}
    const ends = [RetrievalService.typeName, '', 'headwater.other.v1.Other'].map((name) =>
      watchHealth(at, name, (health) => (reported[name] ??= []).push(health)),
    )
    const last = (name: string): string | undefined => reported[name]?.at(-1)
    await until('the first status is received', () => Object.keys(reported).length === 3)
    for (const serves of [true, false]) {
      server.setServing(RetrievalService.typeName, serves)
      await until('the change is received', () => last('') === (serves ? 'SERVING' : 'NOT_SERVING'))
    }
    expect(reported[RetrievalService.typeName]).toEqual(['NOT_SERVING', 'SERVING', 'NOT_SERVING'])
    expect(reported['headwater.other.v1.Other']).toEqual(['SERVICE_UNKNOWN'])
    expect(() => server.setServing('headwater.other.v1.Other', true)).toThrow(/no service/)
    for (const end of ends) end()
  })

  it('accept no more requests from a client of reflection that does not read the answers', async () => {
    const taken = await floodReflection(`127.0.0.1:${String(server.port)}`, 'x'.repeat(2_000), 5_000)
    expect(taken).toBeGreaterThan(10)
    expect(taken).toBeLessThan(500)
  })

  it('refuse a port that is in use', async () => {
    const logger = pino({ level: 'silent' })
    const start = startRpcServer({ host: '127.0.0.1', port: server.port, services: [service], logger })
    await expect(start).rejects.toThrow(/is in use/)
  })
})
