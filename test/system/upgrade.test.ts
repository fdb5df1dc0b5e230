import { existsSync, statSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { freePort } from '../../services/process/ports.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { earlierVersion } from '../harness/earlier-version.js'
import { type Answer, getAnswer, Pipeline } from '../harness/pipeline.js'
import { ROOT, ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { pathsOfReads } from '../services/explorer/read-paths.js'

/** The commits that write a data directory each; the test does not run in CI, which may have no history. */
const COMMITS = (process.env['UPGRADE_FROM'] ?? '').split(',')
const BLOCKS = 300
const DEPTH = 12
const PROCESSES = ['engine', 'poller', 'materializer', 'explorer'] as const
const LEVEL_MS = 180_000

/** The answers of one read while the new version started; no status before it listened. */
interface Seen {
  readonly path: string
  readonly status: number | undefined
  readonly body: unknown
}

interface Unavailable {
  readonly error: string
  /** While the log is converted. */
  readonly recordsConverted?: number
  readonly recordsTotal?: number
  /** While the database is upgraded. */
  readonly migrationsDone?: number
  readonly migrationsTotal?: number
}

const UPGRADING = 'Index is upgrading'
const WHILE_IT_STARTS = [UPGRADING, 'Index is syncing', 'Not ready yet', 'Database unavailable']

describe.skipIf(COMMITS[0] === '').each(COMMITS)('a data directory that %s wrote', (commit) => {
  let folder = ''
  /** True if its log is of the format before SQLite: a file where this version has a folder. */
  let isConverted = false
  let node: Simnode
  let url = ''
  let env: Record<string, string> = {}
  let root = ''
  let running: ServiceProcess[] = []
  let clean: Pipeline | undefined

  const order = async (action: string): Promise<{ hash: string; height: number; pool: string[] }> => {
    const answer = await fetch(`${new URL(node.url).origin}/control/${action}`, { method: 'POST' })
    expect(answer.status, action).toBe(200)
    return (await answer.json()) as { hash: string; height: number; pool: string[] }
  }
  const ask = (path: string): Promise<Answer> => getAnswer(`${url}/api/v1${path}`)

  const startOne = (name: string, version: string): ServiceProcess => {
    const program = `services/${name}/main.js`
    const one = new ServiceProcess(name, env, join(folder, `${name}.log`), [], program, version)
    running.push(one)
    return one.start()
  }
  const startAll = (version: string): ServiceProcess[] => PROCESSES.map((name) => startOne(name, version))

  /** The explorer shows the node's tip and its mempool. */
  async function level({ hash, pool }: { hash: string; pool: string[] }): Promise<void> {
    await until(
      `the explorer shows ${hash} with ${String(pool.length)} in the mempool`,
      async () => {
        const { status, tip, body } = await ask('/mempool/summary')
        return status === 200 && tip === hash && body.txCount === pool.length
      },
      LEVEL_MS,
    )
  }

  async function killAll(): Promise<void> {
    const { pid } = JSON.parse(await readFile(join(folder, 'engine.json'), 'utf8')) as { pid: number }
    process.kill(pid, 'SIGKILL')
    for (const each of running) await each.kill()
    running = []
  }

  async function stopAll(): Promise<void> {
    // SIGTERM first: an engine whose supervisor is killed continues to write for a moment.
    for (const each of running.reverse()) await each.kill('SIGTERM')
    running = []
  }

  beforeAll(async () => {
    root = earlierVersion(commit)
    folder = await mkdtemp(join(tmpdir(), 'headwater-upgrade-'))
    node = await startSimnode({ seed: 'upgrade', blocks: BLOCKS, txsPerBlock: 6, blockIntervalMs: 0 })
    const port = await freePort()
    url = `http://127.0.0.1:${String(port)}`
    env = {
      ...{ DATA_DIR: folder, NODE_RPC_URL: node.url, EXPLORER_PORT: String(port), EXPLORER_GRPC_PORT: '0' },
      ...{ RATE_LIMIT_PER_MINUTE: '0', POLL_INTERVAL_MS: '50', FINALITY_DEPTH: String(DEPTH) },
    }
  })

  afterAll(async () => {
    await stopAll()
    await clean?.close()
    await node.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  })

  it('is written, with reorganisations and a mempool, by processes that are then killed', async () => {
    startAll(root)
    await order('pool?enter=10')
    // One of them below the final height.
    for (const action of ['reorg?depth=3', 'mine?blocks=4', `reorg?depth=${String(DEPTH + 2)}`])
      await level(await order(action))
    await level(await order('pool?enter=30&replace=2'))
    expect((await ask('/mempool/summary')).body.txCount).toBeGreaterThan(10)
    await killAll()
    // A later version has a folder of this name, so that an earlier one refuses its log.
    isConverted = statSync(join(folder, 'log', 'data.mdb')).isFile()
    expect(isConverted || existsSync(join(folder, 'log', 'chain.sqlite'))).toBe(true)
  })

  it('is opened by this version, which answers or reports why it does not yet, and in the end equals a clean index', async () => {
    // The node advances meanwhile, and leaves a branch that the earlier version has indexed.
    await order('reorg?depth=2')
    await order('mine?blocks=3')
    const state = await order('pool?enter=10')
    const processes = startAll(ROOT)
    const seen: Seen[] = []
    let isOver = false
    const reading = (async () => {
      while (!isOver) {
        for (const path of ['/blocks/tip', '/stats/summary', '/block/7', '/mempool/summary']) {
          const answer = await ask(path).catch(() => undefined)
          seen.push({ path, status: answer?.status, body: answer?.body })
        }
        await sleep(20)
      }
    })()
    try {
      await level(state)
    } finally {
      isOver = true
      await reading
    }
    expect(processes.filter(({ alive }) => !alive).map(({ name }) => name)).toEqual([])
    const others = seen.filter(({ status }) => status !== undefined && status !== 200 && status !== 503)
    expect(others.slice(0, 3)).toEqual([])
    const unavailable = seen.filter(({ status }) => status === 503).map(({ body }) => body as Unavailable)
    expect(unavailable.filter(({ error }) => !WHILE_IT_STARTS.includes(error)).slice(0, 3)).toEqual([])
    for (const body of unavailable.filter(({ error }) => error === UPGRADING))
      expect(body.recordsConverted ?? body.migrationsDone).toBeLessThanOrEqual(
        body.recordsTotal ?? body.migrationsTotal ?? -1,
      )
    await expectEqualToCleanIndex(state)
    await expectCleanAudit()
  })

  it('is refused by the version that wrote it, which changes nothing', async () => {
    await stopAll()
    startOne('engine', ROOT)
    const refusal = isConverted
      ? 'Is a directory: Attempting to open main database file'
      : 'was upgraded by a newer version: it has migration 0011_schema.sql'
    // A poller uses only the log.
    for (const name of [...(isConverted ? ['poller'] : []), 'materializer', 'explorer']) {
      const earlier = startOne(name, root)
      await until(`the earlier ${name} ends`, () => !earlier.alive, LEVEL_MS)
      const lines = (await readFile(join(folder, `${name}.log`), 'utf8')).trim().split('\n')
      expect(lines.at(-1), name).toContain(refusal)
    }
    await stopAll()
    const processes = startAll(ROOT)
    const state = await order('mine?blocks=1')
    await level(state)
    expect(processes.filter(({ alive }) => !alive).map(({ name }) => name)).toEqual([])
    await expectEqualToCleanIndex(state)
    await expectCleanAudit()
  })

  /** Every declared read answers the same: status, body and, if only the state decides it, ETag. */
  async function expectEqualToCleanIndex({ hash }: { hash: string }): Promise<void> {
    clean ??= await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: DEPTH,
    })
    const { level: atTip, get } = { level: clean.level.bind(clean), get: clean.get.bind(clean) }
    await atTip({ tip: hash })
    const paths = await pathsOfReads(get, BLOCKS)
    expect(paths.length).toBeGreaterThan(30)
    // A clean index has not seen the reorganisations.
    const compared = paths.filter(
      ({ read }) => read.fresh !== 'live' && read.fresh !== 'outside' && read.name !== 'reorgs',
    )
    for (const { path } of compared) {
      await until(`${path} is answered as by a clean index`, async () => {
        const [theirs, ours] = await Promise.all([get(path), ask(path)])
        return theirs.status === ours.status && theirs.headers.get('etag') === ours.headers.get('etag')
      })
    }
  }

  async function expectCleanAudit(): Promise<void> {
    const audit = startOne('audit', ROOT)
    await audit.ended()
    const said = await readFile(join(folder, 'audit.log'), 'utf8')
    expect(said.trim().split('\n').at(-1)).toMatch(/^no difference at block \d+ /)
  }
})
