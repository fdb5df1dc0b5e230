import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { rewriteDatabase } from '../../pipelines/materialize/rebuild/rewriting.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { type Head, headsAfter, latestHead } from '../../pipelines/tables/head.js'
import { rewrittenName } from '../../pipelines/tables/migrate.js'
import { notesOf, servingDatabase } from '../../pipelines/tables/serving.js'
import { claimWriting, Superseded } from '../../pipelines/tables/writers.js'
import { freePort } from '../../services/process/ports.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { expectSameRows } from '../harness/clean-index.js'
import { copyHeadsTo, earlierForm } from '../harness/earlier-form.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'

const logger = pino({ level: 'silent' })
const finalityDepth = 12
/** More than the batches of one head, so that the materializer can be killed between its first head and its last. */
const BLOCKS = 2200

/**
 * A database of an earlier version that still serves reads and is still written, as by replicas that are not upgraded yet, while this
 * version writes its rows again.
 */
describe('a database of an earlier version', () => {
  let folder: string
  let node: Simnode
  let log: EventLog
  /** Writes the heads that the earlier version would write. */
  let pipeline: Pipeline
  let clean: Pipeline
  let old: Database
  let next: Database
  let materializer: ServiceProcess
  let explorer: ServiceProcess
  let url: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-rewriting-'))
    node = await startSimnode({ seed: 'rewriting', blocks: BLOCKS, txsPerBlock: 1, blockIntervalMs: 0 })
    log = await openEmbeddedLog(join(folder, 'log'))
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth }
    pipeline = await Pipeline.start({ ...options, log })
    clean = await Pipeline.start(options)
    old = pipeline.db.sibling(`${pipeline.name}_old`)
    next = old.sibling(rewrittenName(old.name))
    await earlierForm(old)
    await advance('mine?blocks=1')
    const port = await freePort()
    url = `http://127.0.0.1:${String(port)}`
    const env = {
      ...{ DATA_DIR: folder, CLICKHOUSE_URL: options.engineUrl, CLICKHOUSE_DATABASE: old.name },
      ...{ NODE_RPC_URL: node.url, EXPLORER_PORT: String(port), EXPLORER_GRPC_PORT: '0' },
      ...{ RATE_LIMIT_PER_MINUTE: '0', FINALITY_DEPTH: String(finalityDepth) },
    }
    const service = (name: string): ServiceProcess =>
      new ServiceProcess(name, env, join(folder, `${name}.log`))
    materializer = service('materializer')
    explorer = service('explorer').start()
  })
  afterAll(async () => {
    await Promise.all([materializer.kill(), explorer.kill()])
    for (const name of [old.name, next.name, notesOf(old.name)])
      await clean.db.command(`DROP DATABASE IF EXISTS ${name} SYNC`)
    await Promise.all([pipeline.close(), clean.close(), old.close(), next.close()])
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  })

  async function order(action: string): Promise<string> {
    const answer = await fetch(`${new URL(node.url).origin}/control/${action}`, { method: 'POST' })
    return ((await answer.json()) as { hash: string }).hash
  }

  /** Changes the chain; the earlier version follows and publishes. */
  async function advance(action: string): Promise<void> {
    await pipeline.level({ tip: await order(action) })
    await copyHeadsTo(old, pipeline.db)
  }

  const rewritten = (): Promise<Head | undefined> => latestHead(next)
  const get = (path: string): ReturnType<typeof getAnswer> => getAnswer(`${url}/api/v1${path}`)

  it('is written again; killed in the middle, the materializer leaves it as it was', async () => {
    materializer.start()
    await until('there is a first head', async () => (await rewritten()) !== undefined)
    await materializer.kill()
    const { tipHeight: height = -1 } = (await rewritten()) ?? {}
    expect(height).toBeGreaterThan(0)
    expect(await servingDatabase(old)).toBe(old.name)
    await until('the explorer reports how far', async () => {
      const { status, body } = await get('/blocks/tip')
      return status === 503 && body.height === height && body.heightTotal === BLOCKS + 1
    })
    for (const action of ['mine?blocks=2', 'reorg?depth=3', `reorg?depth=${String(finalityDepth + 3)}`])
      await advance(action)
    expect((await latestHead(old))?.tipHash).toBe((await latestHead(pipeline.db))?.tipHash)
  })

  it('is replaced by a database that continues where the first attempt was, and equals a clean index', async () => {
    materializer.start()
    await until('it is replaced', async () => (await servingDatabase(old)) === next.name)
    const [attempts] = await next.query<{ writers: string }>('SELECT uniqExact(writer) AS writers FROM heads')
    expect(Number(attempts?.writers)).toBeGreaterThan(1)
    const withoutWriter = (heads: Head[]): object[] => heads.map((head) => ({ ...head, writer: undefined }))
    const [before, after] = await Promise.all([headsAfter(old, -1), headsAfter(next, -1)])
    // One for each batch of the first blocks, and one for each change since.
    expect(before.length).toBeGreaterThan(5)
    expect(withoutWriter(after.slice(0, before.length))).toEqual(withoutWriter(before))
    // What the earlier version still writes is not visible.
    await expect(claimWriting(old, (await latestHead(old))?.position ?? -1)).rejects.toThrow(Superseded)
    for (const action of ['mine?blocks=2', 'reorg?depth=2']) {
      const tip = await order(action)
      await pipeline.poll()
      await until('the explorer follows', async () => (await get('/blocks/tip')).body.hash === tip)
    }
    expect([materializer.alive, explorer.alive]).toEqual([true, true])
    await clean.level()
    await expectSameRows(next, clean.db)
  })

  it('without an index is replaced at once, also if it lacks columns of later versions', async () => {
    const empty = old.sibling(`${old.name}_empty`)
    const replacing = empty.sibling(rewrittenName(empty.name))
    try {
      await earlierForm(empty)
      await empty.command('ALTER TABLE heads DROP COLUMN reached')
      await empty.command('ALTER TABLE writers DROP COLUMN successor, DROP COLUMN replaces')
      const { signal } = new AbortController()
      expect(await rewriteDatabase({ old: empty, log, logger, signal })).toBe(replacing.name)
      expect(await servingDatabase(empty)).toBe(replacing.name)
      const first = new Materializer({ db: replacing, log, logger, finalityDepth })
      while (await first.step());
      expect((await latestHead(replacing))?.tipHeight).toBeGreaterThan(0)
      await first.close()
    } finally {
      for (const db of [empty, replacing]) await clean.db.command(`DROP DATABASE IF EXISTS ${db.name} SYNC`)
      await Promise.all([empty.close(), replacing.close()])
    }
  })
})
