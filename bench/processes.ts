import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../services/process/ports.js'
import { ServiceProcess } from '../test/harness/processes.js'
import { NETWORK } from './network.js'
import { controlNode } from './node-control.js'
import type { Figure } from './report.js'

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
  // Otherwise they would continue, and hold folders that a later run needs.
  const onSignal = (): void => {
    const stopped = Promise.all(started.map((each) => each.kill('SIGTERM')))
    void stopped.then(() => rm(folder, { recursive: true, force: true })).finally(() => process.exit(143))
  }
  process.once('SIGTERM', onSignal)
  try {
    return await suite(start, folder)
  } finally {
    process.off('SIGTERM', onSignal)
    // SIGTERM first: an engine whose supervisor is killed continues to write for a moment.
    for (const each of started.reverse()) await each.kill('SIGTERM')
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  }
}

export interface NodeOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly blockMs?: number
  readonly mix?: 'rich' | 'cheap'
  /** The time between blocks after the history; 0 by default: none. The mempool changes five times as often. */
  readonly blockIntervalMs?: number
  /** The share of blocks that are reorganisations; none by default. */
  readonly reorgRate?: number
}

/** Longer than a simulated node takes to make a million transactions. */
const HISTORY_MS = 3_600_000

/** Starts a simulated node and waits until its history is made. The chain is stored below the folder. */
export async function simulatedNode(
  start: Start,
  folder: string,
  options: NodeOptions,
): Promise<{ url: string; node: ServiceProcess }> {
  const port = await freePort()
  const { blocks, txsPerBlock, blockMs = 0, blockIntervalMs = 0, reorgRate = 0, mix } = options
  const numbers = {
    port,
    blocks,
    'txs-per-block': txsPerBlock,
    'block-interval-ms': blockIntervalMs,
    'block-ms': blockMs,
    'reorg-rate': reorgRate,
    seed: 7,
  }
  const node = start('simnode', {}, [
    ...Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)]),
    '--chain',
    NETWORK.name,
    '--data-dir',
    join(folder, 'simnode'),
    ...(mix === undefined ? [] : ['--mix', mix]),
  ])
  const url = `http://bench:bench@127.0.0.1:${String(port)}`
  await settled(async () => (await controlNode(url, 'state', 'GET')).height >= blocks, HISTORY_MS, [node])
  return { url, node }
}

/** Starts an engine and waits until it responds. */
export async function engineOf(
  start: Start,
  env: Record<string, string> = {},
): Promise<{ url: string; engine: ServiceProcess }> {
  const port = await freePort()
  const engine = start('engine', env, ['--http-port', String(port)])
  const url = `http://127.0.0.1:${String(port)}`
  await settled(async () => (await fetch(`${url}/ping`)).ok, 120_000, [engine])
  return { url, engine }
}

/** Starts an explorer without a rate limit, and waits until it responds. */
export async function explorerOf(
  start: Start,
  env: Record<string, string>,
): Promise<Pick<Stack, 'url' | 'port' | 'esploraUrl' | 'electrumPort' | 'explorer'>> {
  const [port, esploraPort, electrumPort] = [await freePort(), await freePort(), await freePort()]
  const own = {
    EXPLORER_PORT: String(port),
    EXPLORER_GRPC_PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
    ESPLORA_PORT: String(esploraPort),
    ESPLORA_RATE_LIMIT_PER_MINUTE: '0',
    ELECTRUM_PORT: String(electrumPort),
    ELECTRUM_RATE_LIMIT_PER_MINUTE: '0',
  }
  const explorer = start('explorer', { ...env, ...own })
  const origin = `http://127.0.0.1:${String(port)}`
  await settled(async () => (await fetch(`${origin}/health`)).status < 600, 60_000, [explorer])
  const esploraUrl = `http://127.0.0.1:${String(esploraPort)}`
  return { url: `${origin}/api/v1`, port, esploraUrl, electrumPort, explorer }
}

/** Returns the height of the chain that an explorer shows, undefined before it shows one. @param url of its API. */
export async function chainHeight(url: string): Promise<number | undefined> {
  const answer = await fetch(`${url}/stats/summary`)
  return ((await answer.json()) as { tipHeight?: number }).tipHeight
}

/** The maximum size of the explorer, MB. */
export const MAX_EXPLORER_MB = 300
const SIZE_LOOK_MS = 200

