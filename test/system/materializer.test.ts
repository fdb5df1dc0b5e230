import { rm } from 'node:fs/promises'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { LogShrank, PoisonEvent } from '../../pipelines/materialize/poison.js'
import { Database, DatabaseUnavailable, QueryRefused } from '../../pipelines/tables/clickhouse.js'
import { headsAfter, latestHead } from '../../pipelines/tables/head.js'
import {
  Alert_Kind,
  CommittedEventSchema,
  NodeEventSchema,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import { reorgOf } from '../../services/explorer/core/feed/feed-writer.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt } from '../../services/simnode/chain/sim-chain.js'
import { expectSameRows } from '../harness/clean-index.js'
import { Pipeline } from '../harness/pipeline.js'
import { quickFolder } from '../harness/quick-folder.js'
import { rowDifferences } from '../harness/row-differences.js'
import { restoreTables } from '../harness/template.js'
import { SwitchLog, valuesOf } from '../harness/switch-log.js'
import { until } from '../harness/until.js'

const logger = pino({ level: 'silent' })
const FINALITY = 10

/**
 * A log with a reorganisation and two epochs is recorded once; each test gives the materializer a damaged copy of it.
 */
describe('events of a log:', () => {
  let source: Pipeline
  let close: () => Promise<void>
  let events: Uint8Array[] = []
  let tip = ''
  const opened: (() => Promise<void>)[] = []

  beforeAll(async () => {
    const chain = buildChain({ seed: 'log', blocks: 60 })
    const owner = chain.keyring.ownerOf('p2wpkh').script
    const paid = chain.mine({ coinbaseOutputs: [{ value: 1_000_000n, script: owner }] })
    const from = [{ txid: chain.read(paid).txs[0]?.txid ?? '', vout: 0 }]
    chain.mine({ txs: [chain.pay({ from, to: [], change: owner, fee: 500n })] })
    for (let block = 0; block < 18; block++) chain.mine({})
    const node = await startSimnode({ chain })
    source = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
    })
    await source.level()
    const fork = forkAt(chain, 62)
    for (let block = 0; block < 25; block++) fork.mine({})
    fork.activate()
    source.restartPoller()
    await source.level()
    // A block is connected, another one replaces it, and one more follows before the next read.
    const again = forkAt(chain, chain.tip.height)
    chain.mine({})
    await source.poll()
    for (let block = 0; block < 2; block++) again.mine({})
    again.activate()
    await source.poll()
    chain.mine({})
    await source.level()
    events = (await source.log.read('chain', 0, 10_000)).map(({ value }) => value)
    tip = chain.tip.hash
    close = async () => {
      await source.close()
      await node.close()
    }
  })

  afterAll(() => close())

  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each()
  })

  async function logOf(values: readonly Uint8Array[]): Promise<EventLog> {
    const folder = await quickFolder('headwater-log-')
    const log = await openEmbeddedLog(folder)
    opened.push(async () => {
      await log.close()
      await rm(folder, { recursive: true, force: true })
    })
    if (values.length > 0) await log.append('chain', values)
    return log
  }

  async function database(): Promise<Database> {
    const name = `t_fold_${String(process.pid)}_${String(Date.now())}`
    const db = new Database({ url: inject('engineUrl'), database: name })
    opened.push(async () => {
      await db.command(`DROP DATABASE IF EXISTS ${name} SYNC`)
      await db.close()
    })
    await restoreTables(db)
    return db
  }

  async function apply(values: readonly Uint8Array[]): Promise<Database> {
    const db = await database()
    const materializer = new Materializer({ db, log: await logOf(values), logger, finalityDepth: FINALITY })
    while (await materializer.step());
    expect(materializer.damage).toBeUndefined()
    return db
  }

  async function damageIn(values: readonly Uint8Array[], db?: Database): Promise<Error | undefined> {
    const log = await logOf(values)
    const materializer = new Materializer({
      db: db ?? (await database()),
      log,
      logger,
      finalityDepth: FINALITY,
    })
    while (await materializer.step());
    return materializer.damage
  }

  it('duplicates, and late events of an older epoch, change nothing', async () => {
    const second = events.findIndex((_, index) => index > 0 && isEpoch(events, index))
    expect(second).toBeGreaterThan(0)
    const spoilt = events.flatMap((value) => [value, value])
    spoilt.push(...events.slice(second - 3, second))
    const db = await apply(spoilt)
    expect((await latestHead(db))?.tipHash).toBe(tip)
    await expectSameRows(db, source.db)
  })

  it('the same range repeated after all others changes nothing', async () => {
    const db = await apply([...events, ...events.slice(5, 30)])
    await expectSameRows(db, source.db)
  })

  it('the feed is the same if they are read a few at a time', async () => {
    const db = await database()
    const log = await logOf(events)
    const read = log.read.bind(log)
    vi.spyOn(log, 'read').mockImplementation((topic, from) => read(topic, from, 12))
    const materializer = new Materializer({ db, log, logger, finalityDepth: FINALITY })
    while (await materializer.step());
    const reported = async (from: Database): Promise<object> => {
      const heads = await headsAfter(from, -1)
      return {
        blocks: heads.flatMap((head) => head.connected.map((hash, at) => [head.blocksBefore + at, hash])),
        reorgs: heads.filter((head) => head.disconnected.length > 0).map(reorgOf),
      }
    }
    const expected = await apply(events)
    expect(await reported(db)).toEqual(await reported(expected))
    expect(await reported(db)).toMatchObject({ reorgs: [{ seq: 1 }, { seq: 2, data: { depth: 1 } }] })
    await expectSameRows(db, expected)
  })

  it('a missing one stops the materializer, which reports its position', async () => {
    const failure = await damageIn([...events.slice(0, 10), ...events.slice(11)])
    expect(failure).toBeInstanceOf(PoisonEvent)
    expect(failure).toMatchObject({ topic: 'chain', position: 10 })
    expect(String(failure)).toMatch(/connects 10 on [0-9a-f]{64}, the tip is 8 /)
  })

  it('bytes that are no event stop the materializer', async () => {
    const failure = await damageIn([...events.slice(0, 10), Buffer.from('ff00ff', 'hex')])
    expect(failure).toBeInstanceOf(PoisonEvent)
    expect(failure).toMatchObject({ position: 10 })
  })

  it('a query that the database refuses ends it, as any internal error does; a transient error is retried', async () => {
    const db = await database()
    const log = await logOf(events)
    const materializer = new Materializer({ db, log, logger, finalityDepth: FINALITY })
    while (await materializer.step());
    const refused = new QueryRefused('no such function')
    const passing = vi.spyOn(db, 'query')
    for (const error of [new DatabaseUnavailable('too many parts'), new DatabaseUnavailable('away'), refused])
      passing.mockRejectedValueOnce(error)
    const again = new Materializer({ db, log, logger, finalityDepth: FINALITY })
    await expect(again.run(new AbortController().signal)).rejects.toBe(refused)
    await again.alert(refused)
    const last = await log.read('committed', await log.last('committed'), 1)
    const { event } = fromBinary(CommittedEventSchema, last[0]?.value ?? Buffer.alloc(0))
    expect(event).toMatchObject({
      case: 'alert',
      value: { kind: Alert_Kind.DEFECT, reason: 'no such function' },
    })
  })

  it('damage is not repaired by a start after an error, and is reported again after the head', async () => {
    const db = await database()
    const log = await logOf([...events.slice(0, 10), Buffer.from('ff00ff', 'hex'), ...events.slice(10)])
    const materializer = new Materializer({ db, log, logger, finalityDepth: FINALITY })
    while (await materializer.step());
    const { damage } = materializer
    expect(damage).toBeInstanceOf(PoisonEvent)
    const before = await log.last('committed')
    vi.spyOn(db, 'query').mockRejectedValueOnce(new DatabaseUnavailable('away'))
    const stop = new AbortController()
    const running = materializer.run(stop.signal)
    await until('it is reported again', async () => {
      const kinds = (await log.read('committed', before + 1, 100)).map(
        ({ value }) => fromBinary(CommittedEventSchema, value).event.case,
      )
      return kinds.includes('alert') && kinds.lastIndexOf('alert') > kinds.lastIndexOf('head')
    })
    stop.abort()
    await running
    expect(await latestHead(db)).toMatchObject({ tipHeight: 8 })
    expect(materializer.damage).toMatchObject({ message: damage?.message })
    expect(materializer.counts.healed).toBe(0)
  })

  it('heartbeats are forwarded even if topic node was created again', async () => {
    const beat = (timeMs: bigint): Uint8Array => {
      const value = { timeMs, nodeHeight: 1, nodeHash: Buffer.alloc(32), pollIntervalMs: 1 }
      const event = { case: 'heartbeat' as const, value }
      return toBinary(NodeEventSchema, create(NodeEventSchema, { chainPosition: -1n, event }))
    }
    const hasPassed = async (timeMs: bigint): Promise<boolean> =>
      (await valuesOf(log, 'committed')).some((value) => {
        const { event } = fromBinary(CommittedEventSchema, value)
        return event.case === 'heartbeat' && event.value.heartbeat?.timeMs === timeMs
      })
    const log = new SwitchLog(await logOf(events))
    await log.append('node', [beat(1n), beat(2n), beat(3n)])
    const materializer = new Materializer({ db: await database(), log, logger, finalityDepth: FINALITY })
    const stop = new AbortController()
    const running = materializer.run(stop.signal)
    await until('the last one is passed on', () => hasPassed(3n))
    const again = await logOf(events)
    await again.append('node', [beat(4n)])
    log.log = again
    await until('that of the other topic is passed on', () => hasPassed(4n))
    stop.abort()
    await running
  })

  it('a log that lost its end is detected', async () => {
    const db = await apply(events)
    expect(await damageIn(events.slice(0, -3), db)).toBeInstanceOf(LogShrank)
  })

  it('rows of point tables that a power cut removed are written again, also those of replaced blocks', async () => {
    const db = await database()
    const log = await logOf(events)
    const first = new Materializer({ db, log, logger, finalityDepth: FINALITY })
    while (await first.step());
    const keysOf = async (table: string, key: string): Promise<string[]> => {
      const sql = `SELECT lower(hex(${key})) AS id FROM ${table} ORDER BY id`
      return (await db.query<{ id: string }>(sql)).map(({ id }) => id)
    }
    const replaced = `SELECT hash FROM blocks WHERE height BETWEEN 63 AND 80 AND hash NOT IN (
      SELECT arrayJoin(connected) FROM heads WHERE reorgs_before > 0 OR notEmpty(disconnected))`
    const heights = await keysOf('block_heights', 'hash')
    await db.command(`DELETE FROM block_heights WHERE hash IN (${replaced})`)
    expect(heights.length - (await keysOf('block_heights', 'hash')).length).toBe(18)
    await new Materializer({ db, log, logger, finalityDepth: FINALITY }).step()
    expect(await keysOf('block_heights', 'hash')).toEqual(heights)
    for (const [table, key] of [
      ['scripts', 'script_hash'],
      ['txs', 'txid'],
      ['block_heights', 'hash'],
    ] as const) {
      const keys = await keysOf(table, key)
      await db.command(`TRUNCATE TABLE ${table}`)
      const found = (await rowDifferences(db, source.db, 4)).filter(({ onlyOther }) => onlyOther > 0)
      expect(found.map((each) => each.table)).toContain(table)
      await new Materializer({ db, log, logger, finalityDepth: FINALITY }).step()
      expect(await keysOf(table, key)).toEqual(keys)
    }
    await expectSameRows(db, source.db)
  })

  it('repeated crashes between rows and head lead to the same rows as a clean index', async () => {
    const db = await database()
    const log = await logOf(events)
    let deaths = 0
    const hooks = {
      beforeHead: () => {
        if (deaths++ < 3) throw new Error('died')
      },
    }
    for (let life = 0; life < 4; life++) {
      const materializer = new Materializer({ db, log, logger, finalityDepth: FINALITY, hooks })
      try {
        while (await materializer.step());
      } catch (error) {
        expect(String(error)).toBe('Error: died')
      }
    }
    expect(deaths).toBeGreaterThan(3)
    await expectSameRows(db, source.db)
  })
})

/** The first event of an epoch contains no block: it is short. */
function isEpoch(events: readonly Uint8Array[], index: number): boolean {
  return (events[index]?.length ?? 0) < 80 && (events[index - 1]?.length ?? 0) > 80
}
