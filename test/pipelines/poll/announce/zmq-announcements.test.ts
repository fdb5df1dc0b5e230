import { createRequire } from 'node:module'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StartRefused } from '../../../../pipelines/errors.js'
import { openZmq, type ZmqMessage } from '../../../../pipelines/node/zmq.js'
import { Alarm } from '../../../../pipelines/poll/announce/alarm.js'
import { ZmqAnnouncements } from '../../../../pipelines/poll/announce/zmq-announcements.js'
import { until } from '../../../harness/until.js'
import { grow, tx } from '../fake-chain.js'
import { log, newPoller, node, quiet, useNodeAndLog } from '../node-and-log.js'
import { applyChain, mempoolFromLog, nodeEvents } from '../read-log.js'

const HOUR = 3_600_000
/** A port at which nothing listens. */
const NO_PUBLISHER = 'tcp://127.0.0.1:9'

interface Publisher {
  readonly lastEndpoint: string
  bind(address: string): Promise<void>
  send(frames: readonly (string | Buffer)[]): Promise<void>
  close(): void
}

const { Publisher } = createRequire(import.meta.url)('zeromq') as { Publisher: new () => Publisher }

useNodeAndLog()

const logged: { level: string; fields: object; message: string }[] = []
const note =
  (level: string) =>
  (fields: object, message: string): void => {
    logged.push({ level, fields, message })
  }
const logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }

let publisher: Publisher
let stop: AbortController
let running: Promise<void> | undefined

beforeEach(async () => {
  logged.length = 0
  stop = new AbortController()
  running = undefined
  publisher = new Publisher()
  await publisher.bind('tcp://127.0.0.1:*')
})
afterEach(async () => {
  stop.abort()
  await running
  publisher.close()
})

function run(pollIntervalMs: number, source: ZmqAnnouncements): void {
  running = newPoller({ pollIntervalMs, announcements: [source] }).run(stop.signal)
}

const counter = (count: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(count)
  return bytes
}
const hash = Buffer.alloc(32, 7)
const isLevel = async (): Promise<boolean> => (await applyChain(log)).chain.length === node.chain.length
const isLogged = (text: string) => (): boolean => logged.some(({ message }) => message.includes(text))

describe("the node's ZMQ publisher", () => {
  it('announces blocks and transactions, which are in the log before the next poll is due', async () => {
    run(HOUR, new ZmqAnnouncements({ url: publisher.lastEndpoint, logger }))
    await until('it is connected', isLogged('connected'))
    await until('block 0 is in the log', isLevel)
    node.chain = grow(node.chain, 1)
    // A publisher drops messages until it has received the subscription.
    await until('the block is in the log', async () => {
      await publisher.send(['hashblock', hash, counter(0)])
      return isLevel()
    })
    const entered = tx(tx())
    node.enter(entered)
    await publisher.send(['hashtx', hash, counter(0)])
    await until('it is in the log', async () => (await mempoolFromLog(log)).has(entered.txid))
  })

  it('may lose messages: the next regular poll finds the change', async () => {
    run(15, new ZmqAnnouncements({ url: publisher.lastEndpoint, logger }))
    await until('it is connected', isLogged('connected'))
    node.chain = grow(node.chain, 2)
    await until('the blocks are in the log', isLevel)
  })

  it('may be unreachable: this is logged once, and the node is polled', async () => {
    run(15, new ZmqAnnouncements({ url: NO_PUBLISHER, logger }))
    await until('it is logged', isLogged('unreachable'))
    node.chain = grow(node.chain, 2)
    await until('the blocks are in the log', isLevel)
    expect(logged.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })

  it('adds no heartbeats: those remain the ones of regular polls', async () => {
    run(HOUR, new ZmqAnnouncements({ url: publisher.lastEndpoint, logger }))
    await until('it is connected', isLogged('connected'))
    const polls = (): number => node.count('getmempoolinfo')
    const before = polls()
    await until('there were polls in between', async () => {
      await publisher.send(['hashtx', hash, counter(0)])
      return polls() >= before + 3
    })
    const beats = (await nodeEvents(log)).filter(({ event }) => event.case === 'heartbeat')
    expect(beats).toHaveLength(1)
  })
})

describe('messages of topic', () => {
  async function announced(...messages: ZmqMessage[]): Promise<string[]> {
    const calls: string[] = []
    const alarm = Object.assign(new Alarm(), {
      block: () => void calls.push('block'),
      mempool: () => void calls.push('mempool'),
    })
    async function* published(): AsyncGenerator<ZmqMessage> {
      yield* messages
    }
    const open = (): ReturnType<typeof openZmq> => ({ messages: published(), close: () => undefined })
    await new ZmqAnnouncements({ url: NO_PUBLISHER, logger, open }).run(alarm, new AbortController().signal)
    return calls
  }

  it.each<[string, Buffer, string]>([
    ['hashblock', hash, 'block'],
    ['hashtx', hash, 'mempool'],
    ['sequence', Buffer.concat([hash, Buffer.from('C')]), 'block'],
    ['sequence', Buffer.concat([hash, Buffer.from('D')]), 'block'],
    ['sequence', Buffer.concat([hash, Buffer.from('A'), Buffer.alloc(8)]), 'mempool'],
    ['sequence', Buffer.concat([hash, Buffer.from('R'), Buffer.alloc(8)]), 'mempool'],
  ])('%s announce a change', async (topic, body, expected) => {
    expect(await announced([Buffer.from(topic), body, counter(1)])).toEqual([expected])
  })

  it('that are malformed only cause a poll', async () => {
    expect(await announced([], [Buffer.from('sequence')], [Buffer.from('hashblock')])).toHaveLength(3)
  })
})

describe('the package zeromq', () => {
  it('may be missing: an error says how to install it, and the node is polled', async () => {
    const open: typeof openZmq = (url, topics, observer) =>
      openZmq(url, topics, observer, () => {
        throw new Error("Cannot find module 'zeromq'\nRequire stack: …")
      })
    run(15, new ZmqAnnouncements({ url: NO_PUBLISHER, logger, open }))
    node.chain = grow(node.chain, 2)
    await until('the blocks are in the log', isLevel)
    const errors = logged.filter(({ level }) => level === 'error')
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatchObject({ fields: { code: 'HW_ZMQ_MISSING' } })
    expect(errors[0]?.message).toContain('npm install --include=optional')
  })

  it('refuses an invalid endpoint, and so does the poller', async () => {
    const source = new ZmqAnnouncements({ url: 'tcp://no-port', logger: quiet })
    const poller = newPoller({ announcements: [source] })
    await expect(poller.run(stop.signal)).rejects.toThrow(StartRefused)
  })
})
