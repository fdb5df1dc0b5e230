import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { ReadsService } from '../../proto/gen/headwater/reads/v1/reads_pb.js'
import { assertPortFree, freePort } from '../../services/process/ports.js'
import { rpcClient } from '../../services/rpc/client.js'
import { startSimnode } from '../../services/simnode/node.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { dropDatabase } from '../harness/engine.js'
import { ServiceProcess } from '../harness/processes.js'
import { ElectrumClient } from '../harness/electrum-client.js'
import { until } from '../harness/until.js'
import { FeedClient, type FeedEvent } from '../services/explorer/feed-client.js'
import { valueOf } from '../services/metrics/prometheus-text.js'

const PROCESSES = 3
const LIMIT = 50
const BLOCKS = 60
/** So many that each process gets some: the kernel chooses by a hash of address and port. */
const CLIENTS = 40
const CHANNELS = ['blocks', 'mempool', 'whale-alerts', 'stats'] as const

interface Reply {
  readonly status: number
  readonly text: string
}

interface Health {
  readonly status: string
  readonly wsClients: number
  readonly processes: { readonly configured: number; readonly serving: number }
}

/** A subscriber of all channels that reconnects with its last numbers when its connection closes. */
class Follower {
  #client: FeedClient | undefined
  readonly events = new Map<string, FeedEvent[]>(CHANNELS.map((channel) => [channel, []]))
  readonly resyncs: unknown[] = []
  connections = 0

  constructor(private readonly url: string) {}

  async connect(): Promise<void> {
    const client = await FeedClient.connect(this.url, '/ws')
    this.#client = client
    this.connections++
    for (const channel of CHANNELS) await client.subscribe(channel, this.events.get(channel)!.at(-1)?.seq)
  }

  get isClosed(): boolean {
    return this.#client?.closed === true
  }

  get port(): number {
    // The library does not declare the socket of a connection.
    return (this.#client!.socket as unknown as { _socket: { localPort: number } })._socket.localPort
  }

  /** Moves what was received so far into `events`. */
  collect(): void {
    for (const message of this.#client?.messages.splice(0) ?? []) {
      if (message['type'] === 'resync') this.resyncs.push(message)
      if ('seq' in message) this.events.get(String(message['channel']))!.push(message as unknown as FeedEvent)
    }
  }

  async close(): Promise<void> {
    await this.#client?.close()
  }
}

function childrenOf(pid: number | undefined): number[] {
  const text = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

/** Returns the process that has the server's end of a connection. */
function ownerOf(pids: readonly number[], serverPort: number, clientPort: number): number | undefined {
  const hex = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((each) => each.trim().split(/\s+/))
    .find(([, local, remote]) => local?.endsWith(hex(serverPort)) && remote?.endsWith(hex(clientPort)))
  const target = `socket:[${line?.[9] ?? ''}]`
  return pids.find((pid) =>
    readdirSync(`/proc/${String(pid)}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${String(pid)}/fd/${fd}`) === target
      } catch {
        return false
      }
    }),
  )
}

