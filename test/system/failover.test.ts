import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { TcpProxy } from '../chaos/tcp-proxy.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { Shards } from '../harness/shards.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

/** In CI one failure is tested with processes, and the others by test/pipelines/tables/connection/servers.test.ts. */

/** Reads that ask the database each time: different objects, which no cache has. */
const unusedTx = (number: number): string => `/tx/${number.toString(16).padStart(64, '0')}`

describe('an index whose CLICKHOUSE_URL names two servers', () => {
  let node: Simnode
  let proxies: [TcpProxy, TcpProxy]
  let pipeline: Pipeline
  let reads = 0

  beforeAll(async () => {
    node = await startSimnode({ seed: 'failover', blocks: 30, txsPerBlock: 3, blockIntervalMs: 0 })
    proxies = [await TcpProxy.before(inject('engineUrl')), await TcpProxy.before(inject('engineUrl'))]
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: proxies.map(({ url }) => url).join(','),
    })
    await pipeline.level()
  })

  afterAll(async () => {
    for (const each of proxies) await each.repair()
    await pipeline.close()
    for (const each of proxies) await each.close()
    await node.close()
  })

  /** Reads until `count` answers arrived; none may be wrong. @returns their statuses. */
  async function statuses(count: number): Promise<number[]> {
    const found: number[] = []
    for (let at = 0; at < count; at++) {
      const answer = await getAnswer(`${pipeline.url}/api/v1${unusedTx(++reads)}`)
      found.push(answer.status)
      if (answer.status !== 503) expect(answer.height).toBeGreaterThanOrEqual(30)
    }
    return found
  }

  async function grows(): Promise<void> {
    const { height } = await pipeline.get('/stats/summary')
    await fetch(`${new URL(node.url).origin}/control/mine?blocks=1`, { method: 'POST' })
    await until('the block is indexed', async () => {
      await pipeline.level().catch(() => undefined)
      return (await pipeline.get('/stats/summary')).height > height
    })
  }

  it('answers every read while the first one refuses connections, and indexes new blocks', async () => {
    await proxies[0].refuse()
    expect(new Set(await statuses(20))).toEqual(new Set([404]))
    await grows()
    await proxies[0].accept()
  })

  it.runIf(IS_WHOLE)('answers again when the other one is silent', async () => {
    proxies[1].pause()
    await until('a read is answered', async () => (await statuses(1))[0] === 404)
    expect(new Set(await statuses(20))).toEqual(new Set([404]))
    await grows()
    proxies[1].resume()
  })

  it.runIf(IS_WHOLE)('returns 503 when none responds', async () => {
    for (const each of proxies) await each.refuse()
    expect(new Set(await statuses(3))).toEqual(new Set([503]))
    await proxies[1].accept()
    await until('a read is answered', async () => (await statuses(1))[0] === 404)
  })
})

it.runIf(IS_WHOLE)(
  'a server that lacks the newest head is not used: reads are 503 until one has it',
  async () => {
    const shards = await Shards.start(1)
    const node = await startSimnode({ seed: 'lagging', blocks: 20, txsPerBlock: 3, blockIntervalMs: 0 })
    const proxy = await TcpProxy.before(inject('engineUrl'))
    const pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: `${proxy.url},${shards.urlFrom()}`,
    })
    try {
      await pipeline.level()
      const path = (number: number): string => `${pipeline.url}/api/v1${unusedTx(number)}`
      // The second server has an older state, in which a table is empty: not found would be wrong.
      const lagging = new Database({ url: shards.urlFrom(), database: pipeline.name })
      await lagging.createIfAbsent()
      await lagging.command('CREATE TABLE heads (position Int64) ENGINE = MergeTree ORDER BY position')
      await lagging.command('INSERT INTO heads VALUES (1)')
      await lagging.command('CREATE TABLE txs (txid FixedString(32)) ENGINE = MergeTree ORDER BY txid')
      await lagging.close()
      expect((await getAnswer(path(1))).status).toBe(404)
      await proxy.refuse()
      for (const number of [2, 3, 4]) expect((await getAnswer(path(number))).status).toBe(503)
      await proxy.accept()
      await until('a read is answered', async () => (await getAnswer(path(5))).status === 404)
    } finally {
      await proxy.repair()
      await pipeline.close()
      await proxy.close()
      await node.close()
      await shards.close()
    }
  },
)
