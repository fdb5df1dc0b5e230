import { pino } from 'pino'
import { afterEach, describe, expect, inject, it, vi } from 'vitest'
import type { EventLog, LogRecord, Topic } from '../../pipelines/log/port.js'
import { MempoolEvents } from '../../pipelines/mempool/mempool-events.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { startExplorer } from '../../services/explorer/host/explorer.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { PATIENT_DEADLINE_MS } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { FeedClient } from '../services/explorer/feed-client.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A log whose reader sees the topics only up to a position that the test sets. */
class GatedLog {
  readonly upTo: Partial<Record<Topic, number>> = {}
  /** A topic of which no record is returned, whatever its last position is. */
  withheld: Topic | undefined
  /** The number of such attempts. */
  tries = 0
  readonly log: EventLog

  constructor(whole: EventLog) {
    const end = (topic: Topic): number => this.upTo[topic] ?? Number.POSITIVE_INFINITY
    this.log = {
      append: (topic, values) => whole.append(topic, values),
      first: (topic) => whole.first(topic),
      last: async (topic) => Math.min(await whole.last(topic), end(topic)),
      drop: (topic, before) => whole.drop(topic, before),
      committed: (topic, consumer) => whole.committed(topic, consumer),
      commit: (topic, consumer, position) => whole.commit(topic, consumer, position),
      lead: (consumer, signal) => whole.lead(consumer, signal),
      close: () => Promise.resolve(),
      read: async (topic, position, limit, maxBytes): Promise<LogRecord[]> => {
        if (topic === this.withheld) {
          this.tries++
          return []
        }
        const records = await whole.read(topic, position, limit, maxBytes)
        return records.filter((record) => record.position <= end(topic))
      },
      wait: (_topic, _position, _timeoutMs, signal) => whole.wait('chain', 1_000_000, 20, signal),
    }
  }
}

/** Starts another explorer of the pipeline's tables. */
function startOther({ db }: Pipeline, log: EventLog): ReturnType<typeof startExplorer> {
  return startExplorer({
    host: '127.0.0.1',
    port: 0,
    db,
    log,
    logger: pino({ level: 'silent' }),
    rateLimitPerMinute: 0,
    answerDeadlineMs: PATIENT_DEADLINE_MS,
    locateNode: () => Promise.resolve(undefined),
  })
}

