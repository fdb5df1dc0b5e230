import { Value } from '@sinclair/typebox/value'
import { createServer, type Server as TcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { NodeWatch, type NodeWatchOptions } from '../../../../../services/explorer/core/node/node-health.js'
import { nodeHealth } from '../../../../../services/explorer/core/reads/node.js'
import { Token } from '../../../../../services/access/token.js'
import { State } from '../../../../../services/explorer/core/state/state.js'
import { startRecordedNode } from '../../../../../services/recorded-node/node.js'
import { startSimnode } from '../../../../../services/simnode/node.js'
import { readFrames, TIMELINE } from '../../../../harness/recording.js'
import { until } from '../../../../harness/until.js'
import { type BareServer, startBare } from '../../bare-server.js'
import '../../../../harness/formats.js'

const FRAME = 400

describe('node health', () => {
  let bare: BareServer | undefined
  let watch: NodeWatch | undefined
  const closers: (() => Promise<unknown>)[] = []

  beforeEach(() => {
    // The test moves the clock: an answer without that waits for no deadline.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const late = new AbortController()
      setTimeout(() => {
        late.abort(new DOMException('late', 'TimeoutError'))
      }, ms)
      return late.signal
    })
  })
  afterEach(async () => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    bare?.close()
    watch?.close()
    await Promise.all(closers.splice(0).map((close) => close()))
  })

  /** With no state: as with a database that was unavailable since the start. */
  async function serve(options: Partial<NodeWatchOptions>, token?: string): Promise<string> {
    const logger = pino({ level: 'silent' })
    const started = new NodeWatch({ locate: () => Promise.resolve(undefined), logger, ...options })
    watch = started
    bare = await startBare({
      reads: [nodeHealth],
      state: new State(),
      node: {
        health: () => started.health(),
        feeEstimates: () => Promise.resolve([]),
        transaction: () => Promise.reject(new Error('none')),
      },
      token: token === undefined ? undefined : new Token(token),
    })
    return `${bare.url}/api/v1/node/health`
  }

  async function tcp(onSocket: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>()
    const server: TcpServer = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      onSocket(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(
      () =>
        new Promise((resolve) => {
          server.close(resolve)
          for (const socket of sockets) socket.destroy()
        }),
    )
    const address = server.address()
    return `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}`
  }

  it("is the recorded node's answer, without a database or a height", async () => {
    const node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    closers.push(() => node.close())
    const url = await serve({ locate: () => Promise.resolve(node.url) })
    const answer = await fetch(url, { headers: { 'x-min-chain-height': '99' } })
    const body: unknown = await answer.json()
    expect(answer.status).toBe(200)
    expect(Value.Errors(nodeHealth.answer, body).First()).toBeUndefined()
    const frame = readFrames()[FRAME]
    expect(body).toMatchObject({
      disk: { datadir_free_bytes: null, datadir_total_bytes: null, datadir_free_pct: null },
      mempool: { size: frame?.mempoolinfo.size },
      peers: { connections: 0, connections_in: 0, connections_out: 0 },
    })
    for (const name of ['x-chain-height', 'x-chain-tip', 'etag'])
      expect(answer.headers.has(name), name).toBe(false)
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it("is the simulated node's answer, with its disk if the data directory is readable", async () => {
    const node = await startSimnode()
    closers.push(() => node.close())
    const url = await serve({ locate: () => Promise.resolve(node.url), dataDir: tmpdir() })
    const body = (await (await fetch(url)).json()) as { disk: Record<string, number> }
    expect(Value.Errors(nodeHealth.answer, body).First()).toBeUndefined()
    const { blockchain_size, datadir_free_bytes, datadir_total_bytes, datadir_free_pct } = body.disk
    expect(blockchain_size).toBeGreaterThan(0)
    expect(datadir_total_bytes).toBeGreaterThan(datadir_free_bytes ?? Infinity)
    const share = (100 * (datadir_free_bytes ?? 0)) / (datadir_total_bytes ?? 1)
    expect(datadir_free_pct).toBeCloseTo(share, 1)
  })

  it('has no figures of a missing data directory', async () => {
    const node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    closers.push(() => node.close())
    const url = await serve({
      locate: () => Promise.resolve(node.url),
      dataDir: join(tmpdir(), 'not', 'there'),
    })
    expect(await (await fetch(url)).json()).toMatchObject({ disk: { datadir_free_pct: null } })
  })

  it.each(['absent', 'unknown', 'broken', 'disconnecting'])(
    'is 503 at once for a node that is %s',
    async (kind) => {
      const locate = async (): Promise<string | undefined> => {
        if (kind === 'unknown') return undefined
        if (kind === 'absent') return 'http://127.0.0.1:1'
        return tcp((socket) => {
          if (kind === 'disconnecting') socket.destroy()
          if (kind === 'broken') socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
        })
      }
      const answer = await fetch(await serve({ locate }))
      expect(answer.status).toBe(503)
      expect(await answer.json()).toEqual({ error: 'Node unavailable', code: 'HW_NODE_UNAVAILABLE' })
    },
  )

  it('is 503 after 4.5 s for a frozen node, and waits for a busy one', async () => {
    let requested = 0
    const url = await serve({ locate: () => tcp(() => void requested++) })
    let status = 0
    const answered = fetch(url).then((answer) => (status = answer.status))
    await until('the node is asked', () => requested > 0)
    vi.advanceTimersByTime(4_499)
    expect((await fetch(`${bare?.url ?? ''}/health`)).status).toBe(200)
    expect(status).toBe(0)
    vi.advanceTimersByTime(1)
    expect(await answered).toBe(503)
  })

  it('finds a node that came back at another URL a second later', async () => {
    let now = 'http://127.0.0.1:1'
    const url = await serve({ locate: () => Promise.resolve(now) })
    expect((await fetch(url)).status).toBe(503)
    const node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    closers.push(() => node.close())
    now = node.url
    vi.advanceTimersByTime(999)
    expect((await fetch(url)).status).toBe(503)
    vi.advanceTimersByTime(1)
    expect((await fetch(url)).status).toBe(200)
  })

  it('sends the node one request for many clients', async () => {
    let requested = 0
    const node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    closers.push(() => node.close())
    const url = await serve({
      locate: () => {
        requested++
        return Promise.resolve(node.url)
      },
    })
    const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await fetch(url)).status))
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(requested).toBe(1)
  })

  it('requires the token if one is set', async () => {
    const node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    closers.push(() => node.close())
    const url = await serve({ locate: () => Promise.resolve(node.url) }, 'open sesame')
    for (const authorization of [
      '',
      'Bearer',
      'Bearer wrong',
      'Basic open sesame',
      'open sesame',
      'Bearer open sesame2',
    ]) {
      const answer = await fetch(url, { headers: authorization === '' ? {} : { authorization } })
      expect(answer.status, authorization).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      expect(await answer.json()).toEqual({ error: 'Unauthorized', code: 'HW_UNAUTHORIZED' })
    }
    for (const authorization of ['Bearer open sesame', 'bearer open sesame'])
      expect((await fetch(url, { headers: { authorization } })).status).toBe(200)
  })
})
