import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { WrongChainError } from '../../pipelines/errors.js'
import { decodeChainEvent, encodeChainEvent } from '../../pipelines/events/chain-event.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { Poller } from '../../pipelines/poll/poller.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { Pipeline } from '../harness/pipeline.js'
import { sampled } from '../harness/whole.js'
import { ROOT } from '../harness/processes.js'
import { grow } from '../pipelines/poll/fake-chain.js'
import { FakeNode } from '../pipelines/poll/fake-node.js'

const logger = pino({ level: 'silent' })

/** Runs a process with these settings until it exits. @returns its exit status and what it wrote to standard error. */
async function run(name: string, env: Readonly<Record<string, string>>): Promise<[number, string]> {
  const child = spawn(process.execPath, [join(ROOT, `dist/services/${name}/main.js`)], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => (text += part))
  const [status] = (await once(child, 'close')) as [number]
  return [status, text]
}

describe('node, log, tables and CHAIN of different chains', () => {
  let folder = ''
  let simnode: Simnode
  /** A node of the same network that has started over: it has another block 0. */
  let other: FakeNode
  let log: EventLog
  let otherLog: EventLog
  let indexed: Pipeline
  let env: Record<string, string> = {}
  let before: unknown

  const written = async (): Promise<unknown> => [
    await indexed.db.query('SELECT count() AS heads, (SELECT count() FROM writers) AS writers FROM heads'),
    await Promise.all(
      [log, otherLog].map(async (each) => [await each.last('chain'), await each.last('node')]),
    ),
  ]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-wrong-chain-'))
    log = await openEmbeddedLog(join(folder, 'log'))
    otherLog = await openEmbeddedLog(join(folder, 'other'))
    simnode = await startSimnode({ seed: 'wrong-chain', blocks: 20 })
    other = await FakeNode.start(grow([], 30))
    indexed = await Pipeline.start({ nodeUrl: simnode.url, engineUrl: inject('engineUrl'), log })
    await indexed.level()
    const client = new NodeClient(other.url)
    const chain = 'btq-regtest'
    await new Poller({
      node: client,
      log: otherLog,
      chain,
      logger,
      pollIntervalMs: 1000,
      inFlight: 4,
    }).pollOnce()
    client.close()
    env = {
      DATA_DIR: folder,
      CLICKHOUSE_URL: inject('engineUrl'),
      CLICKHOUSE_DATABASE: indexed.name,
      LOG_URL: `sqlite://${join(folder, 'log')}`,
      NODE_RPC_URL: simnode.url,
      ...Object.fromEntries(
        ['EXPLORER', 'EXPLORER_GRPC', 'POLLER_METRICS', 'MATERIALIZER_METRICS'].map((port) => [
          `${port}_PORT`,
          '0',
        ]),
      ),
    }
    before = await written()
  })

  afterAll(async () => {
    await indexed.close()
    await Promise.all([log.close(), otherLog.close(), simnode.close(), other.close()])
    await rm(folder, { recursive: true, force: true })
  })

  afterEach(async () => {
    expect(await written()).toEqual(before)
  })

  // The commands do not differ in how they compare: CI starts some of them.
  it.each(
    sampled(
      [
        [
          'poller',
          1,
          /the node at \S+ \(.*\) follows chain btq-regtest \(block 0 5a6c309a[0-9a-f]+\), not bitcoin-regtest/,
        ],
        ['materializer', 1, /the log contains btq-regtest .* CHAIN is bitcoin-regtest: correct CHAIN/],
        ['explorer', 1, /the log contains btq-regtest .* CHAIN is bitcoin-regtest: correct CHAIN/],
        ['audit', 2, /the log contains btq-regtest .* CHAIN is bitcoin-regtest: correct CHAIN/],
        ['replay', 1, /the log contains btq-regtest .* CHAIN is bitcoin-regtest: correct CHAIN/],
        ['reindex', 1, /the log contains btq-regtest .* CHAIN is bitcoin-regtest: correct CHAIN/],
      ],
      2,
    ),
  )('%s refuses a CHAIN that is not that of log and node', async (name, status, message) => {
    const [code, text] = await run(name, { ...env, CHAIN: 'bitcoin-regtest' })
    expect(text).toMatch(new RegExp(`^${name}: HW_WRONG_CHAIN: ${message.source}[^\n]*\n$`))
    expect(code).toBe(status)
  })

  it.each(
    sampled(
      [
        ['materializer', 1],
        ['explorer', 1],
        ['audit', 2],
        ['replay', 1],
        ['reindex', 1],
      ],
      3,
    ),
  )('%s refuses a log of another chain than its database', async (name, status) => {
    const [code, text] = await run(name, { ...env, LOG_URL: `sqlite://${join(folder, 'other')}` })
    expect(text).toMatch(
      new RegExp(
        `^${name}: HW_WRONG_CHAIN: the log contains btq-regtest .*, database ${indexed.name} btq-regtest .*\n$`,
      ),
    )
    expect(code).toBe(status)
  })

  it.each([
    ['poller', 1, /the log contains chain btq-regtest \(block 0 5a6c309a.*the node follows btq-regtest/],
    ['audit', 2, /database t_\w+ contains btq-regtest \(block 0 5a6c309a.*the node at \S+ btq-regtest/],
  ])('%s refuses a node of another chain', async (name, status, message) => {
    const [code, text] = await run(name, { ...env, NODE_RPC_URL: other.url, CHAIN: 'btq-regtest' })
    expect(text).toMatch(new RegExp(`^${name}: HW_WRONG_CHAIN: ${message.source}[^\n]*\n$`))
    expect(code).toBe(status)
  })

  it('npm start ends with the error of the poller if the chain of the node is not known, and starts with the right node then', async () => {
    const fresh = join(folder, 'fresh')
    const settings = {
      ...env,
      DATA_DIR: fresh,
      LOG_URL: '',
      CLICKHOUSE_URL: '',
      CLICKHOUSE_DATABASE: 'headwater',
    }
    const ports = { DOCS_PORT: '0', RETRIEVAL_GRPC_PORT: '0' }
    const [code, text] = await run('start', { ...settings, ...ports, NODE_RPC_URL: other.url })
    expect(text).toMatch(
      /^poller: HW_WRONG_CHAIN: the node at \S+ \(\/Satoshi:280100\/\) follows a chain that is not known: it calls it regtest, its block 0 is [0-9a-f]{64}\. Known chains: btq-main, .*set CHAIN to its name$/m,
    )
    expect(text.match(/HW_WRONG_CHAIN/g)).toHaveLength(1)
    expect(code).toBe(1)
    const own = await openEmbeddedLog(join(fresh, 'log'))
    const node = new NodeClient(simnode.url)
    try {
      expect(await own.last('chain')).toBe(-1)
      await new Poller({ node, log: own, logger, pollIntervalMs: 1000, inFlight: 4 }).pollOnce()
      expect(await own.last('chain')).toBeGreaterThan(20)
    } finally {
      node.close()
      await own.close()
    }
  })

  it('a materializer whose log was empty at its start refuses the chain that arrives in it', async () => {
    const empty = await openEmbeddedLog(join(folder, 'empty'))
    const materializer = new Materializer({ db: indexed.db, log: empty, logger, finalityDepth: 10 })
    try {
      await materializer.step()
      const records = await otherLog.read('chain', 0, 5)
      await empty.append(
        'chain',
        records.map(({ value }) => value),
      )
      await expect(materializer.step()).rejects.toThrow(WrongChainError)
    } finally {
      await materializer.close()
      await empty.close()
      // It has claimed to write: the log might have been the right one.
      before = await written()
    }
  })
})

