import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NodeClient, type NodeClientOptions } from '../../../pipelines/node/client.js'
import { grow, tx } from '../poll/fake-chain.js'
import { FakeNode, type Fault } from '../poll/fake-node.js'
import { until } from '../../harness/until.js'

let node: FakeNode
let client: NodeClient
const said: string[] = []
const note = (fields: object, message: string): void => {
  said.push(`${JSON.stringify(fields)} ${message}`)
}
const logger = { debug: note, info: note, warn: note, error: note }

function connect(options: NodeClientOptions = {}): NodeClient {
  return new NodeClient(node.url, { backoff: { firstMs: 4, maxMs: 20 }, logger, ...options })
}

/** Fails the first requests with these errors, one after the other. */
function fail(...faults: Fault[]): void {
  node.fault = () => faults.shift()
}

beforeEach(async () => {
  said.length = 0
  node = await FakeNode.start(grow([], 5))
  client = connect()
})

afterEach(async () => {
  client.close()
  await node.close()
})

describe('credentials', () => {
  it('are sent in the header, decoded, and are in no message', async () => {
    fail({ kind: 'reset' }, { kind: 'truncate' }, { kind: 'status', status: 503 })
    await client.chainInfo()
    expect(node.calls[0]?.auth).toBe(`Basic ${Buffer.from('user:s3cret@').toString('base64')}`)
    fail({ kind: 'status', status: 401 })
    const refused = await client.chainInfo().catch((error: unknown) => String(error))
    expect(refused).toMatch(/refused the request \(HTTP 401\): check user and password in NODE_RPC_URL/)
    expect(said.length).toBeGreaterThan(1)
    expect(JSON.stringify([client.address, refused, said])).not.toMatch(/s3cret|user:/)
    expect(() => new NodeClient('s3cret nonsense')).toThrow(/^the URL of the node is invalid$/)
  })
})

describe('retrying', () => {
  it.each<[string, Fault]>([
    ['a reset connection', { kind: 'reset' }],
    ['JSON that is cut off', { kind: 'truncate' }],
    ['HTTP 503', { kind: 'status', status: 503 }],
    ['a work queue that is full', { kind: 'status', status: 500, body: 'Work queue depth exceeded' }],
    ['HTTP 500 without JSON', { kind: 'status', status: 500, body: 'oops' }],
    ['an answer of the wrong shape', { kind: 'result', result: { blocks: -1 } }],
    [
      'a node that still loads',
      { kind: 'status', status: 500, body: '{"error":{"code":-28,"message":"Loading"}}' },
    ],
  ])('happens after %s', async (_, fault) => {
    fail(fault, fault)
    expect(await client.chainInfo()).toMatchObject({ chain: 'regtest', blocks: 4 })
    expect(node.calls).toHaveLength(3)
  })

  it('happens after a timeout', async () => {
    client.close()
    client = connect({ timeoutMs: 300 })
    fail({ kind: 'hang' }, { kind: 'hang' })
    expect(await client.chainInfo()).toMatchObject({ chain: 'regtest', blocks: 4 })
    // On a starved machine a good answer may be late, too.
    expect(node.calls.length).toBeGreaterThanOrEqual(3)
    expect(said.filter((line) => line.includes('"code":"HW_NODE_TIMEOUT"')).length).toBeGreaterThanOrEqual(2)
  })

  it('ends with the error if attempts are limited', async () => {
    client.close()
    client = connect({ maxAttempts: 2 })
    fail({ kind: 'truncate' }, { kind: 'truncate' })
    await expect(client.chainInfo()).rejects.toMatchObject({ name: 'NodeFaultError', kind: 'invalid' })
    await node.close()
    await expect(client.chainInfo()).rejects.toMatchObject({ kind: 'unreachable' })
    node = await FakeNode.start(grow([], 1))
  })

  it('does not happen for an error that the node returns', async () => {
    await expect(client.blockHash(9)).rejects.toMatchObject({
      name: 'NodeRpcError',
      code: 'HW_NODE_RPC',
      rpcCode: -8,
      method: 'getblockhash',
    })
    await expect(client.blockHashes(3, 5)).rejects.toMatchObject({ rpcCode: -8 })
    expect(node.calls).toHaveLength(2)
  })

  it('does not happen for a height above the tip, which has no hash', async () => {
    expect(await client.hashAt(9)).toBeUndefined()
    expect(await client.hashAt(1)).toBe(node.chain[1]?.hash)
    expect(node.calls).toHaveLength(2)
  })

  it.each([
    ['in a request', { kind: 'hang' }, () => node.calls.length === 1],
    ['between two', { kind: 'status', status: 503, retryAfter: '3600' }, () => said.length === 1],
  ] as const)('ends at once when the signal aborts, with its reason, %s', async (_, fault, isThere) => {
    const stop = new AbortController()
    node.fault = () => fault
    const requested = client.chainInfo(stop.signal)
    await until('it is there', isThere)
    stop.abort(new Error('enough'))
    await expect(requested).rejects.toThrow('enough')
    expect(node.calls).toHaveLength(1)
  })
})

