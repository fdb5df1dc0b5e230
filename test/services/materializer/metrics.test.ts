import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import { observedLog } from '../../../pipelines/log/observed.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { Materializer } from '../../../pipelines/materialize/materializer.js'
import { PoisonEvent } from '../../../pipelines/materialize/poison.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import { Poller } from '../../../pipelines/poll/poller.js'
import { Database } from '../../../pipelines/tables/clickhouse.js'
import { MaterializerMetrics } from '../../../services/materializer/metrics.js'
import { startSimnode } from '../../../services/simnode/node.js'
import { buildChain } from '../../../services/simnode/chain/sim-chain.js'
import { valueOf } from '../metrics/prometheus-text.js'

const logger = pino({ level: 'silent' })
const BLOCKS = 30

describe("the materializer's metrics", () => {
  let folder: string
  let log: EventLog
  let db: Database
  let materializer: Materializer | undefined
  let close: () => Promise<void>
  const metrics = new MaterializerMetrics({
    head: () => materializer?.head,
    logEnd: () => log.last('chain'),
  })
  const value = async (series: string): Promise<number | undefined> =>
    valueOf((await metrics.text()).text, `headwater_materializer_${series}`)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = observedLog(await openEmbeddedLog(folder), metrics)
    const node = await startSimnode({ chain: buildChain({ seed: 'metrics', blocks: BLOCKS }) })
    const client = new NodeClient(node.url)
    await new Poller({ node: client, log, logger, pollIntervalMs: 1000, inFlight: 4 }).pollOnce()
    client.close()
    await node.close()
    const database = `t_${String(process.pid)}_${String(Date.now())}_metrics`
    db = new Database({ url: inject('engineUrl'), database, onInsert: metrics.inserted })
    materializer = new Materializer({ db, log, logger, finalityDepth: 10, observer: metrics })
    close = async () => {
      await db.command(`DROP DATABASE IF EXISTS ${database} SYNC`)
      await db.close()
      await log.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
  afterAll(() => close())

  it('have no state while it stands by, which is healthy', async () => {
    metrics.leads(false)
    expect(await value('leading')).toBe(0)
    expect(await value('height')).toBeUndefined()
    expect(await value('lag_events')).toBeUndefined()
    expect(metrics.health()).toMatchObject({ isWell: true, body: { role: 'standby', status: 'ok' } })
  })

  it('count what it applies and inserts, and report how far it is behind', async () => {
    metrics.leads(true)
    const end = await log.last('chain')
    expect(await value('lag_events')).toBe(end + 1)
    while (await materializer?.step());
    expect(await value('lag_events')).toBe(0)
    expect(await value('height')).toBe(BLOCKS)
    expect(await value('position')).toBe(end)
    expect(await value('epoch')).toBe(1)
    expect(await value('events_total')).toBe(end + 1)
    expect(await value('batch_events_sum')).toBe(end + 1)
    expect(await value('blocks_total{change="connected"}')).toBe(BLOCKS + 1)
    expect(await value('insert_rows_sum{table="blocks"}')).toBe(BLOCKS + 1)
    expect(await value('insert_duration_seconds_count{table="heads"}')).toBeGreaterThan(0)
    expect(await value('append_duration_seconds_count{topic="committed"}')).toBeGreaterThan(0)
    expect(metrics.health()).toEqual({
      isWell: true,
      body: {
        status: 'ok',
        service: 'materializer',
        role: 'leading',
        reasons: [],
        height: BLOCKS,
        epoch: 1,
        position: end,
      },
    })
  })

  it('count errors by kind, and report the event at which it stopped', async () => {
    await log.append('chain', [Buffer.from('no event')])
    while (await materializer?.step());
    expect(await value('stopped')).toBe(0)
    expect(await value('errors_total{code="HW_POISON_EVENT"}')).toBe(1)
    await log.append('dead-letters', [Buffer.from('no dead letter')])
    materializer = new Materializer({ db, log, logger, finalityDepth: 10, observer: metrics })
    const stopped = materializer.run(new AbortController().signal)
    await expect(stopped).rejects.toThrow(PoisonEvent)
    await stopped.catch((error: unknown) => {
      metrics.stopped(error as PoisonEvent)
    })
    expect(await value('stopped')).toBe(1)
    expect(await value('errors_total{code="HW_POISON_EVENT"}')).toBe(2)
    const { isWell, body } = metrics.health()
    expect(isWell).toBe(false)
    expect(body).toMatchObject({
      status: 'degraded',
      reasons: [expect.stringMatching(/^stopped: topic dead-letters/)],
    })
  })
})
