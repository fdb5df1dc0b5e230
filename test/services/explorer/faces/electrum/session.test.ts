import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { OnDisconnect } from '../../../../../services/explorer/core/answering/shared-answer.js'
import { RequestLimit } from '../../../../../services/explorer/core/answering/request-limit.js'
import type { Core } from '../../../../../services/explorer/core/core.js'
import { Connection } from '../../../../../services/explorer/faces/electrum/transports/connection.js'
import { socketSession } from '../../../../../services/explorer/faces/electrum/transports/socket.js'
import type { Socket as WebSocket } from '../../../../../services/explorer/http/sockets.js'
import { Session, type Shared } from '../../../../../services/explorer/faces/electrum/session.js'
import { Shares } from '../../../../../services/explorer/faces/electrum/shares.js'
import { Turns } from '../../../../../services/explorer/faces/electrum/turns.js'
import { HeaderWatch } from '../../../../../services/explorer/faces/electrum/watches/header-watch.js'
import { StatusWatch } from '../../../../../services/explorer/faces/electrum/watches/status-watch.js'
import { until } from '../../../../harness/until.js'

const ORIGIN = { peer: new Uint8Array(), forwardedFor: '' }
const SCRIPT = 'ab'.repeat(32)
const subscription = (id: number, hash = SCRIPT) => ({
  id,
  method: 'blockchain.scripthash.subscribe',
  params: [hash],
})

/** Returns the parts that sessions share, for a core of which only these are used. */
function sharedOf(core: object, more: Partial<Shared> = {}): Shared {
  const parts = {
    defect: (error: unknown) => expect.fail(String(error)),
    scripts: { watch: () => undefined },
    ...core,
  } as unknown as Core
  return {
    core: parts,
    limit: new RequestLimit(undefined),
    headers: new HeaderWatch(parts, () => undefined),
    statuses: new StatusWatch(parts, () => Promise.resolve(new Map())),
    turns: new Turns(100),
    subscriptions: new Shares({ all: 1_000, each: 1_000 }),
    clientOf: () => '192.0.2.1',
    hosts: {},
    observe: () => undefined,
    notified: () => undefined,
    ...more,
  }
}

function sessionOf(shared: Shared): { session: Session; sent: string[] } {
  const sent: string[] = []
  const client = {
    origin: ORIGIN,
    answer: (message: string) => Promise.resolve(void sent.push(message)),
    send: (message: string) => void sent.push(message),
    end: () => undefined,
  }
  return { session: new Session(shared, client), sent }
}

const receive = (session: Session, message: unknown): Promise<void> =>
  session.receive(Buffer.from(JSON.stringify(message)))

const answering = (json: string) => ({
  answer: () => Promise.resolve({ answer: { body: Buffer.from(json) } }),
})
const UNUSED = '{"status":null,"isUnconfirmed":false}'

