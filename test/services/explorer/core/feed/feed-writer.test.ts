import { afterEach, describe, expect, inject, it } from 'vitest'
import { headsAfter } from '../../../../../pipelines/tables/head.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { Feed } from '../../../../../services/explorer/core/feed/feed.js'
import { FeedWriter } from '../../../../../services/explorer/core/feed/feed-writer.js'
import { State } from '../../../../../services/explorer/core/state/state.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import type { WhaleWatch } from '../../../../../services/explorer/core/feed/whale-watch.js'
import { type Simnode, startSimnode } from '../../../../../services/simnode/node.js'
import { Pipeline } from '../../../../harness/pipeline.js'

const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

describe('the feed of an explorer that starts', () => {
  let node: Simnode | undefined
  let pipeline: Pipeline | undefined

  afterEach(async () => {
    await pipeline?.close()
    await node?.close()
  })

  // Chaos, seed 4, "everything killed at once": a reorganisation was replayed whose blocks could not be read there
  // yet.
  it('does not publish a head that was written after the one with which it starts', async () => {
    node = await startSimnode({ seed: 'begins', blocks: 8 })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    await pipeline.level({ tip: node.chain.tip.hash })
    const [...before] = await headsAfter(pipeline.db, -1)
    node.simulation.reorg(2)
    await pipeline.level({ tip: node.chain.tip.hash })
    const heads = await headsAfter(pipeline.db, -1)
    expect(heads.length).toBeGreaterThan(before.length)

    const feed = new Feed(() => undefined)
    const database = new AvailableDatabase(pipeline.db, logger)
    await database.start()
    const tables = new Tables(database)
    // It queries no whale alerts when it starts.
    const writer = new FeedWriter(feed, new State(), tables, undefined as unknown as WhaleWatch)
    await writer.begin(before.at(-1))
    expect([feed.lastOf('blocks'), feed.lastOf('reorgs')]).toEqual([9, 0])
    await writer.begin(heads.at(-1))
    expect([feed.lastOf('blocks'), feed.lastOf('reorgs')]).toEqual([12, 1])
    database.close()
  })
})
