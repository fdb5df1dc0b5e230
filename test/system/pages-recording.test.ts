import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type RecordedNode, startRecordedNode } from '../../services/recorded-node/node.js'
import { Browsing } from '../harness/browsing.js'
import { CHROMIUM } from '../harness/chromium.js'
import { PageFigures } from '../harness/page-figures.js'
import { Pipeline } from '../harness/pipeline.js'
import { readOracles, TIMELINE } from '../harness/recording.js'
import { IS_WHOLE } from '../harness/whole.js'

describe.skipIf(CHROMIUM === undefined)('the pages of the recorded chain in Chromium', () => {
  const oracles = readOracles()
  let node: RecordedNode
  let pipeline: Pipeline
  let browsing: Browsing
  let figures: PageFigures

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: Number.MAX_SAFE_INTEGER })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    await pipeline.level()
    browsing = await Browsing.start(pipeline.url)
    figures = new PageFigures(browsing, pipeline)
  })

  afterAll(async () => {
    await browsing?.close()
    await pipeline?.close()
    await node?.close()
  })

  it('have the figures of the API for addresses of every kind', async () => {
    const kinds = new Map(Object.entries(oracles.addresses).map(([address, { kind }]) => [kind, address]))
    expect(kinds.size).toBeGreaterThan(5)
    for (const address of kinds.values()) await figures.ofAddress(address)
  })

  it('have the figures of the API for transactions of every kind', async () => {
    for (const txid of Object.keys(oracles.transactions).slice(0, IS_WHOLE ? 10 : 4))
      await figures.ofTransaction(txid)
    for (const txid of Object.keys(oracles.mempool).slice(0, IS_WHOLE ? 2 : 1))
      await figures.ofTransaction(txid)
  })

  it('have the figures of the API for blocks and the whole chain', async () => {
    for (const height of IS_WHOLE ? [0, 777, 1_500] : [0, 1_500]) await figures.ofBlock(height)
    await figures.ofChain()
  })
})
