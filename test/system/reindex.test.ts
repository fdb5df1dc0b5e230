import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { notesOf, servingDatabase } from '../../pipelines/tables/serving.js'
import { engineUrl } from '../../services/process/discovery.js'
import { loadConfig } from '../../services/config.js'
import { freePort } from '../../services/process/ports.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { expectSameRows } from '../harness/clean-index.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { ROOT, ServiceProcess } from '../harness/processes.js'
import { quickFolder } from '../harness/quick-folder.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'
import { OBSERVED, pathsOfReads } from '../services/explorer/read-paths.js'

const BLOCKS = 90
const DEPTH = 12
const READ_EVERY_MS = IS_WHOLE ? 50 : 200
const DIST = ['pipelines', 'proto', 'services']

/** Columns that the other version has in addition. */
const ADDED = {
  heads: 'note String,',
  blocks: 'doubled_fees UInt64 MATERIALIZED 2 * total_fees,',
}

/** Makes a copy of the build whose schema has another version, with more columns. */
async function otherVersion(folder: string): Promise<string> {
  for (const part of DIST) await cp(join(ROOT, 'dist', part), join(folder, 'dist', part), { recursive: true })
  for (const each of ['node_modules', 'package.json']) await symlink(join(ROOT, each), join(folder, each))
  const file = join(folder, 'dist/pipelines/tables/schema.sql')
  let sql = (await readFile(file, 'utf8')).replace(/^-- Schema version \d+\.$/m, '-- Schema version 99.')
  for (const [table, column] of Object.entries(ADDED))
    sql = sql.replace(`CREATE TABLE ${table}\n(`, (create) => `${create}\n    ${column}`)
  await writeFile(file, sql)
  return folder
}

