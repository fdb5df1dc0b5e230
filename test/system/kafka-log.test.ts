import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigResourceTypes, Kafka, logLevel } from 'kafkajs'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLog } from '../../pipelines/log/open.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { KafkaCluster } from '../harness/kafka.js'
import { WITHOUT_KAFKA } from '../harness/without-kafka.js'
import { until } from '../harness/until.js'

/** Without pauses the writer would use the time of the processors that brokers need to start. */
const WRITE_EVERY_MS = 5

const text = (value: string): Buffer => Buffer.from(value)

describe.skipIf(WITHOUT_KAFKA !== undefined)('the log on three brokers', () => {
  let cluster: KafkaCluster
  let brokers: string[]
  const opened: EventLog[] = []

  beforeAll(async () => {
    cluster = await KafkaCluster.start(3)
    brokers = cluster.url.replace('kafka://', '').split(',')
  })
  afterAll(async () => {
    await Promise.all(opened.map((log) => log.close()))
    await cluster.stop()
  })

  async function open(prefix: string): Promise<EventLog> {
    const log = await openLog({
      url: cluster.logUrl(prefix),
      dataDir: '/nowhere',
      logger: pino({ level: process.env['TEST_LOG'] ?? 'silent' }),
      ssl: false,
      sasl: undefined,
    })
    opened.push(log)
    return log
  }

  const texts = async (log: EventLog, from: number, limit: number): Promise<string[]> =>
    (await log.read('chain', from, limit)).map(({ value }) => Buffer.from(value).toString())

  it('numbers records from 0 on, for each topic, without a gap', async () => {
    const log = await open('numbers')
    expect(await log.last('chain')).toBe(-1)
    expect(await log.first('chain')).toBe(0)
    expect(await log.read('chain', 0, 10)).toEqual([])
    expect(await log.append('chain', [text('a'), text('b')])).toBe(1)
    expect(await log.append('chain', [])).toBe(1)
    expect(await log.append('node', [text('x')])).toBe(0)
    const ends = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        log.append('chain', [text(`${String(i)}a`), text(`${String(i)}b`)]),
      ),
    )
    expect([...ends].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => 2 * i + 3))
    expect(await log.last('chain')).toBe(41)
    for (const [i, end] of ends.entries())
      expect(await texts(log, end - 1, 2)).toEqual([`${String(i)}a`, `${String(i)}b`])
    const before = Date.now() - 60_000
    const records = await log.read('chain', 0, 100)
    expect(records.map(({ position }) => position)).toEqual(Array.from({ length: 42 }, (_, i) => i))
    for (const { time } of records) expect(time).toBeGreaterThan(before)
    expect(await texts(log, 40, 1)).toHaveLength(1)
    expect(await texts(log, 42, 1)).toEqual([])
    expect(await texts(log, 1000, 1)).toEqual([])
    // Backwards, as a reader does that looks for the last record of a kind.
    for (const from of [30, 20, 10]) expect((await log.read('chain', from, 10))[0]?.position).toBe(from)
  })

  it('carries blocks of 8 MB of random bytes, several at once, byte for byte', async () => {
    const log = await open('large')
    const blocks = Array.from({ length: 3 }, () => randomBytes(8 << 20))
    expect(await log.append('chain', blocks)).toBe(2)
    const other = await open('large')
    for (const [i, block] of blocks.entries()) {
      const [record] = await other.read('chain', i, 1)
      expect(block.equals(record?.value ?? Buffer.alloc(0))).toBe(true)
    }
    // At least one record, whatever its size.
    expect(await other.read('chain', 0, 3, 1)).toHaveLength(1)
    expect(await other.read('chain', 0, 3, 9 << 20)).toHaveLength(2)
  })

  it('wakes waiting readers at once', async () => {
    const [writer, reader] = [await open('waits'), await open('waits')]
    await writer.append('chain', [text('before')])
    await reader.wait('chain', 0, 5_000)
    await reader.wait('chain', 1, 30)
    expect(await texts(reader, 1, 1)).toEqual([])
    const waited = reader.wait('chain', 1, 5_000)
    await writer.append('chain', [text('after')])
    await waited
    expect(await texts(reader, 1, 1)).toEqual(['after'])
    const stop = new AbortController()
    const stopped = reader.wait('chain', 2, 60_000, stop.signal)
    stop.abort()
    await stopped
  })

  it('drops records, which readers then skip', async () => {
    const log = await open('dropped')
    await log.append(
      'node',
      Array.from({ length: 10 }, (_, i) => text(String(i))),
    )
    await log.drop('node', 6)
    expect(await log.first('node')).toBe(6)
    const other = await open('dropped')
    expect((await other.read('node', 0, 2)).map(({ position }) => position)).toEqual([6, 7])
    for (const before of [3, 100, 100]) await other.drop('node', before)
    // The last one stays.
    expect([await other.first('node'), await other.last('node')]).toEqual([9, 9])
  })

  it('creates its topics with the required settings, and refuses others', async () => {
    await (await open('made')).last('chain')
    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    try {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: 'made.chain' }],
      })
      const entries = resources[0]?.configEntries ?? []
      const settings = Object.fromEntries(
        entries.map(({ configName, configValue }) => [configName, configValue]),
      )
      expect(settings).toMatchObject({
        'retention.ms': '-1',
        'min.insync.replicas': '2',
        'unclean.leader.election.enable': 'false',
      })
      const { topics } = await admin.fetchTopicMetadata({ topics: ['made.chain'] })
      expect(topics[0]?.partitions.map(({ replicas }) => replicas.length)).toEqual([3])
      const refused: [
        topic: string,
        settings: Record<string, string>,
        said: string,
        numPartitions?: number,
      ][] = [
        ['wide.chain', {}, 'wide.chain has 2 partitions', 2],
        ['short.chain', { 'retention.ms': '604800000' }, 'short.chain has retention.ms=604800000'],
        ['tight.chain', { 'retention.bytes': '1000' }, 'tight.chain has retention.bytes=1000'],
        ['small.node', { 'max.message.bytes': '1048588' }, 'small.node has max.message.bytes=1048588'],
        ['brief.node', { 'retention.ms': '60000' }, 'brief.node has retention.ms=60000; set it to 86400000'],
        ['lossy.dead-letters', { 'retention.ms': '604800000' }, 'lossy.dead-letters has retention.ms'],
        [
          'compacted.committed',
          { 'cleanup.policy': 'compact' },
          'compacted.committed has cleanup.policy=compact',
        ],
      ]
      for (const [topic, settings, said, numPartitions = 1] of refused) {
        const right = { 'max.message.bytes': '67108864', 'retention.ms': '-1' }
        const configEntries = Object.entries({ ...right, ...settings }).map(([name, value]) => ({
          name,
          value,
        }))
        await admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions, configEntries }] })
        // Each broker learns of it at some time, and until then answers with an error.
        const partitions = () =>
          admin.fetchTopicMetadata({ topics: [topic] }).then(
            ({ topics: [made] }) => made?.partitions.length,
            () => undefined,
          )
        await until('the topic is known', async () => (await partitions()) === numPartitions)
        const log = await open(topic.split('.')[0] ?? '')
        await expect(log.last('chain'), topic).rejects.toThrow(said)
      }
    } finally {
      await admin.disconnect()
    }
  })

  it('has one leader for each consumer, the next when it leaves, and reports its position', async () => {
    const [first, second] = [await open('led'), await open('led')]
    await first.append('chain', [text('a'), text('b'), text('c')])
    // A coordinator that has just been chosen answers later.
    const committed = (): Promise<number | undefined> =>
      first.committed('chain', 'materializer').catch(() => undefined)
    await until('no offset is committed', async () => (await committed()) === -1)
    const lease = await first.lead('materializer', new AbortController().signal)
    let next: Awaited<ReturnType<EventLog['lead']>> | undefined
    const waiting = second.lead('materializer', new AbortController().signal).then((taken) => (next = taken))
    await first.commit('chain', 'materializer', 1)
    await until('the offset is taken', async () => (await committed()) === 1)
    // Joining is a rebalance: after it the first may have lost its lease, but never do two have it at once.
    if (!lease.lost.aborted) {
      expect(next).toBeUndefined()
      await lease.release()
    }
    await waiting
    expect(next?.lost.aborted).toBe(false)
    expect(lease.lost.aborted).toBe(true)
    const giveUp = new AbortController()
    const third = (await open('led')).lead('materializer', giveUp.signal)
    giveUp.abort(new Error('no longer'))
    await expect(third).rejects.toThrow('no longer')
  })

  it('neither loses nor duplicates acknowledged records when brokers are killed', async () => {
    const log = await open('killed')
    const acknowledged: { position: number; value: string }[] = []
    let stopped = false
    const writing = (async () => {
      for (let i = 0; !stopped; i++) {
        const value = `event ${String(i)}`
        // As the poller does after an error: it reads the last position before it continues.
        const position = await log.append('chain', [text(value)]).catch(() => undefined)
        if (position !== undefined) acknowledged.push({ position, value })
        await sleep(WRITE_EVERY_MS)
      }
    })()
    await until('it writes', () => acknowledged.length > 20)
    for (const broker of [1, 2, 3]) {
      const killed = await cluster.pid(broker)
      process.kill(killed, 'SIGKILL')
      // Counted from here: a record that is acknowledged without the broker shows that the broker was missed, and is
      // no longer in sync.
      const before = acknowledged.length
      await until('it writes again', () => acknowledged.length > before + 20)
      await until(
        'all brokers are back',
        async () => (await cluster.pid(broker)) !== killed && (await cluster.isrOf('killed.chain')) === 3,
      )
    }
    stopped = true
    await writing
    const reader = await open('killed')
    const all = new Map<number, string>()
    for (let next = 0; ;) {
      // As readers do: a broker counts as in sync before it listens again, and a call in that moment may fail.
      const records = await until('it reads', () => reader.read('chain', next, 1000))
      for (const { position, value } of records) all.set(position, Buffer.from(value).toString())
      const last = records.at(-1)
      if (last === undefined) break
      next = last.position + 1
    }
    expect([...all.keys()]).toEqual(Array.from({ length: all.size }, (_, i) => i))
    for (const { position, value } of acknowledged) expect(all.get(position)).toBe(value)
    expect(new Set(all.values()).size).toBe(all.size)
  })
})