describe('an explorer of several processes', () => {
  const database = `t_processes_${String(process.pid)}_${String(Date.now())}`
  let folder: string
  let port: number
  let grpcPort: number
  let esploraPort: number
  let electrumPort: number
  let url: string
  let env: Record<string, string>
  let node: Awaited<ReturnType<typeof startSimnode>>
  let explorer: ServiceProcess
  const others: ServiceProcess[] = []

  const newProcess = (name: string, more: Readonly<Record<string, string>> = {}): ServiceProcess =>
    new ServiceProcess(name, { ...env, ...more }, join(folder, `${name}.log`))

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-processes-'))
    node = await startSimnode({ seed: 'processes', blocks: BLOCKS, txsPerBlock: 4, blockIntervalMs: 0 })
    port = await freePort()
    grpcPort = await freePort()
    esploraPort = await freePort()
    electrumPort = await freePort()
    url = `http://127.0.0.1:${String(port)}`
    env = {
      DATA_DIR: folder,
      NODE_RPC_URL: node.url,
      CLICKHOUSE_URL: inject('engineUrl'),
      CLICKHOUSE_DATABASE: database,
      POLL_INTERVAL_MS: '50',
      EXPLORER_PORT: String(port),
      EXPLORER_GRPC_PORT: String(grpcPort),
      ESPLORA_PORT: String(esploraPort),
      ELECTRUM_PORT: String(electrumPort),
      ESPLORA_RATE_LIMIT_PER_MINUTE: String(LIMIT),
      EXPLORER_PROCESSES: String(PROCESSES),
      RATE_LIMIT_PER_MINUTE: String(LIMIT),
      // Requests name their client themselves.
      TRUSTED_PROXY_HOPS: '1',
      WHALE_MIN_VALUE: '0',
    }
    for (const name of ['poller', 'materializer']) others.push(newProcess(name).start())
    explorer = newProcess('explorer').start()
    await serving(PROCESSES)
    await until('all is indexed', async () => (await tip()).height === BLOCKS)
  })
  afterAll(async () => {
    for (const each of [explorer, ...others]) await each.kill('SIGTERM')
    await node.close()
    await dropDatabase(new Database({ url: inject('engineUrl'), database }))
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  })

  /** Sends a request on a connection of its own. */
  function get(path: string, client = '203.0.113.1', origin = url): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = { 'x-forwarded-for': client, connection: 'close' }
      const sent = request(`${origin}${path}`, { agent: false, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, text })
        })
        response.on('error', reject)
      })
      sent.on('error', reject).end()
    })
  }

  let clients = 0
  /** The rate limit does not matter to this request. */
  const anyone = (path: string): Promise<Reply> => get(path, `198.51.100.${String(clients++ % 250)}`)
  const tip = async (): Promise<{ height: number; hash: string }> =>
    JSON.parse((await anyone('/api/v1/blocks/tip')).text)
  const health = async (): Promise<Health> => JSON.parse((await get('/health')).text)
  const serving = (count: number): Promise<true | undefined> =>
    until(
      `${String(count)} processes serve`,
      async () => (await health()).processes.serving === count || undefined,
    )
  const metric = async (series: string): Promise<number> => valueOf((await get('/metrics')).text, series) ?? 0
  const control = (path: string): Promise<Response> =>
    fetch(`${new URL(node.url).origin}/control/${path}`, { method: 'POST' })
  const mine = async (): Promise<void> => {
    await control('pool?enter=5')
    await until('the transactions are in the mempool', async () => {
      const { txCount } = JSON.parse((await anyone('/api/v1/mempool/summary')).text) as { txCount: number }
      return txCount > 0
    })
    const { hash } = (await (await control('mine')).json()) as { hash: string }
    await until('the block is shown', async () => (await tip()).hash === hash)
  }

  async function follow(count: number): Promise<Follower[]> {
    const followers = Array.from({ length: count }, () => new Follower(url))
    await Promise.all(followers.map((each) => each.connect()))
    return followers
  }

  /** Asserts that each has the same events, without gap and repetition. */
  function assertSame(followers: readonly Follower[]): void {
    for (const channel of CHANNELS) {
      const reference = new Map<number, string>()
      for (const { events, resyncs } of followers) {
        expect(resyncs).toEqual([])
        const own = events.get(channel)!
        expect(own.length, channel).toBeGreaterThan(0)
        own.forEach(({ seq, data }, at) => {
          expect(seq, channel).toBe(own[0]!.seq + at)
          const text = JSON.stringify(data)
          expect(reference.get(seq) ?? text, `${channel} ${String(seq)}`).toBe(text)
          reference.set(seq, text)
        })
      }
    }
  }

  /** Waits until all followers have the event that the furthest has. */
  async function level(followers: readonly Follower[]): Promise<void> {
    await until('all have received the same events', () => {
      for (const each of followers) each.collect()
      return CHANNELS.every((channel) => {
        const last = followers.map(({ events }) => events.get(channel)!.at(-1)?.seq ?? 0)
        return last[0] !== 0 && last.every((seq) => seq === last[0])
      })
    })
  }

  it('serves HTTP from each of them and gRPC, and sums up their metrics and their health', async () => {
    const pids = childrenOf(explorer.pid)
    expect(pids).toHaveLength(PROCESSES)
    const followers = await follow(CLIENTS)
    const owners = new Set(followers.map((each) => ownerOf(pids, port, each.port)))
    expect([...owners].sort()).toEqual([...pids].sort())
    await until('health counts all clients', async () => (await health()).wsClients === CLIENTS)
    expect(await metric('headwater_api_ws_clients')).toBe(CLIENTS)
    expect(await metric('headwater_explorer_processes')).toBe(PROCESSES)
    expect(await metric('headwater_tip_height')).toBe(BLOCKS)
    const series =
      'headwater_api_request_duration_seconds_count{route="/api/v1/block/:heightOrHash",status="200"}'
    const before = await metric(series)
    await Promise.all(Array.from({ length: 60 }, (_, height) => anyone(`/api/v1/block/${String(height)}`)))
    await until('all requests are counted', async () => (await metric(series)) === before + 60)
    const client = rpcClient(ReadsService, `127.0.0.1:${String(grpcPort)}`)
    expect((await client.tip({})).block?.height).toBe(BigInt(BLOCKS))
    client.close()
    for (const each of followers) await each.close()
  })

  it('counts the requests of a client once, whichever processes they reach', async () => {
    const replies = await Promise.all(
      Array.from({ length: 4 * LIMIT }, () => get('/api/v1/blocks/tip', '203.0.113.77')),
    )
    const count = (status: number): number => replies.filter((each) => each.status === status).length
    expect([count(200), count(429)]).toEqual([LIMIT, 3 * LIMIT])
    expect((await get('/api/v1/blocks/tip', '203.0.113.78')).status).toBe(200)
    const late = await Promise.all(
      Array.from({ length: 20 }, () => get('/api/v1/blocks/tip', '203.0.113.77')),
    )
    expect(late.every(({ status }) => status === 429)).toBe(true)
  })

  it('share the port of the Esplora API, and its limit, which is another than that of the reads', async () => {
    const origin = `http://127.0.0.1:${String(esploraPort)}`
    const replies = await Promise.all(
      Array.from({ length: 2 * LIMIT }, () => get('/blocks/tip/height', '203.0.113.99', origin)),
    )
    const count = (status: number): number => replies.filter((each) => each.status === status).length
    expect([count(200), count(429)]).toEqual([LIMIT, LIMIT])
    expect(replies.find(({ status }) => status === 200)?.text).toBe(String(BLOCKS))
    expect(replies.find(({ status }) => status === 429)?.text).toBe('Rate limit exceeded')
    expect((await get('/api/v1/blocks/tip', '203.0.113.99')).status).toBe(200)
    const series =
      'headwater_api_request_duration_seconds_count{route="/esplora/blocks/tip/height",status="200"}'
    await until('all requests are counted', async () => (await metric(series)) === LIMIT)
  })

  it('share the port of the Electrum protocol: each tells its clients of a new tip', async () => {
    const address = `127.0.0.1:${String(electrumPort)}`
    const clients = await Promise.all(Array.from({ length: 12 }, () => ElectrumClient.connect(address)))
    for (const client of clients)
      expect(await client.result('blockchain.headers.subscribe')).toMatchObject({
        height: node.chain.tip.height,
      })
    await mine()
    const tip = { method: 'blockchain.headers.subscribe', params: [{ height: node.chain.tip.height }] }
    await until('all clients have the tip', () => clients.every(({ others }) => others.length > 0))
    for (const client of clients) {
      expect(client.others.at(-1)).toMatchObject(tip)
      client.close()
    }
  })

  it('continues with the others when one is killed, and restarts it; clients continue on another without a gap', async () => {
    const followers = await follow(CLIENTS)
    await mine()
    await level(followers)
    const pids = childrenOf(explorer.pid)
    const series = 'headwater_api_request_duration_seconds_count{route="/api/v1/blocks/tip",status="200"}'
    const answered = await metric(series)
    for (const pid of pids) {
      process.kill(pid, 'SIGKILL')
      await until('its clients are disconnected', () => followers.some(({ isClosed }) => isClosed))
      await until('it no longer exists', () => !existsSync(`/proc/${String(pid)}`))
      // A connection that the kernel had already assigned to the process is reset; the next one is answered.
      await until('the others answer', async () => (await get('/health')).status === 200)
      await mine()
      const left = followers.filter(({ isClosed }) => isClosed)
      expect(left.length).toBeLessThan(CLIENTS)
      for (const each of left) each.collect()
      await Promise.all(left.map((each) => each.connect()))
      await mine()
      await serving(PROCESSES)
      expect(await metric(series)).toBeGreaterThanOrEqual(answered)
    }
    expect(childrenOf(explorer.pid).filter((pid) => pids.includes(pid))).toEqual([])
    await level(followers)
    assertSame(followers)
    expect(followers.some(({ connections }) => connections > 1)).toBe(true)
    for (const each of followers) await each.close()
  })

  it('refuses the ports of another program and of another explorer, and names them', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const taken = (other.address() as { port: number }).port
    for (const used of [taken, port]) {
      const late = newProcess('explorer', { EXPLORER_PORT: String(used), EXPLORER_GRPC_PORT: '0' }).start()
      await late.ended()
      expect(late.report()).toContain('exited with 1')
      expect(late.report()).toContain(`Port ${String(used)} on 127.0.0.1`)
    }
    other.close()
    expect((await get('/health')).status).toBe(200)
  })

  it('stops all of them on SIGTERM and when the primary is killed, and frees the ports', async () => {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const pids = childrenOf(explorer.pid)
      expect(pids).toHaveLength(PROCESSES)
      await explorer.kill(signal)
      if (signal === 'SIGTERM') expect(explorer.report()).toContain('exited with 0')
      await until('none of them is left', () => pids.every((pid) => !existsSync(`/proc/${String(pid)}`)))
      for (const each of [port, grpcPort]) await assertPortFree(each, '127.0.0.1', 'a test')
      if (signal === 'SIGTERM') break
      explorer = newProcess('explorer').start()
      await serving(PROCESSES)
    }
  })
})
