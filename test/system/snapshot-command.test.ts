import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { loadConfig } from '../../services/config.js'
import { freePort } from '../../services/process/ports.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { compareWithNode } from '../../services/snapshot/comparison.js'
import { getAnswer } from '../harness/pipeline.js'
import { ROOT, ServiceProcess } from '../harness/processes.js'
import { quickFolder } from '../harness/quick-folder.js'
import { until } from '../harness/until.js'

const BLOCKS = 60
const DEPTH = '20'

interface Outcome {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

describe('npm run snapshot', () => {
  const running: ServiceProcess[] = []
  const name = `t_snapshot_${String(process.pid)}_command`
  let folder = ''
  let node: Simnode

  beforeAll(async () => {
    folder = await quickFolder('headwater-snapshot-command-')
    node = await startSimnode({ seed: 'snapshots', blocks: BLOCKS, txsPerBlock: 2, blockIntervalMs: 0 })
  })
  afterAll(async () => {
    await stopAll()
    await node.close()
    const db = new Database({ url: inject('engineUrl'), database: 'default' })
    for (const each of [name, `${name}_first`, `${name}_bad`])
      await db.command(`DROP DATABASE IF EXISTS ${each} SYNC`)
    await db.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  })

  const environment = (data: string): Record<string, string> => ({
    DATA_DIR: join(folder, data),
    NODE_RPC_URL: node.url,
    EXPLORER_GRPC_PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
    POLL_INTERVAL_MS: '200',
    FINALITY_DEPTH: DEPTH,
  })

  /** Starts all processes of an explorer on a folder, with an engine of its own unless settings name a server. @returns the URL of its API. */
  async function startAll(data: string, settings: Readonly<Record<string, string>> = {}): Promise<string> {
    const port = String(await freePort())
    await mkdir(join(folder, data), { recursive: true })
    const engine = settings['CLICKHOUSE_URL'] === undefined ? ['engine'] : []
    for (const each of [...engine, 'poller', 'materializer', 'explorer']) {
      const env = { ...environment(data), EXPLORER_PORT: port, ...settings }
      running.push(new ServiceProcess(each, env, join(folder, `${data}-${each}.log`)).start())
    }
    return `http://127.0.0.1:${port}/api/v1`
  }

  async function stopAll(): Promise<void> {
    for (const each of running.splice(0).reverse()) await each.kill('SIGTERM')
  }

  const shows = (url: string, tip: string): Promise<unknown> =>
    until(`${url} shows ${tip}`, async () => (await getAnswer(`${url}/blocks/tip`)).body.hash === tip)

  /** Runs the command. @param killIf called all the time; the process is killed when it returns true. */
  async function run(
    data: string,
    args: readonly string[],
    settings: Readonly<Record<string, string>> = {},
    killIf?: () => Promise<boolean>,
  ): Promise<Outcome> {
    const child = spawn(process.execPath, [join(ROOT, 'dist/services/snapshot/main.js'), ...args], {
      env: { PATH: process.env['PATH'], ...environment(data), ...settings },
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
    const closed = once(child, 'close')
    const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
    if (killIf !== undefined) {
      await until('the moment of the kill', async () => (await killIf().catch(() => false)) || isOver())
      child.kill('SIGKILL')
    }
    const [status, signal] = (await closed) as [number | null, NodeJS.Signals | null]
    return { status, signal, out, err }
  }

  const jsonIn = async (file: string): Promise<{ files: unknown[]; done: number }> =>
    JSON.parse(await readFile(join(folder, file), 'utf8')) as { files: unknown[]; done: number }

  it('fills a second machine, which continues with the node, from a first one that was not stopped', async () => {
    const first = join(folder, 'first')
    const onServer = { CLICKHOUSE_URL: inject('engineUrl'), CLICKHOUSE_DATABASE: `${name}_first` }
    const url = await startAll('a', onServer)
    await shows(url, node.chain.tip.hash)
    const to = ['--to', first, '--file-bytes', '20000']
    const killed = await run(
      'a',
      to,
      onServer,
      async () => (await jsonIn('first/unfinished.json')).files.length > 3,
    )
    expect(killed.signal, killed.err).toBe('SIGKILL')
    await expect(access(join(first, 'manifest.json'))).rejects.toThrow()
    const saved = await run('a', to, onServer)
    expect(saved.err).toMatch(
      new RegExp(`continuing the snapshot of block ${String(BLOCKS)} after \\d+ files`),
    )
    expect(saved.out).toMatch(
      new RegExp(
        `first is a snapshot of btq-regtest at block ${String(BLOCKS)} ${node.chain.tip.hash}: \\d+ files, \\d`,
      ),
    )
    expect(saved.status).toBe(0)
    await stopAll()

    const from = ['--from', first]
    const stopped = await run('b', from, {}, async () => (await jsonIn('b/snapshot.json')).done > 3)
    expect(stopped.signal, stopped.err).toBe('SIGKILL')
    const restored = await run('b', from)
    expect(restored.err).toMatch(/^snapshot: continuing after \d+ files\n/)
    expect(restored.out).toMatch(/^restored btq-regtest at block \d+ /)
    expect(restored.out).toMatch(
      /\ncompared with the node: no difference \(chain, supply, balances, addresses, blocks, days; seed \d+\)\n$/,
    )
    expect(restored.status).toBe(0)
    // The node reorganises below the block of the snapshot while nothing follows it.
    node.simulation.reorg(7)
    node.simulation.mine({ blocks: 3 })
    const second = await startAll('b')
    await shows(second, node.chain.tip.hash)
    const audited = await auditOf('b')
    expect(audited).toMatch(/no difference at block/)
    // The rich list, whose rankings are not part of a snapshot.
    expect((await getAnswer(`${second}/stats/richlist`)).status).toBe(200)
    const whole = await run('b', ['--to', join(folder, 'whole')])
    expect(whole.status, whole.err).toBe(0)
    await stopAll()
    const alone = await run('b', ['--to', join(folder, 'alone')])
    expect(alone.status, alone.err).toBe(0)
  })

  async function auditOf(data: string): Promise<string> {
    const audit = new ServiceProcess('audit', environment(data), join(folder, `${data}-audit.log`))
    await audit.start().ended()
    return readFile(join(folder, `${data}-audit.log`), 'utf8')
  }

  it('without a node says so, and with one that differs shows nothing', async () => {
    const server = { CLICKHOUSE_URL: inject('engineUrl'), CLICKHOUSE_DATABASE: name }
    const from = ['--from', join(folder, 'whole')]
    const alone = await run('c', from, { ...server, NODE_RPC_URL: 'http://127.0.0.1:1' })
    expect(alone.status, alone.err).toBe(0)
    expect(alone.out).toMatch(/\nnot compared with a node: .*; when npm start has caught up, npm run audit/)

    const db = new Database({ url: inject('engineUrl'), database: name })
    await db.command('ALTER TABLE blocks UPDATE supply = supply + 1 WHERE 1 SETTINGS mutations_sync = 1')
    await db.close()
    const saved = await run('c', ['--to', join(folder, 'bad')], server)
    expect(saved.status, saved.err).toBe(0)
    const bad = await run('d', ['--from', join(folder, 'bad')], {
      ...server,
      CLICKHOUSE_DATABASE: `${name}_bad`,
    })
    expect(bad.out).toMatch(
      /^compared with the node: \d+ differences\nsupply: supply at block \d+: indexed \d+, expected \d+\n/,
    )
    expect(bad.out).toMatch(/\nnothing of it is served: remove the database and the log\n$/)
    expect(bad.status).toBe(1)
    const other = new Database({ url: inject('engineUrl'), database: `${name}_bad` })
    expect(await latestHead(other)).toBeUndefined()
    await other.close()

    const log = await openEmbeddedLog(join(folder, 'c/log'))
    const restored = new Database({ url: inject('engineUrl'), database: name })
    const head = await latestHead(restored)
    await restored.command(
      'ALTER TABLE blocks UPDATE supply = supply - 1 WHERE 1 SETTINGS mutations_sync = 1',
    )
    const compare = () =>
      compareWithNode({
        config: loadConfig(environment('c')),
        db: restored,
        log,
        head: { height: head?.tipHeight ?? -1, hash: head?.tipHash ?? '' },
      })
    node.simulation.mine()
    expect((await compare()).message).toMatch(/no difference \(chain, balances, blocks, days; seed/)
    node.simulation.reorg(3)
    expect((await compare()).message).toMatch(
      /^not compared with a node: the chain of the node, which is at block \d+, does not have block \d+ of the snapshot/,
    )
    await Promise.all([restored.close(), log.close()])
  })

  it('refuses arguments that it does not understand', async () => {
    const both = ['--to', 'a', '--from', 'b']
    const message = 'HW_USAGE: name one folder or URL, with --to or with --from'
    expect(await run('e', both)).toMatchObject({ status: 1, err: `snapshot: ${message}\n` })
    const bytes = await run('e', ['--to', 'a', '--file-bytes', 'x'])
    expect(bytes.err).toBe("snapshot: HW_USAGE: --file-bytes must be an integer above 0, got 'x'\n")
    expect((await run('e', ['--help'])).out).toMatch(/^npm run snapshot -- --to FOLDER\|URL/)
  })
})
