import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { REGTEST } from '../../pipelines/chain/networks.js'
import { addressOf } from '../../pipelines/chain/address.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import { expectSameRows } from '../harness/clean-index.js'
import { Pipeline } from '../harness/pipeline.js'
import { quickFolder } from '../harness/quick-folder.js'
import { restoreTables } from '../harness/template.js'
import { until } from '../harness/until.js'

const engineUrl = inject('engineUrl')
const logger = pino({ level: 'silent' })
const finalityDepth = 3
const BLOCKS = 30

/** A gate that blocks its callers from `close` to `open`. */
class Gate {
  #opened: Promise<void> | undefined
  #open: () => void = () => undefined
  /** The number of blocked callers. */
  waiting = 0

  get isOpen(): boolean {
    return this.#opened === undefined
  }

  close(): void {
    this.#opened = new Promise((resolve) => (this.#open = resolve))
  }

  open(): void {
    this.#opened = undefined
    this.#open()
  }

  async pass(): Promise<void> {
    if (this.#opened === undefined) return
    this.waiting++
    await this.#opened
    this.waiting--
  }
}

/** A log that returns nothing new while the gate is closed. */
function frozenLog(log: EventLog, gate: Gate): EventLog {
  return {
    append: (topic, values) => log.append(topic, values),
    read: (topic, ...range) => (gate.isOpen ? log.read(topic, ...range) : Promise.resolve([])),
    wait: (topic, position, ...rest) =>
      log.wait(topic, gate.isOpen ? position : Number.MAX_SAFE_INTEGER, ...rest),
    last: (topic) => log.last(topic),
    first: (topic) => log.first(topic),
    drop: (...before) => log.drop(...before),
    committed: (...of) => log.committed(...of),
    commit: (...of) => log.commit(...of),
    lead: (...as) => log.lead(...as),
    close: () => log.close(),
  }
}

/** A database that delays the results of certain queries while the gate is closed. */
class SlowDatabase extends Database {
  readonly gate = new Gate()
  slow: RegExp | undefined

  override async query<T>(...requested: Parameters<Database['query']>): Promise<T[]> {
    const rows = await super.query<T>(...requested)
    if (this.slow?.test(requested[0]) === true) await this.gate.pass()
    return rows
  }

  override async bytes(...requested: Parameters<Database['bytes']>): Promise<Buffer> {
    const rows = await super.bytes(...requested)
    if (this.slow?.test(requested[0]) === true) await this.gate.pass()
    return rows
  }
}

describe('reorganisation below the final height', () => {
  const frozen = new Gate()
  const beforeHead = new Gate()
  let folder: string
  let log: EventLog
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline
  let explorerDb: SlowDatabase
  let materializer: Materializer
  let paths: string[]

  beforeEach(async () => {
    folder = await quickFolder('headwater-')
    log = await openEmbeddedLog(join(folder, 'log'))
    chain = buildChain({ seed: 'final', blocks: 5 })
    const owner = chain.keyring.ownerOf('p2wpkh').script
    while (chain.tip.height < BLOCKS) chain.mine({ payTo: owner })
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl,
      finalityDepth,
      log,
      prepare: (db) => {
        explorerDb = new SlowDatabase({ url: engineUrl, database: db.name })
        return restoreTables(db)
      },
      explorer: {
        log: frozenLog(log, frozen),
        get db() {
          return explorerDb
        },
        auditEveryMs: 0,
      },
    })
    const hooks = { beforeHead: () => beforeHead.pass() }
    materializer = new Materializer({ db: pipeline.db, log, logger, finalityDepth, hooks })
    await pipeline.poll()
    while (await materializer.step());
    await shows(chain.tip.hash)
    const address = addressOf(owner, REGTEST) ?? ''
    const block = chain.at(BLOCKS - 8)
    if (block === undefined) throw new Error('no such block')
    const txid = chain.read(block).txs[0]?.txid ?? ''
    paths = [
      `/address/${address}`,
      `/address/${address}/txs?limit=100`,
      `/address/${address}/txs?limit=7&page=2&sort=asc`,
      `/address/${address}/utxos`,
      `/address/${address}/balance-history`,
      `/tx/${txid}`,
      `/block/${String(block.height)}`,
      `/block/${String(block.height)}/txs`,
      '/blocks?limit=100',
      `/search?q=${String(block.height)}`,
      '/stats/richlist',
      '/stats/daily',
      '/mining/difficulty',
      '/txs/recent?limit=20',
    ]
  })

