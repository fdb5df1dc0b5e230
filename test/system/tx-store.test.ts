import { writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { type Explorer, startExplorer } from '../../services/explorer/host/explorer.js'
import { txStorePath } from '../../services/explorer/host/tx-store.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { PATIENT_DEADLINE_MS } from '../harness/processes.js'
import { quickFolder } from '../harness/quick-folder.js'
import { until } from '../harness/until.js'
import { IS_WHOLE, sampledByKind } from '../harness/whole.js'

const LARGE = 2 ** 32
/** Less than the tables take without a block: the newest blocks stay, whatever their size. */
const SMALL = 20_000
const FROM = 'headwater_tx_store_from_height'
const FOUND = 'headwater_tx_store_lookups_total{result="found"}'
const MISSING = 'headwater_tx_store_lookups_total{result="missing"}'

// Beside other tests a comparison of all transactions takes ten times as long as alone.
describe('the transaction store', { timeout: 10 * 60_000 }, () => {
  let folder: string
  let log: EventLog
  let node: Simnode
  let pipeline: Pipeline
  const explorers = new Set<Explorer>()

  beforeEach(async () => {
    folder = await quickFolder('headwater-store-')
    log = await openEmbeddedLog(join(folder, 'log'))
    node = await startSimnode({ seed: 'store', blocks: 20, txsPerBlock: 3 })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: 10,
      explorer: { auditEveryMs: 0 },
      log,
    })
    await level()
  })

  afterEach(async () => {
    for (const each of explorers) await each.close()
    explorers.clear()
    await pipeline.close()
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  const level = (): Promise<void> => pipeline.level({ tip: node.chain.tip.hash })

  /** Starts an explorer with a store of at most so many bytes, or without one. */
  async function start(maxBytes = 0): Promise<Explorer> {
    const kafka = { kafkaSsl: 'false', kafkaSaslMechanism: 'plain' } as const
    const unset = { logUrl: undefined, kafkaUsername: undefined, kafkaPassword: undefined }
    const settings = { dataDir: folder, logLevel: 'silent', ...kafka, ...unset }
    const explorer = await startExplorer({
      host: '127.0.0.1',
      port: 0,
      db: pipeline.db,
      log,
      logger: pino({ level: process.env['TEST_LOG'] ?? 'silent' }),
      rateLimitPerMinute: 0,
      answerDeadlineMs: PATIENT_DEADLINE_MS,
      auditEveryMs: 0,
      ...(maxBytes > 0 && { txStore: { path: txStorePath(folder), maxBytes, settings } }),
    })
    explorers.add(explorer)
    return explorer
  }

  async function stop(explorer: Explorer): Promise<void> {
    explorers.delete(explorer)
    await explorer.close()
  }

  async function metric({ url }: Explorer, series: string): Promise<number> {
    const text = await (await fetch(`${url}/metrics`)).text()
    const line = text.split('\n').find((each) => each.startsWith(`${series} `))
    return Number(line?.slice(series.length + 1))
  }

  const isAt = async ({ url }: Explorer): Promise<boolean> =>
    (await getAnswer(`${url}/api/v1/blocks/tip`)).tip === node.chain.tip.hash

  /** Waits until an explorer shows the newest chain, and its store has all blocks of it from a height on. */
  async function isLevel(explorer: Explorer, from: (height: number) => boolean = (height) => height === 0) {
    await until(
      'the store is level',
      async () => (await isAt(explorer)) && from(await metric(explorer, FROM)),
    )
  }

  /** Returns the paths of all transactions of the chain, and of lists of them. */
  async function paths(): Promise<string[]> {
    const all: string[] = []
    for (let height = 0; height <= node.chain.tip.height; height++) {
      const { body } = await pipeline.get(`/block/${String(height)}/txs?limit=100`)
      for (const { txid } of body.items) all.push(`/tx/${String(txid)}`)
      all.push(`/block/${String(height)}/txs?witness=true&limit=20`)
    }
    return all
  }

  /** Compares the answers of an explorer, in CI some of each kind, with those of one that has neither a store nor anything in memory. */
  async function compare(explorer: Explorer, paths: readonly string[]): Promise<void> {
    const other = await start()
    await until('the other explorer is level', () => isAt(other))
    const kindOf = (path: string): string => path.replace(/(block|tx)\/\w+/, '$1')
    const left = sampledByKind(paths, 5, kindOf)
    const worker = async (): Promise<void> => {
      for (let path = left.pop(); path !== undefined; path = left.pop()) await compareOne(path)
    }
    const compareOne = async (path: string): Promise<void> => {
      const [expected, shown] = await Promise.all(
        [other, explorer].map(({ url }) => getAnswer(`${url}/api/v1${path}`)),
      )
      expect([shown?.status, shown?.tip, shown?.body], path).toEqual([
        expected?.status,
        expected?.tip,
        expected?.body,
      ])
    }
    await Promise.all(Array.from({ length: 8 }, worker))
    await stop(other)
  }

  it('answers as the database does, through reorganisations and restarts', async () => {
    let explorer = await start(LARGE)
    await isLevel(explorer)
    await compare(explorer, await paths())
    expect(await metric(explorer, FOUND)).toBeGreaterThan(IS_WHOLE ? 100 : 15)
    const replaced: string[] = []
    // The second one goes below the final height.
    for (const depth of [2, 12]) {
      const left = (await pipeline.get('/blocks/tip')).body.hash as string
      const before = await paths()
      node.simulation.enter(4)
      node.simulation.reorg(depth)
      node.simulation.mine({ txs: 5 })
      await level()
      // Blocks that were replaced, and transactions that may be on no chain any more.
      replaced.push(`/block/${left}`, `/block/${left}/txs?witness=true`)
      const all = [...new Set([...before, ...(await paths()), ...replaced])]
      await until('the explorer shows the new chain', () => isAt(explorer))
      await compare(explorer, all)
      await isLevel(explorer)
      await stop(explorer)
      explorer = await start(LARGE)
      await isLevel(explorer)
      await compare(explorer, all)
    }
    expect(await metric(explorer, FOUND)).toBeGreaterThan(IS_WHOLE ? 100 : 15)
    // A transaction that is unknown, and the spends of a coinbase whose block has just been mined, are found in the database.
    expect((await getAnswer(`${explorer.url}/api/v1/tx/${'ab'.repeat(32)}`)).status).toBe(404)
    expect(await metric(explorer, MISSING)).toBeGreaterThan(0)
  })

  it('keeps the newest blocks only, and the database has the others', async () => {
    const explorer = await start(SMALL)
    await isLevel(explorer, (height) => height > 0)
    for (let block = 0; block < 12; block++) node.simulation.mine({ txs: 5 })
    await level()
    await isLevel(explorer, (height) => height > 0)
    await compare(explorer, await paths())
    expect(await metric(explorer, FOUND)).toBeGreaterThan(0)
    expect(await metric(explorer, MISSING)).toBeGreaterThan(0)
  })

  it('is written again if it is damaged', async () => {
    const first = await start(LARGE)
    await isLevel(first)
    await stop(first)
    const file = txStorePath(folder)
    for (const suffix of ['-wal', '-shm']) await rm(`${file}${suffix}`, { force: true })
    writeFileSync(file, Buffer.alloc(40_000, 'x'))
    const second = await start(LARGE)
    await compare(second, await paths())
    await isLevel(second)
    await compare(second, await paths())
    expect(await metric(second, FOUND)).toBeGreaterThan(0)
  })
})
