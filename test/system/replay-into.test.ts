import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { notesOf, servingDatabase } from '../../pipelines/tables/serving.js'
import type { Read } from '../../services/explorer/core/reads/read.js'
import { freePort } from '../../services/process/ports.js'
import { expectSameRows } from '../harness/clean-index.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { ServiceProcess } from '../harness/processes.js'
import { quickFolder } from '../harness/quick-folder.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'
import { FeedClient } from '../services/explorer/feed-client.js'
import { OBSERVED, pathsOfReads, type ReadPath } from '../services/explorer/read-paths.js'

/** Several batches of the backfill, so that a replay can be killed between its first head and its last. */
const BLOCKS = IS_WHOLE ? 400 : 250
/** Reads and steps share the processors with the replays: without pauses they would use most of their time. */
const [READ_EVERY_MS, STEP_EVERY_MS] = IS_WHOLE ? [5, 600] : [100, 1500]
/** The answers that are compared at least in a test, and the rounds of reads in all: CI does not wait for more. */
const [LEAST_COMPARED, LEAST_ROUNDS] = IS_WHOLE ? [150, 10] : [30, 2]
const DEPTH = 12
/**
 * Answers that depend on the chain alone are compared at every moment; those that depend on the mempool if both have
 * the same.
 */
const isCompared = ({ name, fresh }: Read): boolean =>
  (fresh === 'head' && !OBSERVED.has(name)) || ['block', 'blockTransactions', 'addressUtxos'].includes(name)

/**
 * An explorer, its materializer and poller as processes, and a clean pipeline of the same node that never switches
 * over: every answer of the first, at any moment, must equal that of the second for the same tip.
 */
