import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, toBinary } from '@bufbuild/protobuf'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { Materializer } from '../../../pipelines/materialize/materializer.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import { Poller } from '../../../pipelines/poll/poller.js'
import { Database } from '../../../pipelines/tables/clickhouse.js'
import { postponeMerges, resumeMerges } from '../../../pipelines/tables/merges.js'
import { NodeEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { buildChain } from '../../../services/simnode/chain/sim-chain.js'
import { startSimnode } from '../../../services/simnode/node.js'
import { useDatabase } from '../../harness/engine.js'

const logger = pino({ level: 'silent' })
const BLOCKS = 30

describe('merges', () => {
  const db = useDatabase()
  let folder: string
  let log: EventLog
  let materializer: Materializer
  let usual: string[] = []

  const settings = async (): Promise<string[]> => {
    const sql = `SELECT name, engine_full FROM system.tables
      WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY name`
    const tables = await db().query<{ name: string; engine_full: string }>(sql)
    return tables.map((table) => `${table.name} ${table.engine_full}`)
  }
  const nodeIsAt = async (nodeHeight: number): Promise<void> => {
    const value = { timeMs: BigInt(Date.now()), nodeHeight, pollIntervalMs: 1000 }
    const event = create(NodeEventSchema, { event: { case: 'heartbeat', value } })
    await log.append('node', [toBinary(NodeEventSchema, event)])
  }
  const start = async (): Promise<void> => {
    await materializer?.close()
    materializer = new Materializer({ db: db(), log, logger, finalityDepth: 10 })
    while (await materializer.step());
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = await openEmbeddedLog(folder)
    const node = await startSimnode({ chain: buildChain({ seed: 'merges', blocks: BLOCKS }) })
    const client = new NodeClient(node.url)
    await new Poller({ node: client, log, logger, pollIntervalMs: 1000, inFlight: 4 }).pollOnce()
    client.close()
    await node.close()
    usual = await settings()
  })
  afterAll(async () => {
    await materializer.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('are postponed and resumed in every table, any number of times', async () => {
    expect(usual.length).toBeGreaterThan(10)
    await resumeMerges(db())
    expect(await settings()).toEqual(usual)
    for (let time = 1; time <= 2; time++) {
      await postponeMerges(db())
      for (const table of await settings()) expect(table).toContain('min_parts_to_merge_at_once = 32')
    }
    for (let time = 1; time <= 2; time++) {
      await resumeMerges(db())
      expect(await settings()).toEqual(usual)
    }
  })

  it('are left alone by a server that does not have the database yet', async () => {
    const absent = new Database({ url: inject('engineUrl'), database: `${db().name}_absent` })
    await postponeMerges(absent)
    await resumeMerges(absent)
    await absent.close()
  })

  it('are postponed while a new index is far behind the node, whichever process fills it, until it reaches the node', async () => {
    await nodeIsAt(BLOCKS + 5000)
    await start()
    expect(materializer.head).toMatchObject({ reached: false })
    expect((await settings())[0]).toContain('min_parts_to_merge_at_once')
    await nodeIsAt(BLOCKS + 500)
    await start()
    expect(materializer.head).toMatchObject({ reached: false, tipHeight: BLOCKS })
    expect((await settings())[0]).toContain('min_parts_to_merge_at_once')
    await nodeIsAt(BLOCKS)
    await materializer.step()
    expect(materializer.head).toMatchObject({ reached: true })
    expect(await settings()).toEqual(usual)
  })

  it('are not postponed once readers rely on the index, and are resumed if a process ended before it could', async () => {
    await nodeIsAt(BLOCKS + 5000)
    await start()
    expect(await settings()).toEqual(usual)
    await postponeMerges(db())
    await start()
    expect(await settings()).toEqual(usual)
  })
})
