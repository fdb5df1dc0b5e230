import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, type MockInstance, vi } from 'vitest'
import { Database } from '../../../../pipelines/tables/clickhouse.js'
import { type Simnode, startSimnode } from '../../../../services/simnode/node.js'
import { Pipeline } from '../../../harness/pipeline.js'

describe('an explorer', () => {
  let query: MockInstance<Database['query']>
  let node: Simnode
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startSimnode({ seed: 'announced', blocks: 8 })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
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