describe('a session of the Electrum protocol', () => {
  it('leaves nothing behind: scripts are watched while a client is subscribed to them', async () => {
    const shared = sharedOf({ reader: answering(UNUSED) })
    const [one, other] = [sessionOf(shared), sessionOf(shared)]
    const hashes = Array.from({ length: 100 }, (_, index) => index.toString(16).padStart(64, '0'))
    for (const { session } of [one, other])
      for (const [id, hash] of hashes.entries()) await receive(session, subscription(id, hash))
    // All clients share the watch of a script.
    expect(shared.statuses.size).toBe(100)
    one.session.close()
    expect(shared.statuses.size).toBe(100)
    other.session.close()
    expect(shared.statuses.size).toBe(0)
  })

  it('has at most 50,000 subscriptions, and further ones when some have ended', async () => {
    const subscriptions = new Shares({ all: 100_000, each: 100_000 })
    const shared = sharedOf({ reader: answering(UNUSED) }, { subscriptions })
    const [one, other] = [sessionOf(shared), sessionOf(shared)]
    const hashOf = (index: number): string => index.toString(16).padStart(64, '0')
    const subscribe = async ({ session, sent }: typeof one, index: number): Promise<unknown> => {
      await receive(session, subscription(index, hashOf(index)))
      const { error, result } = JSON.parse(sent.pop() ?? '') as { error?: { code: number }; result: unknown }
      return error?.code ?? result
    }
    await receive(one.session, { id: 0, method: 'server.version', params: ['test', '1.6'] })
    for (let index = 0; index < 50_000; index++)
      if ((await subscribe(one, index)) !== null) expect.fail(`subscription ${String(index)} is refused`)
    expect(await subscribe(one, 50_000)).toBe(-101)
    // A script to which it has subscribed is no further one, and other connections have their own.
    expect(await subscribe(one, 7)).toBeNull()
    expect(await subscribe(other, 50_000)).toBeNull()
    expect([shared.statuses.size, subscriptions.total]).toEqual([50_001, 50_001])
    await receive(one.session, { id: 1, method: 'blockchain.scripthash.unsubscribe', params: [hashOf(7)] })
    expect(await subscribe(one, 50_000)).toBeNull()
    expect(await subscribe(one, 7)).toBe(-101)
    one.session.close()
    expect([shared.statuses.size, subscriptions.total]).toEqual([1, 1])
  })

  it('sends a status once, and counts what it sends', async () => {
    const notified: string[] = []
    const shared = sharedOf(
      { reader: answering(UNUSED) },
      { notified: (method) => void notified.push(method) },
    )
    const { session, sent } = sessionOf(shared)
    await receive(session, subscription(1))
    sent.pop()
    for (const status of [null, 'aa', 'aa', 'bb']) session.statusChanged(SCRIPT, status)
    expect(sent.map((message) => (JSON.parse(message) as { params: unknown }).params)).toEqual([
      [SCRIPT, 'aa'],
      [SCRIPT, 'bb'],
    ])
    expect(notified).toEqual(Array.from(sent, () => 'blockchain.scripthash.subscribe'))
  })

  it.each([
    ['a request', subscription(1)],
    ['a batch', [subscription(1), { id: 2, method: 'server.banner' }]],
  ])('sends a change after the answer to %s that waits until the client reads', async (_, message) => {
    const core = { scripts: { watch: () => undefined }, reader: answering(UNUSED) }
    const current = new Map([[SCRIPT, { status: 'bb', isUnconfirmed: false }]])
    const statuses = new StatusWatch(core as unknown as Core, () => Promise.resolve(current))
    const sent: unknown[] = []
    let read: (() => void) | undefined
    const session = new Session(sharedOf(core, { statuses }), {
      origin: ORIGIN,
      answer: (answer) =>
        new Promise((resolve) => {
          read = () => {
            sent.push(JSON.parse(answer))
            resolve()
          }
        }),
      send: (change) => void sent.push(JSON.parse(change)),
      end: () => undefined,
    })
    const received = receive(session, message)
    await until('the answer waits', () => read !== undefined)
    statuses.check(SCRIPT)
    session.tipChanged('aa', '"the new tip"')
    await sleep(50)
    expect(sent).toEqual([])
    read?.()
    await received
    await until('the changes are sent', () => sent.length === 3)
    expect([sent[0]].flat()[0]).toMatchObject({ id: 1, result: null })
    expect(sent.slice(1)).toMatchObject([{ params: ['the new tip'] }, { params: [SCRIPT, 'bb'] }])
  })

  it('sends nothing after its end, also of answers that were being made', async () => {
    let answered: ((answer: unknown) => void) | undefined
    const answer = () => new Promise((resolve) => (answered = resolve))
    const shared = sharedOf({ reader: { answer } })
    const { session, sent } = sessionOf(shared)
    const received = receive(session, subscription(1))
    await until('the answer is being made', () => answered !== undefined)
    session.close()
    answered?.({ answer: { body: Buffer.from(UNUSED) } })
    await received
    session.statusChanged(SCRIPT, 'ff'.repeat(32))
    expect(sent).toEqual([])
    expect(shared.statuses.size).toBe(0)
  })

  it.each([
    ['a request', subscription(1)],
    ['a batch', [subscription(1), subscription(2, 'cd'.repeat(32))]],
  ])('cancels the queries of %s whose client has disconnected', async (_, message) => {
    let cancelled = 0
    const never = (_read: unknown, { onDisconnect }: { onDisconnect: OnDisconnect }) =>
      new Promise(() => {
        onDisconnect(() => cancelled++)
      })
    const operation = (_make: unknown, request: { onDisconnect: OnDisconnect }) => never(_make, request)
    const answer = (read: unknown, request: { onDisconnect: OnDisconnect }) => never(read, request)
    const { session } = sessionOf(sharedOf({ reader: { answer, operation } }))
    void receive(session, message)
    await new Promise((resolve) => setImmediate(resolve))
    expect(cancelled).toBe(0)
    session.close()
    expect(cancelled).toBe(1)
  })

  it('causes no warning by requests that wait for the database', async () => {
    const warned = vi.spyOn(process, 'emitWarning')
    let requested = 0
    const answer = () => {
      requested++
      return Promise.resolve({ code: 'HW_DATABASE_UNAVAILABLE', message: 'gone' })
    }
    const { session } = sessionOf(sharedOf({ reader: { answer } }))
    const waiting = Array.from({ length: 32 }, (_, id) => receive(session, subscription(id)))
    await until('each is requested again', () => requested >= 64)
    session.close()
    await Promise.all(waiting)
    expect(warned).not.toHaveBeenCalled()
  })

  it('answers with an error instead of more than 10,000,000 bytes', async () => {
    const { session, sent } = sessionOf(
      sharedOf({ reader: answering(JSON.stringify('x'.repeat(9_999_998))) }),
    )
    const history = { id: 1, method: 'blockchain.scripthash.get_history', params: [SCRIPT] }
    await receive(session, history)
    expect(JSON.parse(sent.pop() ?? '')).toHaveProperty('result')
    const more = sessionOf(sharedOf({ reader: answering(JSON.stringify('x'.repeat(9_999_999))) }))
    await receive(more.session, history)
    expect(JSON.parse(more.sent[0] ?? '')).toMatchObject({
      error: { code: -32_600 },
    })
  })
})