/** Measures, and adds the largest size of the explorer until the end of that. */
export async function withPeakSize(
  explorer: ServiceProcess,
  measure: () => Promise<readonly Figure[]>,
): Promise<Figure[]> {
  const sampling = setInterval(() => explorer.rssMb(), SIZE_LOOK_MS)
  try {
    return [...(await measure()), peakSize(explorer)]
  } finally {
    clearInterval(sampling)
  }
}

/** Returns the largest size of the explorer of those that were sampled. */
export function peakSize({ peakMb }: ServiceProcess): Figure {
  return { name: 'explorer_peak_rss', value: peakMb, unit: 'MB', most: MAX_EXPLORER_MB }
}

/** Returns the first 100 txids of a block. @param url of an explorer's API. */
export async function txidsAt(url: string, height: number): Promise<string[]> {
  const answer = await fetch(`${url}/block/${String(height)}/txs?limit=100`)
  const { items } = (await answer.json()) as { items: readonly { readonly txid: string }[] }
  return items.map(({ txid }) => txid)
}

/** All processes of an index of a simulated chain. */
export interface Stack {
  /** The URL of the API. */
  readonly url: string
  readonly port: number
  /** The URL of Esplora's API. */
  readonly esploraUrl: string
  readonly electrumPort: number
  readonly nodeUrl: string
  readonly engineUrl: string
  readonly node: ServiceProcess
  readonly engine: ServiceProcess
  readonly poller: ServiceProcess
  readonly materializer: ServiceProcess
  readonly explorer: ServiceProcess
}

/** Indexes a simulated chain, and returns when the explorer shows its history. All processes continue. @param env of the explorer. */
export async function startStack(
  start: Start,
  folder: string,
  options: NodeOptions,
  env: Readonly<Record<string, string>> = {},
): Promise<Stack> {
  const { url, node } = await simulatedNode(start, folder, options)
  return { node, ...(await indexOf(start, url, options.blocks, env)) }
}

/** Indexes the chain of a node, and returns when the explorer shows its blocks. All processes continue. @param env of the explorer. */
export async function indexOf(
  start: Start,
  nodeUrl: string,
  blocks: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Omit<Stack, 'node'>> {
  const { url: engineUrl, engine } = await engineOf(start)
  const node = { NODE_RPC_URL: nodeUrl }
  const [poller, materializer] = [start('poller', node), start('materializer', node)]
  const explorer = await explorerOf(start, { ...node, ...env })
  const processes = [engine, poller, materializer, explorer.explorer]
  await settled(async () => ((await chainHeight(explorer.url)) ?? -1) >= blocks, 1_800_000, processes)
  return { nodeUrl, engineUrl, engine, poller, materializer, ...explorer }
}

/** Starts an explorer of a simulated chain, and returns when it shows all of it and no work is left. @param env of the explorer. */
export async function indexedExplorer(
  start: Start,
  folder: string,
  options: NodeOptions,
  env: Readonly<Record<string, string>> = {},
): Promise<Stack> {
  const stack = await startStack(start, folder, options, env)
  await Promise.all([stack.poller.kill('SIGTERM'), stack.materializer.kill('SIGTERM')])
  // It writes its transaction store.
  await becomeIdle([stack.explorer])
  return stack
}

/**
 * Polls until the condition holds.
 * @param needed processes without which it will not.
 * @throws Error after the time, or if one of the processes has exited.
 */
export async function settled(
  look: () => Promise<boolean>,
  timeoutMs: number,
  needed: readonly Pick<ServiceProcess, 'alive' | 'report'>[] = [],
): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!(await look().catch(() => false))) {
    const exited = needed.find(({ alive }) => !alive)
    if (exited !== undefined) throw new Error(exited.report())
    if (Date.now() > end) throw new Error('the benchmark timed out')
    await sleep(200)
  }
}

/** Processes are idle if they use less than this share of a core in this time. */
const IDLE_SHARE = 0.2
const IDLE_LOOK_MS = 5_000
const MAX_IDLE_WAIT_MS = 900_000

/**
 * Waits until processes have nothing more to do: merges, rankings and lists that follow an import.
 * @throws Error if they are not idle after a quarter of an hour.
 */
export async function becomeIdle(processes: readonly ServiceProcess[]): Promise<void> {
  const used = (): number => processes.reduce((sum, each) => sum + each.cpuSeconds(), 0)
  const isIdle = async (): Promise<boolean> => {
    const before = used()
    await sleep(IDLE_LOOK_MS)
    return processes.every(({ alive }) => alive) && used() - before < (IDLE_SHARE * IDLE_LOOK_MS) / 1000
  }
  await settled(isIdle, MAX_IDLE_WAIT_MS, processes)
}