  afterEach(async () => {
    for (const gate of [frozen, beforeHead]) gate.open()
    explorerDb.gate.open()
    await pipeline.close()
    await explorerDb.close()
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  const shows = (hash: string): Promise<unknown> =>
    until(`the explorer shows ${hash}`, async () => (await pipeline.get('/blocks/tip')).tip === hash)

  /** Replaces the blocks from a height on by others that pay the same address, and one more. */
  function reorg(from: number): void {
    const fork = forkAt(chain, from - 1)
    const owner = chain.keyring.ownerOf('p2wpkh').script
    for (let height = from; height <= chain.tip.height + 1; height++)
      fork.mine({ payTo: owner, tag: `/instead ${String(chain.tip.height)}/` })
    fork.activate()
  }

  /** The answer of an explorer of a clean index of the node's chain. */
  async function cleanAnswers(): Promise<Map<string, unknown>> {
    const clean = await Pipeline.start({ nodeUrl: node.url, engineUrl, finalityDepth })
    try {
      await clean.level({ tip: chain.tip.hash })
      await expectSameRows(pipeline.db, clean.db)
      return await answersOf(clean)
    } finally {
      await clean.close()
    }
  }

  /** Body and status of each path, for the state of a tip. Missing objects are 404, however far the index is behind. */
  async function answersOf(of: Pipeline, tip = chain.tip.hash): Promise<Map<string, unknown>> {
    const answers = new Map<string, unknown>()
    for (const path of paths) {
      const { status, body, tip: shown } = await of.get(path)
      expect({ path, shown }).toEqual({ path, shown: tip })
      const isUnknown = status === 404 || (body as { error?: string }).error === 'Index is syncing'
      answers.set(path, isUnknown ? 'not there' : { status, body: body as unknown })
    }
    return answers
  }

  it('is not mixed into the answers of an explorer that is cut off from the log, nor into its cache', async () => {
    const before = await cleanAnswers()
    const old = chain.tip.hash
    frozen.close()
    reorg(BLOCKS - 12)
    await pipeline.poll()
    beforeHead.close()
    const step = materializer.step()
    await until('its rows are there and their head is not', () => beforeHead.waiting === 1)
    expect(await answersOf(pipeline, old)).toEqual(before)
    expect(await answersOf(pipeline, old)).toEqual(before)
    beforeHead.open()
    await step
    expect(await answersOf(pipeline, old)).toEqual(before)
    frozen.open()
    await shows(chain.tip.hash)
    expect(await answersOf(pipeline)).toEqual(await cleanAnswers())
  })

  it('is not mixed in if the node first only went back, below the final height', async () => {
    frozen.close()
    chain.setTip(chain.at(BLOCKS - 12)?.hash ?? '')
    const shorter = chain.tip.hash
    await pipeline.poll()
    await materializer.step()
    const before = await cleanAnswers()
    for (let block = 0; block < 8; block++) chain.mine({ tag: '/another/' })
    await pipeline.poll()
    beforeHead.close()
    const step = materializer.step()
    await until('its rows are there and their head is not', () => beforeHead.waiting === 1)
    // It did not read this in the log, but in the tables when it found that its state was invalid, after rows were selected in SQL.
    await pipeline.get('/txs/recent')
    expect(await answersOf(pipeline, shorter)).toEqual(before)
    beforeHead.open()
    await step
  })

  it.each([
    ['whose rows it selects itself', '/utxos', /FROM script_outputs/],
    ['whose rows the server selects', '/balance-history', /roundDown/],
  ])('is not mixed into a pending answer %s, nor into the cache', async (_, end, slow) => {
    const path = paths.find((each) => each.endsWith(end)) ?? ''
    const requested = async () => {
      const { status, body, tip } = await pipeline.get(path)
      return { status, body: body as unknown, tip }
    }
    // Again from a lower block, for which the answer's own deadline had passed before the rows arrived.
    for (let from = BLOCKS - 8; from > 5; from -= 4) {
      const before = { ...((await cleanAnswers()).get(path) as object), tip: chain.tip.hash }
      explorerDb.slow = slow
      explorerDb.gate.close()
      const underWay = requested()
      await until('it has read something', () => explorerDb.gate.waiting === 1)
      reorg(from)
      await pipeline.poll()
      beforeHead.close()
      const step = materializer.step()
      await until('the rows are there and their head is not', () => beforeHead.waiting === 1)
      explorerDb.gate.open()
      const answer = await underWay
      if (answer.status !== 503) expect(answer).toEqual(before)
      expect(await requested()).toEqual(before)
      beforeHead.open()
      await step
      await shows(chain.tip.hash)
      const after = (await cleanAnswers()).get(path)
      expect(await requested()).toEqual({ ...(after as object), tip: chain.tip.hash })
      if (answer.status !== 503) return
    }
    throw new Error('no answer was made in time')
  })
})
