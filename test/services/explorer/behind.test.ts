import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { REGTEST } from '../../../pipelines/chain/networks.js'
import { addressOf } from '../../../pipelines/chain/address.js'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { latestHead } from '../../../pipelines/tables/head.js'
import { type ExplorerOptions, startExplorer } from '../../../services/explorer/host/explorer.js'
import { type Simnode, startSimnode } from '../../../services/simnode/node.js'
import { getAnswer, Pipeline } from '../../harness/pipeline.js'
import { until } from '../../harness/until.js'

const BLOCKS = 120
const SCRIPT = Buffer.from(`76a914${'33'.repeat(20)}88ac`, 'hex')
const ADDRESS = addressOf(SCRIPT, REGTEST) ?? ''
const NOBODY = addressOf(Buffer.from(`76a914${'44'.repeat(20)}88ac`, 'hex'), REGTEST) ?? ''

describe('an index behind its node', () => {
  let node: Simnode
  let pipeline: Pipeline
  let folder: string
  /** Logs of explorers that receive nothing from the node. */
  const opened: EventLog[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    node = await startSimnode({ seed: 'behind its node', blocks: BLOCKS, txsPerBlock: 0 })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
  })
  afterAll(async () => {
    await pipeline.close()
    await Promise.all(opened.map((log) => log.close()))
    await rm(folder, { recursive: true, force: true })
  })

  const height = (): number => node.chain.tip.height
  const syncing = (indexedHeight: number, nodeHeight: number | null) => ({
    status: 503,
    body: { error: 'Index is syncing', indexedHeight, nodeHeight },
  })
  /** Reads from an explorer that starts now, with another log or without any. */
  const requested = async (path: string, options: Partial<ExplorerOptions> = {}) => {
    const log = options.log ?? (await openEmbeddedLog(join(folder, `log-${String(opened.length)}`)))
    if (options.log === undefined) opened.push(log)
    const parts = { port: 0, db: pipeline.db, logger: pino({ level: 'silent' }), ...options, log }
    const explorer = await startExplorer(parts)
    const answer = await getAnswer(`${explorer.url}/api/v1${path}`)
    await explorer.close()
    return answer
  }
  /** Waits until the explorer has read the newest event of the node. */
  const received = () =>
    until('the explorer has read topic node', async () =>
      (await (await fetch(`${pipeline.url}/metrics`)).text()).includes(
        'headwater_consumer_lag{topic="node",consumer="explorer"} 0',
      ),
    )

  it('decides nothing before the first block', async () => {
    expect(await pipeline.get(`/address/${NOBODY}`)).toMatchObject(syncing(-1, null))
    await pipeline.poll()
    await until('it has received the height of the node', async () => {
      return (await pipeline.get(`/address/${NOBODY}`)).body.nodeHeight === height()
    })
    for (const path of [`/address/${NOBODY}/txs`, '/blocks', '/op-returns', `/block/${String(height())}`])
      expect(await pipeline.get(path), path).toMatchObject(syncing(-1, height()))
    expect(await pipeline.get(`/block/${String(height() + 1)}`)).toMatchObject({ status: 404 })
    expect(await pipeline.get('/mempool/txs')).toMatchObject({ status: 200, body: { items: [] } })
  })

  it("reports missing objects as soon as it reaches the node's height, also to an explorer without a node", async () => {
    await pipeline.level({ tip: node.chain.tip.hash })
    expect(await pipeline.get(`/address/${NOBODY}`)).toMatchObject({
      status: 404,
      body: { error: 'Address not found' },
    })
    expect(await pipeline.get(`/address/${NOBODY}/utxos`)).toMatchObject({ status: 200, body: { total: 0 } })
    expect((await latestHead(pipeline.db))?.reached).toBe(true)
    expect(await requested(`/address/${NOBODY}`)).toMatchObject({ status: 404 })
  })

  it('is trusted 6 blocks behind, and not 7, while its materializer is stopped', async () => {
    const indexed = height()
    const mined = node.chain.mine({ payTo: SCRIPT })
    for (let block = 2; block <= 6; block++) node.chain.mine({})
    await pipeline.poll()
    await received()
    expect(await pipeline.get(`/address/${ADDRESS}`)).toMatchObject({ status: 404, height: indexed })
    node.chain.mine({})
    await pipeline.poll()
    const isBehind = async () => (await pipeline.get(`/address/${ADDRESS}`)).status === 503
    await until('the explorer knows of the seventh', isBehind)
    const [coinbase] = node.chain.read(mined).txs
    for (const path of [`/address/${ADDRESS}`, `/tx/${coinbase?.txid ?? ''}`, `/search?q=${mined.hash}`])
      expect(await pipeline.get(path), path).toMatchObject({ ...syncing(indexed, height()), height: indexed })
    expect(await pipeline.get(`/block/${String(indexed)}`)).toMatchObject({ status: 200 })
    // An explorer that starts now knows it as well, from the log.
    expect(await requested(`/address/${ADDRESS}`, { log: pipeline.log })).toMatchObject(
      syncing(indexed, height()),
    )
    await pipeline.level({ tip: node.chain.tip.hash })
    expect(await pipeline.get(`/address/${ADDRESS}`)).toMatchObject({ status: 200, body: { tx_count: 1 } })
  })

  it("receives the node's height even if the mempool waits for blocks that are not indexed", async () => {
    const indexed = height()
    node.chain.mine({})
    node.simulation.enter(1)
    await pipeline.poll()
    await until('an event of the mempool waits', async () =>
      /topic="node",consumer="explorer"} [1-9]/.test(await (await fetch(`${pipeline.url}/metrics`)).text()),
    )
    for (let block = 2; block <= 7; block++) node.chain.mine({})
    await pipeline.poll()
    await until('the explorer knows of the seventh', async () => {
      return (await pipeline.get(`/address/${NOBODY}`)).status === 503
    })
    expect(await pipeline.get(`/address/${NOBODY}`)).toMatchObject(syncing(indexed, height()))
    await pipeline.level({ tip: node.chain.tip.hash })
  })

  it("that has reached the node's height once is trusted indefinitely, with any later writer and without a node", async () => {
    pipeline.restartMaterializer()
    pipeline.restartPoller()
    node.chain.mine({})
    await pipeline.level({ tip: node.chain.tip.hash })
    await node.close()
    await pipeline.materialize()
    expect(await pipeline.get(`/address/${NOBODY}`)).toMatchObject({ status: 404 })
    expect(await requested(`/address/${NOBODY}`)).toMatchObject({ status: 404 })
  })

  it("has never reached the node's height if no process knew that height, however high it is", async () => {
    const log = await openEmbeddedLog(join(folder, 'chain-only'))
    opened.push(log)
    const records = await pipeline.log.read('chain', 0, 1_000)
    expect(records.at(-1)?.position).toBe(await pipeline.log.last('chain'))
    await log.append(
      'chain',
      records.map(({ value }) => value),
    )
    const [nodeUrl, engineUrl] = ['http://127.0.0.1:1', inject('engineUrl')]
    const other = await Pipeline.start({ nodeUrl, engineUrl, log })
    try {
      await other.materialize()
      await until('it is indexed', async () => (await other.get('/blocks/tip')).tip === node.chain.tip.hash)
      expect(await other.get(`/address/${ADDRESS}`)).toMatchObject({ status: 200 })
      expect(await other.get(`/address/${NOBODY}`)).toMatchObject(syncing(height(), null))
    } finally {
      await other.close()
    }
  })
})
