import { fromBinary } from '@bufbuild/protobuf'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { decodeChainEvent, encodeChainEvent } from '../../pipelines/events/chain-event.js'
import { openLog } from '../../pipelines/log/open.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { WrongChainError } from '../../pipelines/errors.js'
import { PrunedNodeError } from '../../pipelines/poll/errors.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { Successor } from '../../pipelines/materialize/rebuild/successor.js'
import { Poller } from '../../pipelines/poll/poller.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { headsAfter, latestHead } from '../../pipelines/tables/head.js'
import { type ChainEvent, CommittedEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import { expectSameRows } from '../harness/clean-index.js'
import { dropDatabase, newDatabase } from '../harness/engine.js'
import { KafkaCluster } from '../harness/kafka.js'
import { Pipeline } from '../harness/pipeline.js'
import { quickFolder } from '../harness/quick-folder.js'
import { copyLog, SwitchLog, valuesOf, WithoutBeginning } from '../harness/switch-log.js'
import { until } from '../harness/until.js'
import { WITHOUT_KAFKA } from '../harness/without-kafka.js'

const FINALITY = 10
const BLOCKS = 40
/**
 * In CI, a damage of each kind is healed once, on the embedded log: a test of the Kafka log shows that it behaves alike. Some are
 * healed for an index that is up to date, the others for one that is far behind, and a gap by the tests of a node of another chain
 * and of two damages. `check:long` has all cases on both logs.
 */
const EVERY_CASE = process.env['SELF_HEALING_EVERY_CASE'] !== undefined
const UP_TO_DATE = ['block of a foreign chain', 'log shorter than the head']
const FAR_BEHIND = ['flipped bit']
const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' })

type Damage = (events: readonly Uint8Array[]) => Uint8Array[]

/** The damage that a test does to topic `chain`; positions are in the middle of the second epoch. */
const DAMAGES: Readonly<Record<string, Damage>> = {
  gap: (events) => events.toSpliced(27, 2),
  'duplicated record': (events) => events.toSpliced(28, 0, renumbered(events[27])),
  'swapped records': (events) => events.toSpliced(27, 2, at(events, 28), at(events, 27)),
  'truncated record': (events) => events.with(27, at(events, 27).slice(0, -20)),
  'flipped bit': (events) => events.with(27, flipped(at(events, 27))),
  'block of a foreign chain': (events) => events.toSpliced(28, 0, foreignBlock(events[27])),
  'missing epoch': (events) => events.slice(1),
  'log shorter than the head': (events) => events.slice(0, 25),
  'empty log': () => [],
}

const at = (events: readonly Uint8Array[], index: number): Uint8Array => events[index] ?? new Uint8Array()

/** Once more, as a poller would number it that does not know that it has written it. */
function renumbered(value: Uint8Array | undefined): Uint8Array {
  const { $typeName: _, checksum: __, ...event } = decodeChainEvent(value ?? new Uint8Array())
  return encodeChainEvent({ ...event, sequence: event.sequence + 1n })
}

function flipped(value: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(value)
  // In the data that the last input spends: no hash of the block covers it.
  const index = copy.length - 12
  copy[index] = (copy[index] ?? 0) ^ 4
  return copy
}

function foreignBlock(before: Uint8Array | undefined): Uint8Array {
  const own = decodeChainEvent(before ?? new Uint8Array())
  const chain = buildChain({ seed: 'foreign', blocks: 30 })
  const foreign = blockEvent(chain, heightOf(own) + 1)
  return encodeChainEvent({ epoch: own.epoch, sequence: own.sequence + 1n, settled: true, event: foreign })
}

/** A header alone: the contents of the block do not matter if its parent is foreign. */
function blockEvent(
  chain: SimChain,
  height: number,
): Extract<ChainEvent['event'], { case: 'blockConnected' }> {
  const [hash, prevHash] = [chain.at(height)?.hash ?? '', chain.at(height - 1)?.hash ?? '']
  const value = {
    $typeName: 'headwater.events.v1.BlockConnected' as const,
    height,
    hash: Buffer.from(hash, 'hex'),
    prevHash: Buffer.from(prevHash, 'hex'),
    medianTime: 1,
    chainwork: Buffer.alloc(32, 1),
    raw: Buffer.alloc(80),
    prevouts: [],
  }
  return { case: 'blockConnected', value }
}

function heightOf({ event }: ChainEvent): number {
  if (event.case === 'blockConnected') return event.value.height
  throw new Error('no block is connected there')
}

const adapters = [
  { name: 'the embedded log', skip: false },
  ...(EVERY_CASE ? [{ name: 'Kafka', skip: WITHOUT_KAFKA !== undefined }] : []),
]

describe.each(adapters)('a damaged log heals itself, on $name', ({ name, skip }) => {
  if (skip) {
    it.skip(`needs Kafka: ${WITHOUT_KAFKA ?? ''}`, () => undefined)
    return
  }
  let chain: SimChain
  let node: Simnode
  let clean: Pipeline
  let cluster: KafkaCluster | undefined
  let events: Uint8Array[] = []
  const opened: (() => Promise<void>)[] = []
  let kept: (() => Promise<void>)[] = []

  beforeAll(async () => {
    if (name === 'Kafka') cluster = await KafkaCluster.start(1)
    chain = buildChain({ seed: 'healing', blocks: 20 })
    node = await startSimnode({ chain, txsPerBlock: 3 })
    clean = await pipeline(await newLog(), [])
    await clean.level()
    clean.restartPoller()
    mine(BLOCKS - 20)
    await clean.level()
    events = await valuesOf(clean.log, 'chain')
    kept = opened.splice(0)
  })
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each()
  })
  afterAll(async () => {
    for (const each of kept.reverse()) await each()
    await node.close()
    await cluster?.stop()
  })

  function mine(blocks: number): void {
    for (let block = 0; block < blocks; block++) node.simulation.mine({})
  }

  async function newLog(): Promise<EventLog> {
    const dataDir = await quickFolder('headwater-healing-')
    const url = cluster?.logUrl(`h${randomBytes(6).toString('hex')}`)
    const log = await openLog({ url, dataDir, logger, ssl: false, sasl: undefined })
    opened.push(async () => {
      await log.close()
      await rm(dataDir, { recursive: true, force: true })
    })
    return log
  }

  async function pipeline(log: EventLog, close = opened): Promise<Pipeline> {
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: FINALITY, log }
    const made = await Pipeline.start({ ...options, explorer: { auditEveryMs: 0 } })
    close.push(() => made.close())
    return made
  }

  /** A log with the given events, beside the other topics of a pipeline. */
  async function logOf(values: readonly Uint8Array[], others?: EventLog): Promise<EventLog> {
    const log = await newLog()
    await copyLog(others ?? clean.log, log, values, others === undefined ? ['node'] : ['node', 'committed'])
    return log
  }

  /** An index that is up to date with the node, whose log is then replaced by another one. */
  async function level(): Promise<{ healing: Pipeline; log: SwitchLog; own: Uint8Array[] }> {
    const log = new SwitchLog(await logOf(events))
    const healing = await pipeline(log)
    await heal(healing)
    return { healing, log, own: await valuesOf(log, 'chain') }
  }

  /** Polls and materializes in turn, as the two processes do, until the index is where the node is. */
  async function heal(healing: Pipeline, tip = node.chain.tip.hash): Promise<void> {
    await until('the index is where the node is', async () => {
      await healing.materialize()
      await healing.poll().catch((error: unknown) => {
        if (error instanceof WrongChainError || error instanceof PrunedNodeError) throw error
      })
      await healing.materialize()
      return healing.fold.damage === undefined && (await latestHead(healing.db))?.tipHash === tip
    })
  }

  /** Compares the rows, the answers of the API, and the numbers of the feed. */
  async function expectClean(healed: Pipeline): Promise<void> {
    await clean.level()
    await expectSameRows(healed.db, clean.db)
    const tip = node.chain.tip.hash
    await until('the explorer shows it', async () => (await healed.get('/blocks/tip')).tip === tip)
    for (const path of [
      '/blocks',
      '/block/27',
      '/block/28/txs',
      '/stats/supply',
      '/stats/richlist',
      '/op-returns',
    ])
      expect((await healed.get(path)).body, path).toEqual((await clean.get(path)).body)
    const health = await healed.health()
    expect(health.body.indexerError).toBeUndefined()
    let [blocks, position] = [0, -2]
    for (const head of await headsAfter(healed.db, -2)) {
      expect(head.blocksBefore).toBe(blocks)
      // A head at the position of the one before shows the same state: with the node's height reached, or a lower
      // final height.
      const isSame = head.connected.length + head.disconnected.length === 0 && head.position === position
      expect(head.position > position || isSame).toBe(true)
      blocks += head.connected.length
      position = head.position
    }
  }

  /** Compares with another index of the same log, from its beginning. */
  async function replayed(log: EventLog): Promise<Database> {
    const db = await newDatabase()
    opened.push(() => dropDatabase(db))
    const materializer = new Materializer({ db, log, logger, finalityDepth: FINALITY })
    while (await materializer.step());
    expect(materializer.damage).toBeUndefined()
    return db
  }

  const damages = Object.entries(DAMAGES).filter(
    ([kind]) => EVERY_CASE || UP_TO_DATE.includes(kind) || FAR_BEHIND.includes(kind),
  )

  describe.each(damages)('%s', (kind, damage) => {
    it.runIf(EVERY_CASE || FAR_BEHIND.includes(kind))('is healed if the index is far behind', async () => {
      const healing = await pipeline(await logOf(damage(events)))
      await heal(healing)
      await expectClean(healing)
      await expectSameRows(await replayed(healing.log), clean.db)
    })

    it.runIf(EVERY_CASE || UP_TO_DATE.includes(kind))('is healed if the index is up to date', async () => {
      const { healing, log, own } = await level()
      const last = (await latestHead(healing.db))?.position ?? -1
      log.log = await logOf(damage(own), kind === 'empty log' ? await newLog() : log.log)
      healing.restartPoller()
      healing.restartMaterializer()
      mine(2)
      await heal(healing)
      const head = await latestHead(healing.db)
      expect(head?.reorgsBefore).toBe(0)
      expect(head?.position).toBeGreaterThan(last)
      await expectClean(healing)
      // The log is complete again: another index can be made from it.
      const other = await pipeline(log)
      await heal(other)
      await expectSameRows(other.db, clean.db)
    })
  })

  it('a log that is lost under running processes is healed', async () => {
    const { healing, log } = await level()
    log.log = await newLog()
    mine(1)
    // The materializer checks whether the log has become shorter while it has nothing to do.
    const stop = new AbortController()
    const running = healing.fold.run(stop.signal)
    await until('the index is where the node is', async () => {
      // The first poll finds the log shorter than it left it.
      await healing.poll().catch(() => undefined)
      return (await latestHead(healing.db))?.tipHash === node.chain.tip.hash
    })
    await until('a heartbeat of the new log is applied', async () => {
      await healing.poll()
      const values = await valuesOf(log, 'committed')
      return values.some((value) => fromBinary(CommittedEventSchema, value).event.case === 'heartbeat')
    })
    stop.abort()
    await running
    await expectClean(healing)
  })

  it('retention that dropped the beginning is healed, for an old index and a new one', async () => {
    const { healing, log, own } = await level()
    log.log = new WithoutBeginning(log.log, own.length - 5)
    healing.restartPoller()
    healing.restartMaterializer()
    mine(1)
    await heal(healing)
    const other = await pipeline(log)
    await heal(other)
    await clean.level()
    await expectSameRows(other.db, clean.db)
    mine(1)
    await heal(healing)
    await expectClean(healing)
    // The new index's request for the whole chain does not affect what the old one publishes.
    const left = (await headsAfter(healing.db, -2)).flatMap(({ disconnected }) => disconnected)
    expect(left).toEqual([])
  })

  it.runIf(EVERY_CASE)(
    'retention that dropped disconnected blocks needs no repair if no row is missing',
    async () => {
      const { healing, log, own } = await level()
      const fork = forkAt(node.chain, node.chain.tip.height - 8)
      for (let block = 0; block < 9; block++) fork.mine({})
      fork.activate()
      await healing.poll()
      log.log = new WithoutBeginning(log.log, own.length - 3)
      healing.restartMaterializer()
      await heal(healing)
      expect(healing.fold.counts.healed).toBe(0)
      await expectClean(healing)
    },
  )

  it('two damages, and a poller and a materializer that are killed at every step, are healed', async () => {
    const twice = events.toSpliced(35, 1, Buffer.from('ff00ff', 'hex')).toSpliced(15, 1)
    const healing = await pipeline(await logOf(twice))
    for (let round = 0; round < 12; round++) {
      await healing.fold.step()
      if (round % 3 === 0) healing.restartMaterializer()
      if (round % 2 === 1) await healing.poll().catch(() => undefined)
      // Between the report and the new epoch, and behind it.
      healing.restartPoller()
      if (round === 5) await healing.log.append('chain', [Buffer.from('ff00ff', 'hex')])
    }
    await heal(healing)
    await expectClean(healing)
    await expectSameRows(await replayed(healing.log), clean.db)
  })

  it('damage within a reorganisation is healed, and no part of it is published alone', async () => {
    const { healing, log } = await level()
    const fork = forkAt(node.chain, node.chain.tip.height - 4)
    for (let block = 0; block < 7; block++) fork.mine({})
    fork.activate()
    await healing.poll()
    const own = await valuesOf(log, 'chain')
    // Between the disconnected blocks and the first state with more work.
    log.log = await logOf(own.toSpliced(-3, 1), log.log)
    healing.restartPoller()
    await heal(healing)
    expect(await headsAfter(healing.db, -2)).toContainEqual(
      expect.objectContaining({ disconnected: expect.objectContaining({ length: 4 }) }),
    )
    await expectClean(healing)
    await expectSameRows(await replayed(healing.log), clean.db)
  })

  it.runIf(EVERY_CASE)('replay --into from a healed log builds the same', async () => {
    const healing = await pipeline(await logOf(events.toSpliced(27, 2)))
    await heal(healing)
    const db = await newDatabase()
    opened.push(() => dropDatabase(db))
    const successor = new Successor({
      db,
      old: healing.db,
      log: healing.log,
      logger,
      progress: () => undefined,
    })
    await successor.run()
    await clean.level()
    await expectSameRows(db, clean.db)
  })

  it('a node of another chain stops the repair with an error, and changes nothing', async () => {
    const own = events.toSpliced(27, 2)
    const other = await startSimnode({ chain: buildChain({ seed: 'other', blocks: 60 }), txsPerBlock: 1 })
    opened.push(() => other.close())
    const log = await logOf(own)
    const healing = await pipeline(log)
    await healing.materialize()
    const shown = await latestHead(healing.db)
    const poller = new Poller({
      node: new NodeClient(other.url, { timeoutMs: 10_000 }),
      log,
      logger,
      pollIntervalMs: 1000,
      inFlight: 4,
    })
    const failure = poller.run(new AbortController().signal)
    await expect(failure).rejects.toThrow(
      /^the index holds final block \d+ [0-9a-f]{64}, the node at \S+ has [0-9a-f]{64} there: .*set NODE_RPC_URL/,
    )
    expect(await log.last('chain')).toBe(own.length - 1)
    await until('health says which does not belong here', async () => {
      await healing.materialize()
      const { indexerError = '', indexerHealing } = (await healing.health()).body
      return (
        indexerHealing === undefined &&
        /the log is damaged: .* not repaired: the index holds final/.test(indexerError)
      )
    })
    expect(await latestHead(healing.db)).toEqual(shown)
    // The right node heals it.
    healing.restartPoller()
    await heal(healing)
    await expectClean(healing)
  })

  it('a node that has pruned the needed blocks stops the repair with an error; dead-letters continues without the event', async () => {
    const damaged = events.toSpliced(28, 0, Buffer.from('ff00ff', 'hex'))
    const log = await logOf(damaged)
    const healing = await pipeline(log)
    await healing.materialize()
    const pruned = new NodeClient(node.url, { timeoutMs: 10_000 })
    const info = pruned.chainInfo.bind(pruned)
    pruned.chainInfo = async (signal) => ({ ...(await info(signal)), pruneheight: 35 })
    const poller = new Poller({ node: pruned, log, logger, pollIntervalMs: 1000, inFlight: 4 })
    await expect(poller.run(new AbortController().signal)).rejects.toThrow(
      /^the node at \S+ has pruned block 26, which the log needs, and has blocks from 35 on: set NODE_RPC_URL to a node that keeps all blocks/,
    )
    expect(await log.last('chain')).toBe(damaged.length - 1)
    await until('the materializer says so', async () => {
      await healing.materialize()
      return /not repaired: the node at \S+ has pruned block 26/.test(
        (await healing.health()).body.indexerError ?? '',
      )
    })
    const { db } = healing
    const passing = new Materializer({ db, log, logger, finalityDepth: FINALITY, deadLetterPoison: true })
    await passing.step()
    while (passing.damage === undefined) await passing.step()
    // Reported again, refused again: then it is dead-lettered.
    await expect(poller.run(new AbortController().signal)).rejects.toThrow(PrunedNodeError)
    await until('the event is a dead letter', async () => {
      await passing.step()
      return (await log.last('dead-letters')) === 0
    })
    while (await passing.step());
    expect(passing.damage).toBeUndefined()
    healing.restartMaterializer()
    healing.restartPoller()
    await heal(healing)
    await expectClean(healing)
  })
})
