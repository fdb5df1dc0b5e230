import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../services/ports.js'
import { ServiceProcess } from '../test/harness/processes.js'

/** Starts one of the project's processes. */
export type Start = (name: string, env: Record<string, string>, args?: string[]) => ServiceProcess

/** Runs a suite with a data folder of its own; stops all processes that it started and removes the folder. */
export async function withProcesses<T>(suite: (start: Start, folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-bench-'))
  const started: ServiceProcess[] = []
  const start: Start = (name, env, args = []) => {
    const settings = { DATA_DIR: folder, LOG_LEVEL: 'info', ...env }
    const each = new ServiceProcess(name, settings, join(folder, `${name}.log`), args)
    started.push(each)
    return each.start()
  }
  try {
    return await suite(start, folder)
  } finally {
    // SIGTERM first: an engine whose supervisor is killed continues to write for a moment.
    for (const each of started.reverse()) await each.kill('SIGTERM')
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  }
}

/** Starts a simulated node and waits until its history is made. */
export async function simulatedNode(
  start: Start,
  folder: string,
  options: {
    readonly blocks: number
    readonly txsPerBlock: number
    readonly blockMs?: number
    readonly mix?: 'rich' | 'cheap'
  },
): Promise<{ url: string; node: ServiceProcess }> {
  const port = await freePort()
  const node = start('simnode', {}, [
    ...[
      '--port',
      String(port),
      '--blocks',
      String(options.blocks),
      '--txs-per-block',
      String(options.txsPerBlock),
    ],
    ...['--block-interval-ms', '0', '--data-dir', join(folder, 'simnode'), '--seed', '7'],
    ...['--block-ms', String(options.blockMs ?? 0)],
    ...(options.mix === undefined ? [] : ['--mix', options.mix]),
  ])
  const url = `http://bench:bench@127.0.0.1:${String(port)}`
  await settled(async () => (await rpc(url, 'getblockcount')) === options.blocks, 600_000)
  return { url, node }
}

/** Starts an explorer of a simulated chain, and returns when it shows all of it and no work is left. */
export async function indexedExplorer(
  start: Start,
  folder: string,
  options: Parameters<typeof simulatedNode>[2],
): Promise<{ url: string; port: number; nodeUrl: string; explorer: ServiceProcess }> {
  const { url: nodeUrl } = await simulatedNode(start, folder, options)
  const [http, port] = [await freePort(), await freePort()]
  start('engine', {}, ['--http-port', String(http)])
  const env = {
    NODE_RPC_URL: nodeUrl,
    EXPLORER_PORT: String(port),
    EXPLORER_GRPC_PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
  }
  const [poller, materializer] = [start('poller', env), start('materializer', env)]
  const explorer = start('explorer', env)
  const url = `http://127.0.0.1:${String(port)}/api/v1`
  await settled(async () => {
    const summary = (await (await fetch(`${url}/stats/summary`)).json()) as { tipHeight?: number }
    return summary.tipHeight === options.blocks
  }, 600_000)
  await Promise.all([poller.kill('SIGTERM'), materializer.kill('SIGTERM')])
  return { url, port, nodeUrl, explorer }
}

/**
 * Polls until the condition holds.
 * @throws Error after the time.
 */
export async function settled(look: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!(await look().catch(() => false))) {
    if (Date.now() > end) throw new Error('the benchmark timed out')
    await sleep(200)
  }
}

async function rpc(url: string, method: string): Promise<unknown> {
  const { protocol, host } = new URL(url)
  const body = JSON.stringify({ jsonrpc: '1.0', id: 1, method, params: [] })
  const answer = await fetch(`${protocol}//${host}`, {
    method: 'POST',
    body,
    headers: { authorization: 'Basic YmVuY2g6YmVuY2g=' },
  })
  return ((await answer.json()) as { result: unknown }).result
}