describe('replay --into, under blocks, reorganisations and readers', () => {
  const service: Record<string, ServiceProcess> = {}
  const name = `t_into_${String(process.pid)}_${String(Date.now())}`
  const [second, third] = [`${name}_2`, `${name}_3`]
  /** ETags of the clean pipeline by tip and path. */
  const expected = new Map<string, string>()
  const received: { readonly key: string; readonly etag: string; readonly body: unknown }[] = []
  const faults: string[] = []
  let env: Record<string, string> = {}
  let folder = ''
  let nodeUrl = ''
  let explorerUrl = ''
  let paths: ReadPath[] = []
  let clean: Pipeline
  let db: Database
  let feed: FeedClient
  let rounds = 0
  /** True from the moment at which the explorer is frozen until it is level again: its answers may exceed their deadline. */
  let mayBeBehind = false
  let isOver = false
  let reading: Promise<void> | undefined

  const control = async (path: string): Promise<{ hash: string }> =>
    (await (await fetch(`${nodeUrl}/control/${path}`, { method: 'POST' })).json()) as { hash: string }

  beforeAll(async () => {
    folder = await quickFolder('headwater-into-')
    const [nodePort, explorerPort] = [await freePort(), await freePort()]
    nodeUrl = `http://127.0.0.1:${String(nodePort)}`
    explorerUrl = `http://127.0.0.1:${String(explorerPort)}`
    const engineUrl = inject('engineUrl')
    env = {
      DATA_DIR: folder,
      NODE_RPC_URL: nodeUrl,
      CLICKHOUSE_URL: engineUrl,
      CLICKHOUSE_DATABASE: name,
      EXPLORER_PORT: String(explorerPort),
      EXPLORER_GRPC_PORT: '0',
      RATE_LIMIT_PER_MINUTE: '0',
      POLL_INTERVAL_MS: '200',
      FINALITY_DEPTH: String(DEPTH),
      LOG_LEVEL: 'info',
    }
    const add = (what: string, args: string[] = []): void => {
      service[what] = new ServiceProcess(what, env, join(folder, `${what}.log`), args).start()
    }
    const history = ['--blocks', String(BLOCKS), '--txs-per-block', '3', '--block-interval-ms', '0']
    add('simnode', ['--port', String(nodePort), ...history, '--seed', 'into'])
    await until('the node answers', async () => (await fetch(`${nodeUrl}/control/state`)).ok)
    for (const what of ['poller', 'materializer', 'explorer']) add(what)
    db = new Database({ url: engineUrl, database: name })
    clean = await Pipeline.start({ nodeUrl, engineUrl, finalityDepth: DEPTH })
    await clean.level()
    const { tip } = await clean.get('/stats/summary')
    await until('the explorer is level', async () => (await ask('/stats/summary')).tip === tip)
    feed = await FeedClient.connect(explorerUrl, '/ws')
    for (const channel of ['blocks', 'reorgs']) await feed.subscribe(channel)
    paths = await pathsOfReads((path) => clean.get(path), BLOCKS, { answered: 1, refused: 0 })
    reading = read()
  })

  afterAll(async () => {
    isOver = true
    // A test that failed may have left it frozen, and a read waiting for it.
    service['explorer']?.signal('SIGCONT')
    await reading
    await feed.close()
    for (const each of Object.values(service).reverse()) await each.kill()
    await clean.close()
    for (const each of [name, second, third, notesOf(name)])
      await clean.db.sibling('default').command(`DROP DATABASE IF EXISTS ${each} SYNC`)
    await db.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  })

  const ask = (path: string): ReturnType<typeof getAnswer> => getAnswer(`${explorerUrl}/api/v1${path}`)

  /** Reads every declared read in turn, all the time. */
  async function read(): Promise<void> {
    let height = 0
    for (; !isOver; rounds++) {
      for (const { read: each, path } of paths) {
        await sleep(READ_EVERY_MS)
        const answer = await ask(path).catch((error: unknown) => error as Error)
        if (isOver) return
        if (answer instanceof Error) {
          if (service['explorer']?.alive === true) faults.push(`${path}: ${answer.message}`)
          continue
        }
        if (answer.status > 500 && mayBeBehind) continue
        if (answer.status >= 500)
          faults.push(`${path}: ${String(answer.status)} ${JSON.stringify(answer.body)}`)
        if (each.fresh === 'outside' || answer.status !== 200) continue
        if (answer.height < height)
          faults.push(`${path}: height ${String(answer.height)} after ${String(height)}`)
        height = answer.height
        if (!isCompared(each)) continue
        received.push({
          key: `${answer.tip} ${path}`,
          etag: answer.headers.get('etag') ?? '',
          body: answer.body,
        })
      }
    }
  }

  /** The node advances; then the clean pipeline determines the answers of the new tip, while the other one is read. */
  async function step(count: number): Promise<void> {
    const { hash } = await control(
      count % 2 === 0 ? `reorg?depth=${String(1 + (count % 14))}` : 'mine?blocks=1',
    )
    await clean.level({ tip: hash })
    await Promise.all(
      paths.map(async ({ read: each, path }) => {
        if (!isCompared(each)) return
        const answer = await clean.get(path)
        if (answer.status !== 200) return
        expect(answer.tip).toBe(hash)
        expected.set(`${hash} ${path}`, answer.headers.get('etag') ?? '')
      }),
    )
  }

  let steps = 0

  async function liveUntil(done: () => boolean, least = 1): Promise<void> {
    for (let made = 0; made < least || !done(); made++) {
      await step(++steps)
      await sleep(STEP_EVERY_MS)
    }
  }

  /**
   * The explorer is where the node is, and answers as the clean pipeline in everything that does not depend on the
   * time.
   */
  async function settle(): Promise<void> {
    // First by one path: to read all of them meanwhile would delay the explorer.
    const tipOf = async (answer: ReturnType<typeof getAnswer>) => (await answer).tip
    await until('both show the same tip', async () => {
      return (await tipOf(ask('/blocks/tip'))) === (await tipOf(clean.get('/blocks/tip')))
    })
    await Promise.all(
      paths.map(async ({ read: each, path }) => {
        if (each.fresh === 'live' || each.fresh === 'outside' || OBSERVED.has(each.name)) return
        const isSame = async (): Promise<boolean> => {
          const [theirs, ours] = await Promise.all([clean.get(path), ask(path)])
          return theirs.status === ours.status && theirs.headers.get('etag') === ours.headers.get('etag')
        }
        await until(`${path} is answered as the clean pipeline does`, isSame)
      }),
    )
  }

  const compared = () => received.filter(({ key }) => expected.has(key))

  /**
   * No read failed, and each answer of a tip of the clean pipeline equals its answer: this number of answers at
   * least.
   */
  async function expectNoFault(leastCompared: number): Promise<void> {
    await liveUntil(() => compared().length >= leastCompared, 0)
    const wrong = compared().filter(({ key, etag }) => etag !== expected.get(key))
    received.length = 0
    expect(wrong.slice(0, 3)).toEqual([])
    expect(faults.splice(0)).toEqual([])
  }

  interface Replay {
    readonly child: ChildProcess
    output: string
    errors: string
    ended: boolean
  }

  function replay(...args: string[]): Replay {
    const child = spawn(process.execPath, ['dist/services/replay/main.js', ...args], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
    })
    const run: Replay = { child, output: '', errors: '', ended: false }
    child.stdout.on('data', (chunk: Buffer) => (run.output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (run.errors += chunk.toString()))
    void once(child, 'close').then(() => (run.ended = true))
    return run
  }

  it('killed midway and just before the switch, it continues where it was, and nothing has changed', async () => {
    const target = db.sibling(second)
    const midway = replay('--into', second)
    await Promise.all([
      until('it has shown a head', async () => (await latestHead(target)) !== undefined).then(() =>
        midway.child.kill('SIGKILL'),
      ),
      liveUntil(() => midway.ended),
    ])
    const done = (await latestHead(target))?.tipHeight ?? 0
    expect(done).toBeGreaterThan(0)
    const before = replay('--into', second, '--crash-at', 'before-switch')
    await liveUntil(() => before.ended)
    expect(before.child.signalCode, before.errors).toBe('SIGKILL')
    expect(Number(/blocks: (\d+) of/.exec(before.errors)?.[1])).toBeGreaterThan(done)
    expect(await servingDatabase(db)).toBe(name)
    await settle()
    await target.close()
    await expectNoFault(LEAST_COMPARED)
  })

  it('killed just after the switch, all have switched over', async () => {
    const run = replay('--into', second, '--crash-at', 'after-switch')
    await liveUntil(() => run.ended, 3)
    expect(run.child.signalCode, run.errors).toBe('SIGKILL')
    expect(await servingDatabase(db)).toBe(second)
    await liveUntil(() => true, 3)
    await settle()
    const again = replay('--into', second)
    await until('it has ended', () => again.ended)
    expect(again).toMatchObject({ output: `${second} already serves instead of ${name}\n` })
    const refused = replay('--into', 'no-name')
    await until('it has ended', () => refused.ended)
    expect(refused.child.exitCode).toBe(2)
    expect(refused.errors).toContain("got 'no-name'")
    await expectNoFault(LEAST_COMPARED)
  })

  it('it switches again, and the replaced database can be dropped before an explorer has noticed', async () => {
    mayBeBehind = true
    service['explorer']?.signal('SIGSTOP')
    const run = replay('--into', third)
    await liveUntil(() => run.ended, 3)
    expect(run.child.exitCode, run.errors).toBe(0)
    expect(run.output).toContain(`${third} serves from block`)
    expect(run.output).toContain(`DROP DATABASE ${second}\n`)
    const hasGoneOver = async (): Promise<boolean> => {
      const rows = await db.query<{ built: string }>(
        `SELECT argMax(replaces, writer) AS built FROM ${third}.writers`,
      )
      return rows[0]?.built === ''
    }
    await until('the materializer has gone over', hasGoneOver)
    const server = db.sibling('default')
    for (const each of [name, second]) await server.command(`DROP DATABASE ${each} SYNC`)
    await server.close()
    service['explorer']?.signal('SIGCONT')
    await liveUntil(() => true, 4)
    await settle()
    mayBeBehind = false
    await expectNoFault(LEAST_COMPARED)
  })

  it('the feed was numbered without a gap, also after a restart, which finds the new database', async () => {
    const { messages } = feed
    const of = (from: FeedClient, channel: string): Record<string, unknown>[] =>
      from.messages.filter((message) => message['channel'] === channel && 'seq' in message)
    // On a fast machine, the replays above took only a few steps, of which every second one is a reorganisation.
    await liveUntil(() => steps >= 12, 0)
    for (const channel of ['blocks', 'reorgs']) {
      await until(`several of ${channel} are sent`, () => of(feed, channel).length > 4)
      const seqs = of(feed, channel).map(({ seq }) => Number(seq))
      expect(seqs).toEqual(seqs.map((_, index) => Number(seqs[0]) + index))
    }
    expect(messages.filter(({ type }) => type === 'error' || type === 'resync')).toEqual([])
    for (const what of ['explorer', 'materializer']) await service[what]?.kill()
    for (const what of ['explorer', 'materializer']) service[what]?.start()
    await until('the explorer is back', async () => (await ask('/stats/summary')).status === 200)
    const later = await FeedClient.connect(explorerUrl, '/ws')
    for (const channel of ['blocks', 'reorgs']) {
      const before = of(feed, channel)
      await later.subscribe(channel, Number(before[0]?.['seq']) - 1)
      await until('all are sent again', () => of(later, channel).length >= before.length)
      expect(of(later, channel)).toEqual(before)
    }
    await later.close()
    await liveUntil(() => true, 2)
    await settle()
    const serving = db.sibling(await servingDatabase(db))
    expect(serving.name).toBe(third)
    await expectSameRows(serving, clean.db)
    await serving.close()
    const names = await clean.db.query<{ name: string }>(
      `SELECT name FROM system.databases WHERE name = '${name}'`,
    )
    expect(names).toEqual([])
    expect(rounds).toBeGreaterThan(LEAST_ROUNDS)
  })
})