describe('the limits of a client of the Electrum protocol', () => {
  const transaction = { id: 1, method: 'blockchain.transaction.get', params: [SCRIPT] }

  it('count large answers as several requests, with the next request', async () => {
    const counted: number[] = []
    const limit = { over: (_: unknown, cost: number) => void counted.push(cost) }
    const reader = answering(`"${'00'.repeat(10_000)}"`)
    const { session } = sessionOf(sharedOf({ reader }, { limit: limit as unknown as RequestLimit }))
    for (let count = 0; count < 3; count++) await receive(session, transaction)
    // 20,000 bytes are four further requests.
    expect(counted).toEqual([1, 5, 5])
    await receive(session, { id: 2, method: 'server.ping' })
    await receive(session, { id: 3, method: 'server.banner' })
    expect(counted).toEqual([1, 5, 5, 5])
  })

  it('refuse subscriptions beyond its share, which ended ones give back', async () => {
    const subscriptions = new Shares({ all: 3, each: 2 })
    const shared = sharedOf({ reader: answering(UNUSED) }, { subscriptions })
    const { session, sent } = sessionOf(shared)
    const hashes = ['00', '01', '02'].map((each) => each.repeat(32))
    for (const [id, hash] of hashes.entries()) await receive(session, subscription(id, hash))
    expect(sent.map((each) => (JSON.parse(each) as { error?: { code: number } }).error?.code)).toEqual([
      undefined,
      undefined,
      -101,
    ])
    expect(subscriptions.total).toBe(2)
    session.unsubscribe(hashes[2]!)
    expect(subscriptions.total).toBe(2)
    session.unsubscribe(hashes[1]!)
    expect(subscriptions.total).toBe(1)
    session.close()
    expect(subscriptions.total).toBe(0)
  })

  it('let nothing be watched for one that has gone', async () => {
    const shared = sharedOf({ reader: answering(UNUSED) })
    const { session } = sessionOf(shared)
    session.close()
    await receive(session, subscription(1))
    await receive(session, [subscription(2)])
    expect(shared.statuses.size).toBe(0)
    expect(shared.subscriptions.total).toBe(0)
  })

  it('close a WebSocket over which it sends far more than it lets be answered', async () => {
    const closed: number[] = []
    let sent = 0
    const socket = {
      // The client does not read.
      send: () => {
        sent++
        return new Promise<void>(() => undefined)
      },
      close: (code: number) => closed.push(code),
    } as unknown as WebSocket
    const session = socketSession(socket, ORIGIN, sharedOf({ reader: answering('""') }))
    const message = JSON.stringify({ id: 1, method: 'server.banner', params: [], more: 'x'.repeat(99_900) })
    session.message(JSON.stringify(transaction), false)
    for (let count = 0; count < 139; count++) session.message(message, false)
    await until('as many are answered as may be in progress', () => sent === 100)
    expect(closed).toEqual([])
    session.message(message, false)
    expect(closed).toEqual([1008])
    session.closed(1008, '')
    expect(sent).toBe(100)
  })
})

describe('a connection of the Electrum protocol', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('ends after ten minutes in which nothing is sent, with half a line too', async () => {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    // The half line may not have been read when the connection ends.
    client.on('error', () => undefined)
    client.write('{"id":1,')
    const [socket] = (await once(server, 'connection')) as [Socket]
    const setTimeout = vi.spyOn(socket, 'setTimeout')
    const connection = new Connection(socket, ORIGIN, sharedOf({}))
    expect(setTimeout.mock.calls).toEqual([[600_000]])
    // It may be reset, because what it has sent was not read.
    client.on('error', () => undefined)
    const ended = new Promise((resolve) => client.once('close', resolve))
    client.resume()
    socket.setTimeout(1)
    await ended
    connection.close()
    server.close()
  })
})
