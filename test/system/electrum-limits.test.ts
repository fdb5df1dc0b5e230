import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { ElectrumClient, type ElectrumMessage } from '../harness/electrum-client.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'

const BLOCKS = 60
/** The minimum size of the large transaction of the last block. */
const LARGE = 90_000
const MAX_LINE = 1_000_000
const MAX_BATCH = 1_000
const UNREAD_MS = 30_000

const hashOf = (index: number): string => createHash('sha256').update(String(index)).digest('hex')

interface Request {
  readonly id: unknown
  readonly method: string
  readonly params: unknown
}

const line = (message: unknown): string => `${JSON.stringify(message)}\n`
const ping = (id: unknown): Request => ({ id, method: 'server.ping', params: [] })
const subscription = (index: number): Request => ({
  id: index,
  method: 'blockchain.scripthash.subscribe',
  params: [hashOf(index)],
})

describe('the limits of the Electrum protocol', () => {
  let node: Simnode
  let pipeline: Pipeline
  const clients: ElectrumClient[] = []

  beforeAll(async () => {
    node = await startSimnode({ seed: 'limits', blocks: BLOCKS })
    node.simulation.mine({ bytes: 200_000 })
    const explorer = { auditEveryMs: 0, electrumPort: 0 }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    await pipeline.level({ tip: node.chain.tip.hash })
  })
  afterEach(async () => {
    vi.useRealTimers()
    for (const client of clients.splice(0)) client.close()
    await counted('clients', 0)
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function client(): Promise<ElectrumClient> {
    const made = await ElectrumClient.connect(pipeline.electrumAddress)
    clients.push(made)
    await made.result('server.version', 'test', ['1.4', '1.6'])
    return made
  }

  /** Waits until the metrics count so many clients, or subscriptions. */
  async function counted(what: 'clients' | 'subscriptions', count: number): Promise<void> {
    await until(`there are ${String(count)} ${what}`, async () => {
      const metrics = await (await fetch(`${pipeline.url}/metrics`)).text()
      return metrics.includes(`headwater_electrum_${what} ${String(count)}\n`)
    })
  }

  /** Waits for so many messages. */
  async function received(to: ElectrumClient, count: number): Promise<readonly ElectrumMessage[]> {
    await until(`${String(count)} messages come`, () => to.others.length >= count)
    return to.others.splice(0) as ElectrumMessage[]
  }

  it('are 1,000 requests of a batch, whose subscriptions are counted until it ends', async () => {
    const wallet = await client()
    wallet.send(line(Array.from({ length: MAX_BATCH }, (_, index) => subscription(index))))
    const [batch = []] = (await received(wallet, 1)) as unknown as ElectrumMessage[][]
    expect(batch).toHaveLength(MAX_BATCH)
    expect(batch.filter(({ result }) => result !== null)).toEqual([])
    await counted('subscriptions', MAX_BATCH)
    wallet.send(line(Array.from({ length: MAX_BATCH + 1 }, (_, id) => ping(id))))
    expect(await received(wallet, 1)).toMatchObject([{ id: null, error: { code: -32_600 } }])
    wallet.close()
    await counted('subscriptions', 0)
  })

  it.each([
    ['ranges of headers', 'blockchain.block.headers', 3],
    ['proofs', 'blockchain.transaction.id_from_pos', 0, true],
  ])(
    'leave the database to others while a batch of a thousand %s is answered',
    async (_, method, ...more) => {
      const wallet = await client()
      const other = await client()
      const batched = Array.from({ length: MAX_BATCH }, (__, id) => ({
        id,
        method,
        params: [id % BLOCKS, ...more],
      }))
      wallet.send(line(batched))
      let longest = 0
      for (let height = 0; wallet.others.length === 0; height = (height + 1) % BLOCKS) {
        const began = performance.now()
        await other.result('blockchain.block.header', height)
        longest = Math.max(longest, performance.now() - began)
      }
      const [batch = []] = (await received(wallet, 1)) as unknown as ElectrumMessage[][]
      expect(batch.filter(({ error }) => error !== undefined)).toEqual([])
      expect(batch[BLOCKS + 5]?.result).toEqual(await other.result(method, 5, ...more))
      // Some milliseconds on a machine with nothing else to do.
      expect(longest).toBeLessThan(3_000)
    },
  )

  it('are a million bytes of a line, whether it ends or not', async () => {
    const wallet = await client()
    const request = JSON.stringify(ping('long'))
    const padded = (bytes: number): string => request.padEnd(bytes)
    wallet.send(`${padded(MAX_LINE)}\n`)
    expect(await received(wallet, 1)).toMatchObject([{ id: 'long', result: null }])
    wallet.send(`${padded(MAX_LINE + 1)}\n`)
    expect(await received(wallet, 1)).toMatchObject([{ id: null, error: { code: -32_600 } }])
    await until('the connection ends', () => wallet.isClosed)
  })

  it('are 10,000,000 bytes of an answer: what does not fit is an error', async () => {
    const wallet = await client()
    const txid = node.chain.read(node.chain.tip).txs.find(({ size }) => size > LARGE)?.txid
    const get = { method: 'blockchain.transaction.get', params: [txid] }
    wallet.send(line(Array.from({ length: 75 }, (_, id) => ({ id, ...get }))))
    const [batch = []] = (await received(wallet, 1)) as unknown as ElectrumMessage[][]
    const hex = batch[0]?.result as string
    expect(hex.length).toBeGreaterThan(2 * LARGE)
    const fitting = Math.floor(10_000_000 / JSON.stringify(batch[0]).length)
    expect(batch.map(({ result }) => result === hex)).toEqual(batch.map((_, index) => index < fitting))
    for (const { error } of batch.slice(fitting))
      expect(error).toEqual({ code: -32_600, message: 'response too large (over 10000000 bytes)' })
    expect(batch).toHaveLength(75)
  })

  it('end a connection that reads nothing, and the answers of others stay fast', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const port = Number(pipeline.electrumAddress.split(':').at(-1))
    const deaf: Socket = connect(port, '127.0.0.1')
    deaf.on('error', () => undefined)
    const headers = { method: 'blockchain.block.headers', params: [0, BLOCKS] }
    // More than the buffers of the kernel hold.
    const requests = Array.from({ length: 3_000 }, (_, id) => line({ id, ...headers }))
    deaf.write(requests.join(''))
    const other = await client()
    await counted('clients', 2)
    let longest = 0
    for (let request = 0; request < 50; request++) {
      const began = performance.now()
      await other.result('blockchain.block.header', request)
      longest = Math.max(longest, performance.now() - began)
    }
    // On a machine with nothing else to do it is a few milliseconds.
    expect(longest).toBeLessThan(2_000)
    vi.advanceTimersByTime(UNREAD_MS - 1)
    await sleep(50)
    await counted('clients', 2)
    vi.advanceTimersByTime(UNREAD_MS)
    vi.advanceTimersByTime(UNREAD_MS)
    await counted('clients', 1)
    expect(await other.result('server.ping')).toBeNull()
    deaf.destroy()
  })

  it.each([
    ['lists in lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, -32_600],
    ['a list without end', '['.repeat(100_000), -32_700],
    ['objects in objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, undefined],
    [
      'a parameter in lists',
      line({ ...ping(1), params: [0] }).replace('0]', `${'['.repeat(100_000)}${']'.repeat(100_000)}]`),
      -32_602,
    ],
    [
      'a height in lists',
      `{"id":1,"method":"blockchain.block.header","params":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}`,
      1,
    ],
    ['an id in lists', `{"id":${'['.repeat(100_000)}${']'.repeat(100_000)},"method":"server.ping"}`, -32_600],
    ['a prototype', '{"__proto__":{"id":1,"method":"server.ping"}}', undefined],
    ['a prototype of parameters', '{"id":1,"method":"server.ping","params":{"__proto__":[]}}', -32_602],
    ['a method of all objects', '{"id":1,"method":"constructor"}', -32_601],
    ['the method __proto__', '{"id":1,"method":"__proto__"}', -32_601],
  ])('survive %s, and the connection stays', async (_, sent, code) => {
    const wallet = await client()
    wallet.send(`${sent.trim()}\n`)
    expect(await wallet.result('server.ping')).toBeNull()
    if (code !== undefined)
      await received(wallet, 1).then(([answer]) => {
        expect([answer].flat(2)[0]).toMatchObject({ error: { code } })
      })
    expect(wallet.others).toEqual([])
  })

  it('do not depend on packets: one byte in each, or many lines in one', async () => {
    const wallet = await client()
    wallet.socket.setNoDelay(true)
    for (const byte of line(ping('slow'))) {
      wallet.send(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await received(wallet, 1)).toMatchObject([{ id: 'slow', result: null }])
    const ids = Array.from({ length: 10_000 }, (_, id) => id)
    wallet.send(ids.map((id) => line(ping(id))).join(''))
    const answers = await received(wallet, ids.length)
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set(ids))
  })
})

describe('the rate limit of the Electrum protocol', () => {
  const LIMIT = 100
  let node: Simnode
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startSimnode({ seed: 'rate', blocks: 5 })
    const explorer = { auditEveryMs: 0, electrumPort: 0, electrumRateLimitPerMinute: LIMIT }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    await pipeline.level({ tip: node.chain.tip.hash })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it('makes further requests of a client wait, over all its connections, and no others', async () => {
    const port = Number(pipeline.electrumAddress.split(':').at(-1))
    const from = async (localAddress: string): Promise<ElectrumClient> => {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      return ElectrumClient.over(socket)
    }
    const greedy = [await from('127.0.0.1'), await from('127.0.0.1')]
    const other = await from('127.0.0.2')
    for (let request = 0; request < LIMIT; request++)
      await greedy[request % 2]!.result('blockchain.block.header', request % 5)
    let answered = 0
    const waiting = greedy.map((each) =>
      each.result('blockchain.block.header', 1).then(
        () => answered++,
        () => undefined,
      ),
    )
    for (let request = 0; request < LIMIT; request++) await other.result('blockchain.block.header', 1)
    // Wallets measure with it whether the server is there.
    for (const each of greedy) await each.result('server.ping')
    expect(answered).toBe(0)
    for (const each of [...greedy, other]) each.close()
    void waiting
  })
})
