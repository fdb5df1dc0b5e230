import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { openLog } from '../../pipelines/log/open.js'
import type { AuditReport } from '../../pipelines/audit/audit.js'
import { freePort } from '../../services/process/ports.js'
import { Load } from '../harness/load.js'
import { getAnswer } from '../harness/pipeline.js'
import { ROOT, ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { type ChainTopic, readChainTopic } from './log-gaps.js'

export interface BackfillOptions {
  readonly seed: string
  readonly blocks: number
  readonly txsPerBlock: number
  /** The number of busy loops beside the processes. */
  readonly busy: number
  /** The number of loops that write and sync to the same disk. */
  readonly synced: number
  /** The folder of the simulated chain, which takes a while to make; a run with the same numbers uses it again. */
  readonly chainsDir: string | undefined
  readonly say: (line: string) => void
}

export interface BackfillResult {
  /** The violations; empty for a correct backfill. */
  readonly faults: readonly string[]
  /** From the start of the processes until all blocks were shown. */
  readonly seconds: number
  readonly log: ChainTopic
  readonly audit: AuditReport | undefined
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const PROCESSES = ['engine', 'poller', 'materializer', 'explorer'] as const
/** The backfill has stopped if no block follows in this time, however slow the machine. */
const STILL_MS = 300_000
const LOOK_MS = 1000
const SAY_EVERY_MS = 30_000
/** The time for the simulated node to make its chain before it answers. */
const CHAIN_MS = 1_800_000

/**
 * Indexes a simulated chain by processes that start at the same moment on an empty data directory, while others use
 * processors and disk; then reads the whole log, and audits the index.
 * @throws Error if it cannot be run.
 */
export async function backfill(options: BackfillOptions): Promise<BackfillResult> {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-backfill-'))
  const started: ServiceProcess[] = []
  const port = await freePort()
  const nodeUrl = `http://127.0.0.1:${String(port)}`
  const explorerPort = String(await freePort())
  const env = {
    DATA_DIR: folder,
    NODE_RPC_URL: nodeUrl,
    EXPLORER_PORT: explorerPort,
    EXPLORER_GRPC_PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
  }
  const start = (name: string, args: readonly string[] = []): ServiceProcess => {
    const each = new ServiceProcess(name, env, join(folder, `${name}.log`), args)
    started.push(each)
    return each.start()
  }
  let load: Load | undefined
  let keep = true
  const stopAll = async (): Promise<void> => {
    await load?.stop()
    // SIGTERM first: an engine whose supervisor is killed continues to write for a moment.
    for (const each of started.reverse()) await each.kill('SIGTERM')
    if (keep) options.say(`the data is in ${folder}; to remove it: rm -r ${folder}`)
    else await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  }
  const breakOff = (): void => {
    keep = false
    void stopAll().finally(() => process.exit(2))
  }
  for (const signal of SIGNALS) process.once(signal, breakOff)
  try {
    const node = start('simnode', simnodeArgs(options, folder, port))
    const hash = await tipOf(node, nodeUrl, options, join(folder, 'simnode.log'))
    load = new Load({ ...options, folder })
    const from = performance.now()
    const processes = PROCESSES.map((name) => start(name))
    const stuck = await filled({ processes, url: `http://127.0.0.1:${explorerPort}`, hash, options })
    const seconds = Math.round((performance.now() - from) / 1000)
    await load.stop()
    const log = await logOf(folder)
    const audit = stuck.length === 0 ? await auditOf(env) : undefined
    const faults = [...stuck, ...faultsOf(log, options), ...auditFaults(audit)]
    for (const name of PROCESSES)
      if (faults.length > 0) options.say(`${name}: ${await lastLines(join(folder, `${name}.log`))}`)
    keep = faults.length > 0
    return { faults, seconds, log, audit }
  } finally {
    for (const signal of SIGNALS) process.off(signal, breakOff)
    await stopAll()
  }
}

function simnodeArgs(options: BackfillOptions, folder: string, port: number): string[] {
  const { seed, blocks, txsPerBlock, chainsDir = folder } = options
  const name = `chain-${seed}-${String(blocks)}-${String(txsPerBlock)}`
  return [
    '--port',
    String(port),
    '--seed',
    seed,
    '--blocks',
    String(blocks),
    '--mix',
    'cheap',
    '--txs-per-block',
    String(txsPerBlock),
    '--block-interval-ms',
    '0',
    '--data-dir',
    join(chainsDir, name),
  ]
}

/**
 * Waits until the chain is made.
 * @returns the hash of its tip.
 */
async function tipOf(
  node: ServiceProcess,
  url: string,
  { blocks }: BackfillOptions,
  logFile: string,
): Promise<string> {
  const look = async (): Promise<{ height: number; hash: string } | 'ended' | undefined> => {
    if (!node.alive) return 'ended'
    const answer = await fetch(`${url}/control/state`)
    return answer.ok ? ((await answer.json()) as { height: number; hash: string }) : undefined
  }
  const state = await until('the simulated chain is made', look, CHAIN_MS)
  if (state === 'ended') throw new Error(`the simulated node ended: ${await lastLines(logFile)}`)
  if (state.height !== blocks) throw new Error(`the simulated chain has ${String(state.height)} blocks`)
  return state.hash
}

interface Filling {
  readonly processes: readonly ServiceProcess[]
  readonly url: string
  readonly hash: string
  readonly options: BackfillOptions
}

/**
 * Waits until the explorer shows the whole chain.
 * @returns the reason if it never will.
 */
async function filled({ processes, url, hash, options }: Filling): Promise<string[]> {
  let [height, movedAt, saidAt] = [-1, performance.now(), performance.now()]
  for (;;) {
    const answer = await getAnswer(`${url}/api/v1/blocks/tip`).catch(() => undefined)
    if (answer?.status === 200 && answer.tip === hash) return []
    const dead = processes.filter(({ alive }) => !alive).map(({ name }) => `${name} ended`)
    if (dead.length > 0) return dead
    const now = performance.now()
    if (answer?.status === 200 && answer.height > height) [height, movedAt] = [answer.height, now]
    if (now - saidAt > SAY_EVERY_MS) {
      saidAt = now
      options.say(`at block ${String(height)} of ${String(options.blocks)}`)
    }
    if (now - movedAt > STILL_MS) {
      const health = await fetch(`${url}/health`).then(
        (response) => response.text(),
        (error: unknown) => String(error),
      )
      return [`no progress at block ${String(height)}; /health: ${health}`]
    }
    await sleep(LOOK_MS)
  }
}

async function logOf(dataDir: string): Promise<ChainTopic> {
  const logger = pino({ level: 'silent' })
  const log = await openLog({ url: undefined, dataDir, logger, ssl: false, sasl: undefined })
  try {
    return await readChainTopic(log)
  } finally {
    await log.close()
  }
}

function faultsOf({ gaps, blocks }: ChainTopic, options: BackfillOptions): string[] {
  const found = gaps.map((gap) => `gap in the log: ${gap}`)
  if (blocks !== options.blocks + 1)
    found.push(`the log has ${String(blocks)} blocks of ${String(options.blocks + 1)}`)
  return found
}

/**
 * Runs the audit.
 * @returns the output of `npm run audit -- --json`.
 * @throws Error if it fails.
 */
async function auditOf(env: Readonly<Record<string, string>>): Promise<AuditReport> {
  const child = spawn(process.execPath, [join(ROOT, 'dist/services/audit/main.js'), '--json'], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve))
  if (status === 0 || status === 1) return JSON.parse(output) as AuditReport
  throw new Error(`audit failed: ${errors.trim().split('\n').at(-1) ?? ''}`)
}

function auditFaults(audit: AuditReport | undefined): string[] {
  return (audit?.checks ?? []).flatMap(({ name, differences }) =>
    differences.map(
      ({ what, indexed, expected }) => `audit ${name}: ${what}: indexed ${indexed}, expected ${expected}`,
    ),
  )
}

async function lastLines(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.trim().split('\n').slice(-3).join(' ')
}