describe('an explorer that catches up', () => {
  let folder = ''
  let whole: EventLog | undefined
  let node: Simnode | undefined
  let pipeline: Pipeline | undefined

  afterEach(async () => {
    vi.useRealTimers()
    await pipeline?.close()
    await node?.close()
    await whole?.close()
    await rm(folder, { recursive: true, force: true })
  })

  // Chaos on Kafka, seed 3, "power cut": a client that reconnected received "resync", because the feed was behind its
  // earlier position.
  it('is not ready before it has the mempool of the log, even if a new leader returns nothing yet', async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-behind-'))
    const log = await openEmbeddedLog(join(folder, 'log'))
    whole = log
    node = await startSimnode({ seed: 'behind', blocks: 30, txsPerBlock: 0 })
    node.simulation.mine({ blocks: 110, txs: 1 })
    const followed = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), log })
    pipeline = followed
    node.simulation.enter(3)
    await followed.level({ tip: node.chain.tip.hash, mempoolSize: 3 })
    const gated = new GatedLog(log)
    gated.withheld = 'node'
    const explorer = await startOther(followed, gated.log)
    try {
      const summary = () => getAnswer(`${explorer.url}/api/v1/mempool/summary`)
      await until('it has tried to read the mempool', () => gated.tries > 1)
      expect((await summary()).status).toBe(503)
      gated.withheld = undefined
      const { body } = await until('it answers', async () => {
        const answer = await summary()
        return answer.status === 200 ? answer : undefined
      })
      expect(body).toMatchObject({ txCount: 3 })
    } finally {
      await explorer.close()
    }
  })

  // Chaos on Kafka, seed 2, "explorer killed": the snapshot of every ten minutes was written while it did not run, just after a
  // transaction had entered. Its client received "resync".
  it('sends what a client has missed, although a snapshot of the mempool was written meanwhile', async () => {
    node = await startSimnode({ seed: 'behind', blocks: 30, txsPerBlock: 0 })
    node.simulation.mine({ blocks: 110, txs: 1 })
    const followed = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    pipeline = followed
    node.simulation.enter(3)
    await followed.level({ tip: node.chain.tip.hash, mempoolSize: 3 })
    node.simulation.enter(2)
    await followed.level({ tip: node.chain.tip.hash, mempoolSize: 5 })
    const before = await followed.log.last('node')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 11 * 60_000 })
    await followed.poll()
    vi.useRealTimers()
    const events = new MempoolEvents(followed.log, pino({ level: 'silent' }))
    expect((await events.findStart(Number.MAX_SAFE_INTEGER)).from).toBeGreaterThan(before)
    const explorer = await startOther(followed, followed.log)
    const clients = await Promise.all([followed, explorer].map(({ url }) => FeedClient.connect(url, '/ws')))
    try {
      for (const client of clients) await client.subscribe('mempool', 3)
      for (const { messages } of clients) {
        const isAnswered = () => messages.length > 2 || messages.some(({ type }) => type === 'resync')
        await until('it sends the events or says that it cannot', isAnswered)
        expect(messages).toMatchObject([{ type: 'subscribed' }, { seq: 4 }, { seq: 5 }])
        expect(messages).toEqual(clients[0]?.messages)
      }
      node.simulation.enter(1)
      await followed.level({ tip: node.chain.tip.hash, mempoolSize: 6 })
      expect((await clients[1]?.events('mempool', 3))?.at(-1)).toMatchObject({ seq: 6 })
    } finally {
      await Promise.all(clients.map((client) => client.close()))
      await explorer.close()
    }
  })

  // Chaos, seed 5, "database cut off": the heads that confirmed it and disconnected it were adopted in one turn.
  // Chaos, seed 4, "engine restarted": one head skipped the block, which left no row at all.
  it.each([
    ['two heads', true],
    ['one head', false],
  ])(
    'shows a transaction whose block was connected and disconnected, by %s, at every step of the mempool',
    async (_, apart) => {
      folder = await mkdtemp(join(tmpdir(), 'headwater-behind-'))
      const log = await openEmbeddedLog(join(folder, 'log'))
      whole = log
      node = await startSimnode({ seed: 'behind', blocks: 30, txsPerBlock: 0 })
      const { simulation } = node
      simulation.mine({ blocks: 110, txs: 1 })
      const gated = new GatedLog(log)
      const followed = await Pipeline.start({
        nodeUrl: node.url,
        engineUrl: inject('engineUrl'),
        log,
        explorer: { log: gated.log },
      })
      pipeline = followed
      simulation.enter(3)
      const inMempool = [...simulation.mempool.entries()].map(({ tx }) => tx.txid)
      await followed.level({ tip: node.chain.tip.hash, mempoolSize: inMempool.length })

      const ends = async (topic: Topic): Promise<number> => (gated.upTo[topic] = await log.last(topic))
      await ends('committed')
      const before = await ends('node')
      simulation.mine({ txs: inMempool.length })
      await followed.poll()
      if (apart) await followed.materialize()
      simulation.tipBack(1)
      await followed.poll()
      await followed.materialize()
      delete gated.upTo.committed
      const isAdopted = async (): Promise<boolean> =>
        (await (await fetch(`${followed.url}/metrics`)).text()).includes(
          'consumer_lag{topic="committed",consumer="explorer"} 0',
        ) && (await followed.get('/blocks/tip')).body.hash === node?.chain.tip.hash
      await until('all heads are adopted', isAdopted)

      const missing: string[] = []
      for (let position = before; position <= (await log.last('node')); position++) {
        gated.upTo.node = position
        const metrics = async (): Promise<string> => (await fetch(`${followed.url}/metrics`)).text()
        await until('the event is taken', async () =>
          (await metrics()).includes('consumer_lag{topic="node",consumer="explorer"} 0'),
        )
        for (const txid of inMempool)
          if ((await followed.get(`/tx/${txid}`)).status !== 200)
            missing.push(`${txid} after event ${String(position)}`)
      }
      expect(missing).toEqual([])
    },
  )
})