describe('npm run reindex of a version with another schema', () => {
  const name = `t_reindex_${String(process.pid)}_a`
  const next = `${name}_2`
  /** ETags by tip and path: of the clean index, and those that explorers sent. */
  const expected = new Map<string, string>()
  const received: (readonly [key: string, etag: string])[] = []
  const faults: string[] = []
  const running: ServiceProcess[] = []
  let folder = ''
  let other = ''
  let node: Simnode
  let clean: Pipeline
  let db: Database
  let env: Record<string, string> = {}
  let paths: string[] = []
  const readers = new AbortController()
  const reading: Promise<void>[] = []

  beforeAll(async () => {
    folder = await quickFolder('headwater-reindex-')
    other = await otherVersion(join(folder, 'other'))
    node = await startSimnode({ seed: 'reindex', blocks: BLOCKS, txsPerBlock: 2, blockIntervalMs: 0 })
    const engine = inject('engineUrl')
    env = {
      DATA_DIR: folder,
      NODE_RPC_URL: node.url,
      CLICKHOUSE_URL: engine,
      CLICKHOUSE_DATABASE: name,
      EXPLORER_GRPC_PORT: '0',
      RATE_LIMIT_PER_MINUTE: '0',
      POLL_INTERVAL_MS: '200',
      FINALITY_DEPTH: String(DEPTH),
    }
    db = new Database({ url: engine, database: name })
    clean = await Pipeline.start({ nodeUrl: node.url, engineUrl: engine, finalityDepth: DEPTH })
  })
  afterAll(async () => {
    readers.abort()
    await Promise.all(reading)
    for (const each of running.reverse()) await each.kill()
    for (const each of [name, next, notesOf(name)])
      await clean.db.command(`DROP DATABASE IF EXISTS ${each} SYNC`)
    await Promise.all([clean.close(), db.close()])
    await node.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  })

  const logOf = (id: string): Promise<string> => readFile(join(folder, `${id}.log`), 'utf8')

  /** Starts a process of a version; `id` names its log. */
  function start(service: string, id: string, version: string, settings: Record<string, string> = {}) {
    const program = `services/${service}/main.js`
    const log = join(folder, `${id}.log`)
    const each = new ServiceProcess(id, { ...env, ...settings }, log, [], program, version)
    running.push(each)
    return each.start()
  }

  /** Starts an explorer of a version and waits until it shows a tip. @returns its URL. */
  async function startExplorer(id: string, version: string, tip: string, settings = {}): Promise<string> {
    const port = String(await freePort())
    start('explorer', id, version, { EXPLORER_PORT: port, ...settings })
    const url = `http://127.0.0.1:${port}/api/v1`
    await shows(url, tip)
    return url
  }

  const shows = (url: string, tip: string): Promise<unknown> =>
    until(`${url} shows ${tip}`, async () => (await getAnswer(`${url}/stats/summary`)).tip === tip)

  /** Reads an explorer all the time, and leaves it some processor time. */
  async function read(url: string): Promise<void> {
    while (!readers.signal.aborted)
      for (const path of paths) {
        const answer = await getAnswer(url + path).catch((error: unknown) => error as Error)
        if (answer instanceof Error) faults.push(`${path}: ${answer.message}`)
        else if (answer.status >= 500) faults.push(`${path}: ${JSON.stringify(answer.body)}`)
        else if (answer.status === 200)
          received.push([`${answer.tip} ${path}`, answer.headers.get('etag') ?? ''])
        await sleep(READ_EVERY_MS)
      }
  }

  /** Changes the chain; the clean index determines the answers of the new tip. */
  async function advance(action: string): Promise<string> {
    const answer = await fetch(`${new URL(node.url).origin}/control/${action}`, { method: 'POST' })
    const { hash } = (await answer.json()) as { hash: string }
    await clean.level({ tip: hash })
    for (const path of paths)
      expected.set(`${hash} ${path}`, (await clean.get(path)).headers.get('etag') ?? '')
    return hash
  }

  /** No read failed, and all answers of a known tip are those of the clean index. */
  function expectNoFault(least: number): void {
    const compared = received.filter(([key]) => expected.has(key))
    expect(compared.length).toBeGreaterThan(least)
    expect(compared.filter(([key, etag]) => etag !== expected.get(key)).slice(0, 3)).toEqual([])
    expect(faults).toEqual([])
  }

  it('is what its processes ask for; it builds beside those of this version, even if it is killed', async () => {
    await clean.level()
    const all = await pathsOfReads((path) => clean.get(path), BLOCKS, { answered: 1, refused: 0 })
    paths = all
      .filter(({ read: { name, fresh } }) => fresh === 'head' && !OBSERVED.has(name))
      .map(({ path }) => path)
    start('poller', 'poller', ROOT)
    start('materializer', 'materializer', ROOT)
    const tip = await advance('mine?blocks=1')
    for (const id of ['one', 'two']) reading.push(read(await startExplorer(id, ROOT, tip)))
    for (const service of ['materializer', 'explorer']) {
      await start(service, `early-${service}`, other).ended()
      expect(await logOf(`early-${service}`)).toMatch(
        /HW_SCHEMA_MISMATCH: database \w+ has schema version \d+, this version of Headwater has 99: run 'npm run reindex'/,
      )
    }
    const target = db.sibling(next)
    const killed = start('reindex', 'killed', other)
    await until('it has written blocks', async () => (await target.query('SELECT 1 FROM blocks')).length > 0)
    await killed.kill()
    await target.close()
    expect(await servingDatabase(db)).toBe(name)
    await advance('mine?blocks=2')
    await advance('reorg?depth=3')
  })

  it('switches over; explorers of this version answer until those of the other replace them', async () => {
    await start('reindex', 'reindex', other).ended()
    expect(await logOf('reindex')).toContain(`${next} serves from block ${String(BLOCKS + 4)} on.`)
    expect(await servingDatabase(db)).toBe(next)
    const tip = await advance('mine?blocks=1')
    start('materializer', 'next-materializer', other)
    const url = await startExplorer('three', other, tip)
    reading.push(read(url))
    await until('the old materializer stops', async () =>
      (await logOf('materializer')).includes('stopped until this process is replaced'),
    )
    await until('the old explorers keep their state', async () =>
      (await logOf('one')).includes('the data grows old until this process is replaced'),
    )
    await shows(url, await advance('reorg?depth=2'))
    readers.abort()
    await Promise.all(reading)
    expectNoFault(IS_WHOLE ? 150 : 50)
    expect(
      running.filter(({ name: id }) => /^(materializer|one|two)$/.test(id)).every((each) => each.alive),
    ).toBe(true)
    const built = db.sibling(next)
    await expectSameRows(built, clean.db)
    const [row] = await built.query<{ doubled: string; fees: string }>(
      'SELECT sum(doubled_fees) AS doubled, sum(total_fees) AS fees FROM blocks',
    )
    await built.close()
    expect(Number(row?.doubled)).toBe(2 * Number(row?.fees))
    await start('reindex', 'again', other).ended()
    expect(await logOf('again')).toContain(`${next} has the tables of this version: nothing to do`)
  })

  it.runIf(IS_WHOLE)('goes back in the same way, without an engine that runs', async () => {
    for (const each of running.splice(0)) await each.kill()
    const embedded = { CLICKHOUSE_URL: '' }
    const config = { ...loadConfig({ ...env, ...embedded }) }
    const engine = start('engine', 'engine', other, embedded)
    const materializer = start('materializer', 'embedded-materializer', other, embedded)
    const { tip } = await clean.get('/stats/summary')
    const index = new Database({ url: await engineUrl(config), database: name })
    await until('it is indexed', async () => (await latestHead(index))?.tipHash === tip)
    await index.close()
    for (const each of [materializer, engine]) await each.kill('SIGTERM')
    await start('reindex', 'back', ROOT, embedded).ended()
    expect(await logOf('back')).toContain(`${next} serves from block`)
    start('engine', 'engine', ROOT, embedded)
    const url = await startExplorer('back-explorer', ROOT, tip, embedded)
    const dropped = await fetch(await engineUrl(config), {
      method: 'POST',
      body: `DROP DATABASE ${name} SYNC`,
    })
    expect(dropped.status).toBe(200)
    for (const path of paths)
      expect([path, (await getAnswer(url + path)).headers.get('etag')]).toEqual([
        path,
        (await clean.get(path)).headers.get('etag'),
      ])
  })
})
