import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import { observedLog } from '../../../pipelines/log/observed.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import { NO_STATE, Poller } from '../../../pipelines/poll/poller.js'
import { PollerMetrics } from '../../../services/poller/metrics.js'
import { forkAt, grow, tx } from '../../pipelines/poll/fake-chain.js'
import { FakeNode } from '../../pipelines/poll/fake-node.js'
import { until } from '../../harness/until.js'
import { valueOf } from '../metrics/prometheus-text.js'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

let dir: string
let log: EventLog
let node: FakeNode
let client: NodeClient
let metrics: PollerMetrics
let poller: Poller | undefined

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'headwater-poll-'))
  log = await openEmbeddedLog(dir)
  node = await FakeNode.start(grow([], 10))
  metrics = new PollerMetrics(() => poller?.state ?? NO_STATE, 1000)
  client = new NodeClient(node.url, { backoff: { firstMs: 1, maxMs: 2 }, onAttempt: metrics.attempted })
  poller = new Poller({
    node: client,
    chain: 'btq-regtest',
    pollIntervalMs: 1000,
    logger: quiet,
    inFlight: 4,
    log: observedLog(log, metrics),
    observer: metrics,
  })
})

afterEach(async () => {
  client.close()
  await node.close()
  await log.close()
  rmSync(dir, { recursive: true, force: true })
})

const value = async (series: string): Promise<number | undefined> =>
  valueOf((await metrics.text()).text, series)

describe("the poller's metrics", () => {
  it('count blocks, events and requests, and report its position', async () => {
    node.enter(tx())
    await poller?.pollOnce()
    expect(await value('headwater_poller_node_height')).toBe(9)
    expect(await value('headwater_poller_height')).toBe(9)
    expect(await value('headwater_poller_lag_blocks')).toBe(0)
    expect(await value('headwater_poller_blocks_total{change="connected"}')).toBe(10)
    expect(await value('headwater_poller_epoch')).toBe(1)
    expect(await value('headwater_poller_position')).toBe(await log.last('chain'))
    expect(await value('headwater_poller_mempool_transactions')).toBe(1)
    // The epoch's start and ten blocks.
    expect(await value('headwater_poller_batch_events_sum{topic="chain"}')).toBe(11)
    const appends = await value('headwater_poller_batch_events_count{topic="chain"}')
    expect(await value('headwater_poller_append_duration_seconds_count{topic="chain"}')).toBe(appends)
    expect(await value('headwater_poller_rpc_duration_seconds_count{method="getblock",outcome="ok"}')).toBe(
      10,
    )
    node.chain = forkAt(node.chain, 7, 3)
    await poller?.pollOnce()
    expect(await value('headwater_poller_blocks_total{change="disconnected"}')).toBe(2)
  })

  it('count failures of the node by kind, and no internal error for them', async () => {
    let left = 3
    node.fault = (method) =>
      method === 'getblockchaininfo' && left-- > 0 ? { kind: 'status', status: 503 } : undefined
    await poller?.pollOnce()
    expect(await value('headwater_poller_errors_total{code="HW_NODE_BUSY"}')).toBe(3)
    expect(
      await value('headwater_poller_rpc_duration_seconds_count{method="getblockchaininfo",outcome="busy"}'),
    ).toBe(3)
    expect((await metrics.text()).text).not.toMatch(/errors_total\{code="(?!HW_NODE_BUSY)/)
  })

  it('report the reason of a poll that is retried', async () => {
    const stop = new AbortController()
    vi.spyOn(log, 'append').mockRejectedValue(new Error('the disk is full'))
    const running = poller?.run(stop.signal)
    await until(
      'it is counted',
      async () => (await value('headwater_poller_errors_total{code="HW_UNCLASSIFIED"}')) === 1,
    )
    stop.abort()
    await running
  })
})