describe('a log and a database of the version that named networks as their node does', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-first-names-'))
  })
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  it('continue', async () => {
    const node = await startSimnode({ seed: 'first-names', blocks: 20 })
    const [source, log] = [
      await openEmbeddedLog(join(folder, 'source')),
      await openEmbeddedLog(join(folder, 'log')),
    ]
    const client = new NodeClient(node.url)
    const options = { node: client, logger, pollIntervalMs: 1000, inFlight: 4 }
    await new Poller({ ...options, log: source }).pollOnce()
    const records = await source.read('chain', 0, 100)
    const renamed = records.map(({ value }) => {
      const event = decodeChainEvent(value)
      if (event.event.case === 'epochStarted') event.event.value.chain = 'regtest'
      return encodeChainEvent(event)
    })
    await log.append('chain', renamed)
    const pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), log })
    try {
      await pipeline.materialize()
      await pipeline.db.command(
        "ALTER TABLE heads UPDATE chain = 'regtest' WHERE 1 SETTINGS mutations_sync = 2",
      )
      pipeline.restartMaterializer()
      node.simulation.mine({})
      await pipeline.level()
      expect(await latestHead(pipeline.db)).toMatchObject({ chain: 'btq-regtest', tipHeight: 21 })
    } finally {
      await pipeline.close()
      client.close()
      await Promise.all([source.close(), log.close(), node.close()])
    }
  })
})
