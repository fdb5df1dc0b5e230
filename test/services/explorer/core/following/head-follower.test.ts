import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, type MockInstance, vi } from 'vitest'
import { create, toBinary } from '@bufbuild/protobuf'
import { pino } from 'pino'
import { Database } from '../../../../../pipelines/tables/clickhouse.js'
import { type Simnode, startSimnode } from '../../../../../services/simnode/node.js'
import { CommittedEventSchema } from '../../../../../proto/gen/headwater/events/v1/events_pb.js'
import { until } from '../../../../harness/until.js'
import { Pipeline } from '../../../../harness/pipeline.js'

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with the database
const unspied = Database.prototype.query

describe('an explorer', () => {
  const warnings: string[] = []
  let query: MockInstance<Database['query']>
  let node: Simnode
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startSimnode({ seed: 'announced', blocks: 8 })
    const logger = pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) })
    const explorer = { logger }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    await level()
  })
  beforeEach(() => {
    query = vi.spyOn(Database.prototype, 'query')
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  const level = (): Promise<void> => pipeline.level({ tip: node.chain.tip.hash })
  const shown = async (): Promise<unknown> => (await pipeline.get('/blocks/tip')).body.hash
  /** Returns how often heads after that of the state were read. */
  const reads = (): number => query.mock.calls.filter(([sql]) => sql.includes('heads.position > {')).length

  it('adopts heads that continue its state without reading them, also of reorganisations', async () => {
    node.simulation.mine()
    await level()
    node.simulation.reorg(2)
    await level()
    expect(await shown()).toBe(node.chain.tip.hash)
    expect(reads()).toBe(0)
  })

  it('does not miss a head that is announced while it reads the tables: it reads that one next', async () => {
    warnings.length = 0
    const heartbeat = { nodeHeight: 1, nodeHash: new Uint8Array(32), pollIntervalMs: 1_000, timeMs: 1n }
    const event = { case: 'heartbeat' as const, value: { heartbeat, appliedMs: BigInt(Date.now()) } }
    let isIntercepted = false
    query.mockImplementation(async function (this: Database, ...request) {
      const rows = await unspied.apply(this, request)
      if (!request[0].includes('heads.position > {') || isIntercepted) return rows
      isIntercepted = true
      node.simulation.mine()
      await pipeline.poll()
      await pipeline.materialize()
      await until('the announcement is received', async () => {
        const metrics = await (await fetch(`${pipeline.url}/metrics`)).text()
        return metrics.includes('headwater_consumer_lag{topic="committed",consumer="explorer"} 0')
      })
      return rows
    })
    // Names a block that the explorer does not have: it looks into the tables.
    await pipeline.log.append('committed', [
      toBinary(CommittedEventSchema, create(CommittedEventSchema, { event })),
    ])
    await until('it reads', () => isIntercepted)
    await until('it has the block', async () => (await shown()) === node.chain.tip.hash)
    expect(warnings).toEqual([])
  })

  it('reads heads of a new materializer', async () => {
    pipeline.restartMaterializer()
    node.simulation.mine()
    await level()
    expect(await shown()).toBe(node.chain.tip.hash)
    expect(reads()).toBeGreaterThan(0)
    query.mockClear()
    node.simulation.mine()
    await level()
    expect(reads()).toBe(0)
  })
})
