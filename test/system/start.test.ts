import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BITCOIN_REGTEST } from '../../pipelines/chain/networks.js'
import { freePort } from '../../services/process/ports.js'
import { quickFolder } from '../harness/quick-folder.js'
import { until } from '../harness/until.js'

const ROOT = resolve(import.meta.dirname, '../..')

interface Run {
  readonly child: ChildProcess
  /** Resolves with the exit status, or the signal's name. */
  readonly ended: Promise<number | string>
  out: string
  err: string
}

describe('npm start', () => {
  let folder = ''
  const runs: Run[] = []

  beforeEach(async () => {
    folder = await quickFolder('headwater-npm-start-')
    await mkdir(join(folder, 'pages'))
    await writeFile(join(folder, 'pages/index.md'), '# Headwater\n\nA page.\n')
  })

  afterEach(async () => {
    for (const { child, ended } of runs.splice(0)) {
      child.kill('SIGTERM')
      await ended
    }
    await until('everything has ended', async () => (await processesOf(folder)).length === 0)
    await rm(folder, { recursive: true, force: true })
  })

  function start(
    port: number,
    command: readonly string[] = [process.execPath, 'deploy/bootstrap.mjs', 'start'],
    settings: Readonly<Record<string, string>> = { CONTENT_DIR: join(folder, 'pages') },
  ): Run {
    const [file = '', ...args] = command
    const child = spawn(file, args, {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'],
        DATA_DIR: folder,
        EXPLORER_PORT: String(port),
        EXPLORER_GRPC_PORT: '0',
        DOCS_PORT: '0',
        RETRIEVAL_GRPC_PORT: '0',
        RATE_LIMIT_PER_MINUTE: '0',
        // Otherwise retrieval would download its model; other tests do that.
        EMBEDDING_MODEL_DIR: join(folder, 'no-model'),
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
    const run: Run = { child, ended, out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (run.out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (run.err += text))
    runs.push(run)
    return run
  }

  async function ready(run: Run): Promise<string> {
    const isReady = (): string | undefined => /^ready explorer=(\S+) docs=\S+\n/.exec(run.out)?.[1]
    const exited = run.ended.then((status) => {
      throw new Error(`exited (${String(status)}) before it was ready: ${run.err}`)
    })
    const line = until('the ready line', isReady).catch((error: unknown) => {
      throw new Error(run.err, { cause: error })
    })
    return Promise.race([line, exited])
  }

  const summary = async (url: string): Promise<{ tipHeight: number; tipMatch: boolean }> =>
    (await (await fetch(`${url}/api/v1/stats/summary`)).json()) as { tipHeight: number; tipMatch: boolean }

  it('reports once that it is ready, shows a chain that grows, restarts processes that die, and exits cleanly', async () => {
    const run = start(0)
    const url = await ready(run)
    await until('the history is there', async () => (await summary(url)).tipHeight >= 200)
    const docs = /docs=(\S+)\n/.exec(run.out)?.[1] ?? ''
    expect(await (await fetch(docs)).text()).toContain(`<a class="site" href="${url}/">Explorer</a>`)
    const { tipHeight } = await summary(url)
    await until('another block', async () => (await summary(url)).tipHeight > tipHeight)
    const killed = async (name: string): Promise<void> => {
      // The earlier process took its child with it, which is restarted a little later.
      const victim = await until(`${name} runs`, async () => (await processesOf(folder, name))[0])
      process.kill(victim, 'SIGKILL')
      await until(`${name} is there again`, async () => {
        const [now] = await processesOf(folder, name)
        return now !== undefined && now !== victim
      })
    }
    await Promise.all(['explorer', 'materializer', 'poller', 'simnode', 'docs', 'retrieval'].map(killed))
    for (const name of ['engine/main', 'engine/child']) await killed(name)
    const before = await until('it answers again', async () => (await summary(url)).tipHeight)
    await until('it grows again', async () => {
      const now = await summary(url)
      return now.tipHeight > before && now.tipMatch
    })
    run.child.kill('SIGINT')
    expect(await run.ended).toBe(0)
    expect(run.out.split('\n')).toHaveLength(2)
    await until('nothing is left', async () => (await processesOf(folder)).length === 0)
  })

  it('refuses a second start on the same folder; the first continues, and exits when npm gets a signal, which npm sends only to a shell in between', async () => {
    // With the documentation of Headwater, which takes seconds to read.
    const first = start(0, ['npm', '--silent', 'start'], {})
    const url = await ready(first)
    const second = start(await freePort())
    expect(await second.ended).toBe(1)
    expect(second.err).toContain(folder)
    expect((await fetch(`${url}/health`)).ok).toBe(true)
    expect((await processesOf(folder)).length).toBeGreaterThan(5)
    first.child.kill('SIGTERM')
    await until('nothing is left', async () => (await processesOf(folder)).length === 0)
  })

  it('names a port that is in use and exits with status 1, without retrying', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const run = start(port)
    expect(await run.ended).toBe(1)
    expect(run.err).toContain(`Port ${String(port)} on 127.0.0.1`)
    expect(run.err).toContain('EXPLORER_PORT')
    expect(run.out).toBe('')
    other.close()
  })

  it('simulates the chain that --chain names; if it is killed, all its processes exit; it refuses a folder of another chain and an unknown name', async () => {
    const command = [process.execPath, 'deploy/bootstrap.mjs', 'start', '--chain']
    const bitcoin = start(0, [...command, 'bitcoin-regtest'])
    const url = await ready(bitcoin)
    const block = (await (await fetch(`${url}/api/v1/block/0`)).json()) as { hash: string }
    expect(block.hash).toBe(BITCOIN_REGTEST.genesisHash)
    expect((await processesOf(folder)).length).toBeGreaterThan(5)
    bitcoin.child.kill('SIGKILL')
    await until('nothing is left', async () => (await processesOf(folder)).length === 0)
    const other = start(0, [...command, 'btq-regtest'])
    expect(await other.ended).not.toBe(0)
    expect(other.err + other.out).toContain('contains another chain (bitcoin-regtest headwater')
    const unknown = start(0, [...command, 'dogecoin'])
    expect(await unknown.ended).not.toBe(0)
    expect(unknown.err).toContain('--chain must be one of btq-main, ')
  })
})

/** Processes with this DATA_DIR whose command line contains `name`. */
async function processesOf(dataDir: string, name = ''): Promise<number[]> {
  const ids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))
  const found: number[] = []
  for (const id of ids) {
    const read = (file: string): Promise<string> => readFile(`/proc/${id}/${file}`, 'utf8').catch(() => '')
    const [environment, command] = [await read('environ'), await read('cmdline')]
    if (environment.includes(`DATA_DIR=${dataDir}\0`) && command.includes(name)) found.push(Number(id))
  }
  return found
}