describe('a node that sends Retry-After', () => {
  it('gets no request from any caller for that time', async () => {
    const workers = 4
    fail(
      ...Array.from({ length: workers }, () => ({ kind: 'status', status: 503, retryAfter: '1' }) as const),
    )
    await Promise.all(Array.from({ length: workers }, () => client.chainInfo()))
    const [first] = node.calls
    const later = node.calls.slice(workers)
    expect(later.map(({ at }) => at - (first?.at ?? 0)).filter((ms) => ms < 990)).toEqual([])
    expect(node.calls).toHaveLength(2 * workers)
  })

  it('gets requests at increasing intervals', async () => {
    client.close()
    client = connect({ backoff: { firstMs: 20, maxMs: 10_000 } })
    const stop = new AbortController()
    node.fault = () => ({ kind: 'status', status: 503 })
    const requested = Array.from({ length: 8 }, () => client.chainInfo(stop.signal).catch(() => undefined))
    const rounds = 5
    await until('it was asked in some rounds', () => node.calls.length >= 8 * rounds)
    stop.abort()
    await Promise.all(requested)
    // 8 at once, then after at least 10, 20, 40, 80 ms (a timer may be a millisecond early).
    const [first, last] = [node.calls[0], node.calls[8 * rounds - 1]]
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(10 + 20 + 40 + 80 - rounds)
  })
})

describe('answers', () => {
  it('of many calls in one request are in the order of the calls', async () => {
    expect(await client.blockHashes(1, 4)).toEqual(node.chain.slice(1).map((block) => block.hash))
    expect(node.calls).toHaveLength(1)
    expect(await client.blockHashes(1, 0)).toEqual([])
  })

  it('of a batch are undefined for those objects that the node does not have', async () => {
    const [here, gone] = [tx(tx()), tx(tx())]
    node.enter(here)
    expect(await client.rawTransactions([gone.txid, here.txid])).toEqual([undefined, here.raw])
    const [none, entry] = await client.mempoolEntries([gone.txid, here.txid])
    expect([none, entry?.time]).toEqual([undefined, 1_800_000_000])
  })

  it('of a batch that is no list are an error that names batches and quotes the answer', async () => {
    const other = createServer((_, response) => {
      response.end('{"result":null,"error":{"code":-32600,"message":"batches are not supported"},"id":null}')
    })
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${String((other.address() as AddressInfo).port)}`
    const proxied = new NodeClient(url, { maxAttempts: 1 })
    const requested = proxied.mempoolEntries(['00'.repeat(32)])
    await expect(requested).rejects.toThrow(/NODE_RPC_URL must be .* batches/)
    await expect(requested).rejects.toThrow(/batches are not supported/)
    proxied.close()
    other.close()
  })

  it('may have unknown fields', async () => {
    expect(await client.block(node.chain[1]?.hash ?? '')).toHaveProperty('aFieldOfTheNextRelease', true)
  })
})

it('accepts the uptime of a node whose clock is set to a time before its start', async () => {
  fail({ kind: 'result', result: -86_400 })
  expect(await client.uptime()).toBe(-86_400)
})
