import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { assertWhole } from '../../pipelines/materialize/rebuild/replacement.js'
import { CannotReplay } from '../../pipelines/materialize/rebuild/replay.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { Poller } from '../../pipelines/poll/poller.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { Pipeline } from '../harness/pipeline.js'
import { quickFolder } from '../harness/quick-folder.js'
import { until } from '../harness/until.js'
import { sampled } from '../harness/whole.js'

const LOG_BLOCKS = 12
/** The number of blocks of each head. */
const AT_ONCE = 4
/** The number of blocks by which a poller may be ahead, in addition, with the largest batch. */
const LEAD = 2_000 + 64

describe('a log of the newest blocks', { timeout: 5 * 60_000 }, () => {
  let folder: string
  let log: EventLog
  let node: Simnode
  const pipelines: Pipeline[] = []

  beforeEach(async () => {
    folder = await quickFolder('headwater-log-blocks-')
    log = await openEmbeddedLog(join(folder, 'log'))
  })

  afterEach(async () => {
    for (const each of pipelines.splice(0)) await each.close()
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function start(own: EventLog | undefined, logBlocks = LOG_BLOCKS): Promise<Pipeline> {
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: 6 }
    const explorer = { auditEveryMs: 0 }
    const pipeline = await Pipeline.start({ ...options, explorer, logBlocks, ...(own && { log: own }) })
    pipelines.push(pipeline)
    return pipeline
  }

  const level = (pipeline: Pipeline): Promise<void> => pipeline.level({ tip: node.chain.tip.hash })

  /** Mines the blocks of so many heads of an index. */
  async function mine(pipeline: Pipeline, heads: number): Promise<void> {
    for (let head = 0; head < heads; head++) {
      node.simulation.mine({ blocks: AT_ONCE, txs: 2 })
      await pipeline.poll()
      await pipeline.materialize()
    }
  }

  /** Compares blocks, in CI some of them, and some other reads with an index whose log is whole. */
  async function compare(one: Pipeline, other: Pipeline): Promise<void> {
    const paths = ['/stats/daily', '/stats/richlist']
    // From the tip down, which is always compared.
    const heights = Array.from({ length: node.chain.tip.height + 1 }, (_, at) => node.chain.tip.height - at)
    for (const height of sampled(heights, 6))
      paths.push(`/block/${String(height)}`, `/block/${String(height)}/txs?limit=20`)
    for (const path of paths) {
      const [expected, found] = [await other.get(path), await one.get(path)]
      expect([found.status, found.body], path).toEqual([expected.status, expected.body])
    }
  }

  it('has no blocks below these, and everything continues with it', async () => {
    node = await startSimnode({ seed: 'log-blocks', blocks: 10, txsPerBlock: 2 })
    const [cut, whole] = [await start(log), await start(undefined, 1_000)]
    for (const each of [cut, whole]) await level(each)
    await mine(cut, 4)
    let before = 0
    for (let turn = 0; turn < 3; turn++) {
      await mine(cut, 5)
      if (turn > 0) node.simulation.reorg(5)
      if (turn > 0) {
        cut.restartPoller()
        cut.restartMaterializer()
      }
      for (const each of [cut, whole]) await level(each)
      const [first, last] = [await log.first('chain'), await log.last('chain')]
      expect(first).toBeGreaterThan(before)
      // Its blocks, those that a reorganisation replaced, and up to those after which it is cut again.
      expect(last - first).toBeLessThan(LOG_BLOCKS + 60)
      expect(last - first).toBeGreaterThan(LOG_BLOCKS)
      before = first
    }
    expect(await whole.log.first('chain')).toBe(0)
    await compare(cut, whole)
    await expect(assertWhole(log)).rejects.toThrow(CannotReplay)
  })

  it('builds another index from the node', async () => {
    node = await startSimnode({ seed: 'log-blocks-2', blocks: 10, txsPerBlock: 2 })
    const former = await start(log)
    await mine(former, 10)
    await level(former)
    const first = await log.first('chain')
    expect(first).toBeGreaterThan(20)
    await pipelines.pop()?.close()
    const [other, whole] = [await start(log), await start(undefined, 1_000)]
    // It reports that events are missing, whereupon the poller writes the chain again.
    await until('the other index has the tip', async () => {
      await other.poll()
      await other.materialize()
      return (await latestHead(other.db))?.tipHash === node.chain.tip.hash
    })
    for (const each of [other, whole]) await level(each)
    await compare(other, whole)
    await mine(other, 8)
    expect(await log.first('chain')).toBeGreaterThan(first + node.chain.tip.height / 2)
  })

  it('is repaired from the node after a reorganisation of more blocks', async () => {
    node = await startSimnode({ seed: 'log-blocks-3', blocks: 10, txsPerBlock: 2 })
    const [cut, whole] = [await start(log), await start(undefined, 1_000)]
    await mine(cut, 8)
    for (const each of [cut, whole]) await level(each)
    node.simulation.reorg(30)
    await level(whole)
    await until('the index has the tip', async () => {
      await cut.poll().catch(() => undefined)
      await cut.materialize()
      return (await latestHead(cut.db))?.tipHash === node.chain.tip.hash
    })
    await level(cut)
    await compare(cut, whole)
  })

  it('grows by no more than a lead while the index is behind', async () => {
    node = await startSimnode({ seed: 'log-blocks-4', blocks: LOG_BLOCKS + LEAD + 300, txsPerBlock: 0 })
    const pipeline = await start(log)
    const client = new NodeClient(node.url, { timeoutMs: 10_000 })
    const logger = pino({ level: 'silent' })
    const options = { node: client, log, logger, pollIntervalMs: 100, inFlight: 4, logBlocks: LOG_BLOCKS }
    const stop = new AbortController()
    const polling = new Poller(options).run(stop.signal)
    try {
      let last = -1
      await until('it waits', async () => {
        const before = last
        last = await log.last('chain')
        await new Promise((resolve) => setTimeout(resolve, 300))
        return last > LOG_BLOCKS && before === last
      })
      expect(last).toBeGreaterThan(LOG_BLOCKS + LEAD - 200)
      expect(last).toBeLessThanOrEqual(LOG_BLOCKS + LEAD)
      await until('the index has the tip', async () => {
        await pipeline.materialize()
        return (await latestHead(pipeline.db))?.tipHash === node.chain.tip.hash
      })
    } finally {
      stop.abort()
      await polling
      client.close()
    }
    expect((await log.last('chain')) - (await log.first('chain'))).toBeLessThan(LEAD)
  })
})
