import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import type * as Heads from '../../../../pipelines/tables/head.js'
import { type Simnode, startSimnode } from '../../../../services/simnode/node.js'
import { Pipeline } from '../../../harness/pipeline.js'

/** The positions after which heads were read from the table. */
const read: number[] = []
vi.mock('../../../../pipelines/tables/head.js', async (original) => {
  const real = await original<typeof Heads>()
  const headsAfter: typeof Heads.headsAfter = (db, position, writtenAt) => {
    read.push(position)
    return real.headsAfter(db, position, writtenAt)
  }
  return { ...real, headsAfter }
})

describe('an explorer', () => {
  let node: Simnode
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startSimnode({ seed: 'announced', blocks: 8 })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    await level()
  })
  beforeEach(() => {
    read.length = 0
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  const level = (): Promise<void> => pipeline.level({ tip: node.chain.tip.hash })
  const shown = async (): Promise<unknown> => (await pipeline.get('/blocks/tip')).body.hash

  it('adopts heads that continue its state without reading them, also of reorganisations', async () => {
    node.simulation.mine()
    await level()
    node.simulation.reorg(2)
    await level()
    expect(await shown()).toBe(node.chain.tip.hash)
    expect(read).toEqual([])
  })

  it('reads heads of a new materializer', async () => {
    pipeline.restartMaterializer()
    node.simulation.mine()
    await level()
    expect(await shown()).toBe(node.chain.tip.hash)
    expect(read).not.toEqual([])
    read.length = 0
    node.simulation.mine()
    await level()
    expect(read).toEqual([])
  })
})
