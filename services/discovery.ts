import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from './config.js'
import type { Logger } from './logger.js'

/** What a process leaves in DATA_DIR so that others on this machine find it. */
export interface Endpoint {
  readonly url: string
  readonly pid: number
}

export interface Waiting {
  readonly signal?: AbortSignal
  readonly logger?: Logger
}

const LOOK_AGAIN_MS = 200
const SAY_AGAIN_MS = 10_000

/** URL of the ClickHouse server: CLICKHOUSE_URL, or that of the embedded engine, for which it waits. Rejects when aborted. */
export function engineUrl(config: Config, waiting: Waiting = {}): Promise<string> {
  if (config.clickhouseUrl !== undefined) return Promise.resolve(config.clickhouseUrl)
  const help =
    "no engine is running on this DATA_DIR: start it with 'npm run engine' (or all with 'npm start'), or set CLICKHOUSE_URL"
  return waitForEndpoint(join(config.dataDir, 'engine.json'), help, waiting)
}

/** URL of the node's RPC: NODE_RPC_URL, or that of the simulated node, for which it waits. Rejects when aborted. */
export function nodeUrl(config: Config, waiting: Waiting = {}): Promise<string> {
  if (config.nodeRpcUrl !== undefined) return Promise.resolve(config.nodeRpcUrl)
  const help =
    "no simulated node is running on this DATA_DIR: start it with 'npm run simnode' (or all with 'npm start'), or set NODE_RPC_URL"
  return waitForEndpoint(join(config.dataDir, 'simnode.json'), help, waiting)
}

/** URL of the ClickHouse server as it is known now, without waiting: undefined where no embedded engine is running. */
export async function presentEngineUrl(config: Config): Promise<string | undefined> {
  return config.clickhouseUrl ?? (await readEndpoint(join(config.dataDir, 'engine.json')))?.url
}

/** URL of the node's RPC as it is known now, without waiting: undefined where no simulated node is running. */
export async function presentNodeUrl(config: Config): Promise<string | undefined> {
  return config.nodeRpcUrl ?? (await readEndpoint(join(config.dataDir, 'simnode.json')))?.url
}

/** Makes a process findable; the file appears whole. */
export async function announceEndpoint(file: string, endpoint: Endpoint): Promise<void> {
  const draft = `${file}.${String(process.pid)}`
  await writeFile(draft, `${JSON.stringify(endpoint)}\n`)
  await rename(draft, file)
}

export function withdrawEndpoint(file: string): Promise<void> {
  return rm(file, { force: true })
}

/** What the file tells, undefined where there is none or its process is gone. */
export async function readEndpoint(file: string): Promise<Endpoint | undefined> {
  const content = await readFile(file, 'utf8').catch(() => undefined)
  if (content === undefined) return undefined
  const endpoint = parseEndpoint(content)
  return endpoint !== undefined && isAlive(endpoint.pid) ? endpoint : undefined
}

async function waitForEndpoint(file: string, help: string, { signal, logger }: Waiting): Promise<string> {
  for (let waited = 0; ; waited += LOOK_AGAIN_MS) {
    const endpoint = await readEndpoint(file)
    if (endpoint !== undefined) return endpoint.url
    // Not at once: started together, the other one needs a second.
    if (waited % SAY_AGAIN_MS === SAY_AGAIN_MS / 5) logger?.warn({ file }, help)
    await sleep(LOOK_AGAIN_MS, undefined, signal === undefined ? {} : { signal })
  }
}

function parseEndpoint(content: string): Endpoint | undefined {
  try {
    const value: unknown = JSON.parse(content)
    if (typeof value !== 'object' || value === null) return undefined
    const { url, pid } = value as Partial<Endpoint>
    return typeof url === 'string' && typeof pid === 'number' ? { url, pid } : undefined
  } catch {
    return undefined
  }
}

/** Whether there is a process with this number. */
export function isAlive(pid: number): boolean {
  // 0 and below name groups of processes.
  if (!(Number.isInteger(pid) && pid > 0)) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
