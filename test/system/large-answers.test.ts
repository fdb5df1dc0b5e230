import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { toBinary } from '@bufbuild/protobuf'
import {
  ReadsService,
  RecentTransactionsResponseSchema,
} from '../../proto/gen/headwater/reads/v1/reads_pb.js'
import { freePort } from '../../services/process/ports.js'
import { rpcClient } from '../../services/rpc/client.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { largeChain } from '../harness/large-chain.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'

const WITNESS_HEX = 2 * 390_000
const READERS = 90
/** The bytes that each client of the attack reads per second. */
const BYTES_PER_SECOND = 300_000
/** The limit of the explorer in deploy/kubernetes and deploy/systemd. */
const SHIPPED_LIMIT_MB = 2_048

interface Item {
  readonly txid: string
  readonly size: number
  readonly fee: string
  readonly inputs: readonly {
    readonly witness?: readonly string[] | null
    readonly omitted?: readonly string[]
    readonly script_type: string | null
  }[]
  readonly outputs: readonly unknown[]
}

/** The explorer on a chain of large transactions, as a process of its own. */
describe('answers about large transactions', () => {
  const service: Record<string, ServiceProcess> = {}
  const made = largeChain({ witnessed: 50, payloads: 20 })
  let folder = ''
  let node: Simnode
  let url = ''
  let port = 0
  let grpcPort = 0

  const get = async (path: string): Promise<{ status: number; text: string; ms: number }> => {
    const began = performance.now()
    const response = await fetch(`${url}${path}`, { headers: { 'accept-encoding': 'identity' } })
    const text = await response.text()
    return { status: response.status, text, ms: performance.now() - began }
  }
  const list = async (path: string): Promise<{ items: readonly Item[]; bytes: number }> => {
    const { status, text } = await get(`/api/v1${path}`)
    expect(`${String(status)} ${status === 200 ? '' : text}`).toBe('200 ')
    return { ...(JSON.parse(text) as { items: readonly Item[] }), bytes: text.length }
  }
  const graphql = async (query: string): Promise<{ text: string; data: Record<string, unknown> }> => {
    const { text } = await get(`/graphql?query=${encodeURIComponent(query)}`)
    return { text, ...(JSON.parse(text) as { data: Record<string, unknown> }) }
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-large-'))
    node = await startSimnode({ chain: made.chain })
    port = await freePort()
    grpcPort = await freePort()
    url = `http://127.0.0.1:${String(port)}`
    const env = {
      DATA_DIR: folder,
      NODE_RPC_URL: node.url,
      CLICKHOUSE_URL: inject('engineUrl'),
      CLICKHOUSE_DATABASE: `t_large_${String(process.pid)}`,
      RATE_LIMIT_PER_MINUTE: '0',
      EXPLORER_PORT: String(port),
      EXPLORER_GRPC_PORT: String(grpcPort),
    }
    for (const name of ['explorer', 'materializer', 'poller'])
      service[name] = new ServiceProcess(name, env, join(folder, `${name}.log`)).start()
    const tip = made.chain.tip.hash
    await until('the chain is indexed', async () =>
      (await get('/api/v1/stats/summary').catch(() => undefined))?.text.includes(tip),
    )
  })
  afterAll(async () => {
    for (const each of Object.values(service)) await each.kill()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('leave out the witnesses that do not fit into a list, and name them', async () => {
    const { items, bytes } = await list('/txs/recent?limit=50&witness=true')
    expect(bytes).toBeLessThan(4_000_000)
    expect(items).toHaveLength(50)
    const withWitness = items.filter(({ inputs }) => (inputs[0]?.witness?.[0]?.length ?? 0) === WITNESS_HEX)
    expect(withWitness).toHaveLength(3)
    const without = items.filter(({ inputs }) => inputs[0]?.omitted?.includes('witness') === true)
    expect(without.every(({ inputs }) => inputs[0]?.witness === null)).toBe(true)
    // The coinbases of the newest blocks are in the list too.
    expect(without.length + withWitness.length).toBeGreaterThan(40)
    for (const { size, fee, inputs, outputs } of without) {
      expect([size > 390_000, fee, inputs.length, outputs.length]).toEqual([true, '1000', 1, 1])
      expect(inputs[0]?.script_type).toBe('witness_v0_scripthash')
    }
  })

  it('have the witness on the path of the transaction, over every face', async () => {
    const txid = made.witnessed[0] ?? ''
    const one = JSON.parse((await get(`/api/v1/tx/${txid}`)).text) as Item
    expect(one.inputs[0]).not.toHaveProperty('omitted')
    expect(one.inputs[0]?.witness?.map((item) => item.length)).toEqual([WITNESS_HEX, 2])
    const { data } = await graphql(`{ transaction(txid: "${txid}") { inputs { witness omitted } } }`)
    expect((data['transaction'] as Item).inputs[0]?.witness?.[0]).toHaveLength(WITNESS_HEX)
    const client = rpcClient(ReadsService, `127.0.0.1:${String(grpcPort)}`)
    const { transaction } = await client.transaction({ txid })
    expect(transaction?.inputs[0]?.witness?.items[0]).toHaveLength(WITNESS_HEX)
    client.close()
  })

  it('fit into the messages that gRPC clients accept by default', async () => {
    const client = rpcClient(ReadsService, `127.0.0.1:${String(grpcPort)}`)
    const answer = await client.recentTransactions({ limit: 50n, witness: true })
    const { items } = answer
    expect(items).toHaveLength(50)
    expect(toBinary(RecentTransactionsResponseSchema, answer).length).toBeLessThan(4 * 2 ** 20)
    expect(items.filter(({ inputs }) => inputs[0]?.omitted.includes('witness')).length).toBeGreaterThan(40)
    client.close()
  })

  it('leave out the payloads of OP_RETURNs that do not fit, which are on the path of their transaction', async () => {
    const { status, text } = await get('/api/v1/op-returns?limit=100')
    expect(status).toBe(200)
    expect(text.length).toBeLessThan(4_000_000)
    const { items, total } = JSON.parse(text) as {
      items: {
        txid: string
        data_hex: string | null
        data_text: string | null
        size: number
        omitted?: string[]
      }[]
      total: number
    }
    expect(items).toHaveLength(total)
    // Coinbases have OP_RETURNs, too.
    const large = items.filter(({ size }) => size === 480_000)
    expect(large.map(({ omitted }) => omitted ?? [])).toEqual(
      Array.from({ length: 20 }, (_, index) => (index < 2 ? [] : ['data_hex', 'data_text'])),
    )
    expect(large[1]?.data_text?.slice(0, 22)).toBe('payload 18 payload 18 ')
    expect(large[2]).toMatchObject({ data_hex: null, data_text: null })
    const alone = JSON.parse((await get(`/api/v1/op-return/${made.payloads[0] ?? ''}`)).text) as {
      items: Item[]
    }
    expect(alone.items[0]).toMatchObject({ size: 480_000, vout: 0 })
    expect(alone.items[0]).not.toHaveProperty('omitted')
    const page = await (await fetch(`${url}/op-returns`, { headers: { accept: 'text/html' } })).text()
    expect(page.length).toBeLessThan(100_000)
    for (let index = 0; index < 20; index++)
      expect(page).toContain(`payload ${String(index)} payload ${String(index)} `)
  })

  it('read nothing that they do not contain: lists of fifty are as quick as those of small transactions', async () => {
    for (const path of ['/txs/recent?limit=50', '/whale-alerts?limit=99&minValue=0'] as const) {
      const { items, bytes } = await list(path)
      expect(items.length).toBeGreaterThan(40)
      expect(bytes).toBeLessThan(4_000_000)
    }
    const { text, data } = await graphql('{ recentTransactions(limit: 50) { items { txid fee } } }')
    expect((data['recentTransactions'] as { items: unknown[] }).items).toHaveLength(50)
    expect(text.length).toBeLessThan(10_000)
  })

  it('show the beginning on pages', async () => {
    const tip = String(made.chain.tip.height)
    const [payload = ''] = made.payloads
    for (const path of [`/tx/${made.many}`, `/tx/${payload}`, `/block/${tip}`, '/large']) {
      const response = await fetch(`${url}${path}`, { headers: { accept: 'text/html' } })
      expect(`${path} ${String(response.status)}`).toBe(`${path} 200`)
      expect((await response.text()).length).toBeLessThan(150_000)
    }
  })

  /** Requests answers that are not read yet. @returns the sockets. */
  const attack = (paths: readonly string[], isLast: boolean): Promise<Socket[]> =>
    Promise.all(
      paths.map(async (path) => {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => undefined)
        await once(socket, 'connect')
        socket.pause()
        // A body of unknown length closes the connection, for which the answer is sent in another way.
        const head = isLast ? 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n' : '\r\n'
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${head}`)
        return socket
      }),
    )

  /** Reads bytes of an answer, if they arrive within half a second. */
  async function readSome(socket: Socket, bytes: number): Promise<void> {
    const until = performance.now() + 500
    for (let left = bytes; left > 0 && performance.now() < until;) {
      const chunk = socket.read() as Buffer | null
      left -= chunk?.length ?? 0
      if (chunk === null) await sleep(10)
    }
  }

  it.each([
    ['', false],
    [', also those that send a body', true],
  ])('take little memory, and delay no one, while ninety clients read them slowly%s', async (_, isLast) => {
    const explorer = service['explorer'] as ServiceProcess
    const before = explorer.rssMb()
    const block = (height: number) => `/api/v1/block/${String(height)}/txs?limit=100&witness=true`
    const { height } = made.chain.tip
    // Different answers, so that they share nothing.
    const sockets = await attack(
      Array.from({ length: READERS }, (_, index) =>
        index % 3 === 0
          ? `/api/v1/txs/recent?limit=${String(50 - ((index / 3) % 45))}&witness=true`
          : index % 3 === 1
            ? `/api/v1/tx/${made.witnessed[index % 50] ?? ''}?${String(index)}`
            : block(height - (index % 5)) + `&page=1&${String(index)}`,
      ),
      isLast,
    )
    const slowest: number[] = []
    for (let second = 0; second < 5; second++) {
      for (const socket of sockets) void readSome(socket, BYTES_PER_SECOND)
      const { status, ms } = await get('/health')
      expect(status).toBe(200)
      slowest.push(ms)
      explorer.rssMb()
      await sleep(Math.max(0, 1_000 - ms))
    }
    for (const socket of sockets) socket.destroy()
    expect(Math.max(...slowest)).toBeLessThan(1_000)
    expect(explorer.peakMb).toBeLessThan(SHIPPED_LIMIT_MB)
    process.stdout.write(
      `explorer: ${before.toFixed(0)} MB before, ${explorer.peakMb.toFixed(0)} MB at most; /health ${Math.max(...slowest).toFixed(0)} ms at most\n`,
    )
  })
})
