import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { getAnswer } from '../harness/pipeline.js'
import { freePort } from '../../services/process/ports.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'

const POLL_MS = 200

interface Summary {
  readonly tipHeight: number
  readonly nodeHeight: number
  readonly tipMatch: boolean
  readonly indexerStatus: string
  readonly lastReconciledAt: string
}

/** The real processes, each killed alone: the summary must show which one it was. */
describe('indexerStatus, tipMatch and lastReconciledAt', () => {
  const service: Record<string, ServiceProcess> = {}
  let folder = ''
  let node: Simnode
  let url = ''

  const summary = async (): Promise<Summary> =>
    (await getAnswer(`${url}/api/v1/stats/summary`)).body as Summary
  const becomes = (expected: Partial<Summary>): Promise<Summary> =>
    until(`the summary says ${JSON.stringify(expected)}`, async () => {
      const now = await summary()
      return Object.entries(expected).every(([field, value]) => now[field as keyof Summary] === value) && now
    })

  /** Waits until the sentence in the foot of every page has a text, then checks it on a page that is kept, and on the status page. */
  async function sentenceHas(text: string, level: string): Promise<void> {
    const at = async (path: string): Promise<string> =>
      (await fetch(url + path, { headers: { accept: 'text/html' } })).text()
    const line = await until(`the foot says ${text}`, async () => {
      const now = await at('/_explorer/condition')
      return now.includes(text) && now
    })
    expect(line).toContain(`data-level="${level}"`)
    for (const path of ['/block/1', '/status', '/nowhere'])
      await until(`${path} says ${text}`, async () => (await at(path)).includes(text))
    const status = await at('/status')
    expect(/newest block as the node<\/dt>\s*<dd>\s*<span class="badge (\w+)/.exec(status)?.[1]).toBe(
      level === 'good' ? 'good' : 'stale',
    )
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-status-'))
    node = await startSimnode({ seed: 'status', blocks: 20 })
    const port = await freePort()
    url = `http://127.0.0.1:${String(port)}`
    const env = {
      DATA_DIR: folder,
      NODE_RPC_URL: node.url,
      CLICKHOUSE_URL: inject('engineUrl'),
      CLICKHOUSE_DATABASE: `t_status_${String(process.pid)}`,
      EXPLORER_PORT: String(port),
      EXPLORER_GRPC_PORT: '0',
      POLL_INTERVAL_MS: String(POLL_MS),
      RATE_LIMIT_PER_MINUTE: '0',
    }
    for (const name of ['explorer', 'materializer', 'poller']) {
      service[name] = new ServiceProcess(name, env, join(folder, `${name}.log`)).start()
    }
    await until('the explorer answers', async () => (await fetch(`${url}/health`)).ok)
  })

  afterAll(async () => {
    for (const each of Object.values(service)) await each.kill()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** No later heartbeat was applied: its age is the age that the summary reports. */
  async function expectNothingReconciledSince(died: number): Promise<void> {
    const { lastReconciledAt } = await summary()
    expect(Date.parse(lastReconciledAt)).toBeLessThanOrEqual(died)
    expect((await summary()).lastReconciledAt).toBe(lastReconciledAt)
  }

  it("show a stalled chain: live, at the node's height, reconciled repeatedly, and no new block", async () => {
    const one = await becomes({ indexerStatus: 'live', tipMatch: true, tipHeight: 20, nodeHeight: 20 })
    await sentenceHas('equals the node', 'good')
    for (let since = one.lastReconciledAt, time = 0; time < 3; time++) {
      const later = await until('it is reconciled again', async () => {
        const now = await summary()
        return Date.parse(now.lastReconciledAt) > Date.parse(since) && now
      })
      expect(later).toMatchObject({ tipMatch: true, tipHeight: 20 })
      since = later.lastReconciledAt
    }
  })

  it('show a dead poller: stalled, and lastReconciledAt does not change', async () => {
    await service['poller']?.kill()
    const died = Date.now()
    await becomes({ indexerStatus: 'stalled' })
    await sentenceHas('The poller is stuck', 'stale')
    await expectNothingReconciledSince(died)
    service['poller']?.start()
    await becomes({ indexerStatus: 'live', tipMatch: true })
  })

  it('show a dead materializer: stalled, while the node advances unseen', async () => {
    await service['materializer']?.kill()
    const died = Date.now()
    node.chain.mine()
    await becomes({ indexerStatus: 'stalled', tipHeight: 20 })
    await sentenceHas('The materializer is stuck', 'stale')
    await expectNothingReconciledSince(died)
    service['materializer']?.start()
    await becomes({ indexerStatus: 'live', tipMatch: true, tipHeight: 21, nodeHeight: 21 })
  })

  it('show a dead node: its height is the last known one, and nothing is reconciled', async () => {
    node.faults.order({ kind: '503', ms: 0, method: undefined }, 1_000_000)
    await becomes({ indexerStatus: 'stalled', nodeHeight: 21 })
    await sentenceHas('The node is unreachable', 'stale')
    node.faults.clear()
    await becomes({ indexerStatus: 'live', tipMatch: true })
  })

  it('show an indexer that is behind: syncing, with the height of the node', async () => {
    await service['poller']?.kill()
    for (let block = 0; block < 300; block++) node.chain.mine()
    node.faults.order({ kind: 'slow', ms: 100, method: 'getblock' }, 1_000_000)
    service['poller']?.start()
    const behind = await becomes({ indexerStatus: 'syncing', tipMatch: false, nodeHeight: 321 })
    expect(behind.tipHeight).toBeLessThan(321)
    expect(await (await fetch(`${url}/_explorer/condition`)).text()).toContain('The index follows')
    node.faults.clear()
    await becomes({ indexerStatus: 'live', tipMatch: true, tipHeight: 321 })
    await sentenceHas('equals the node', 'good')
  })
})
