import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.js'
import type { Logger } from './logger.js'

/** The content of the file in DATA_DIR by which other processes on this machine find a process. */
export interface Endpoint {
  readonly url: string
  readonly pid: number
}

export interface Waiting {
  readonly signal?: AbortSignal
  readonly logger?: Logger
}

const CHECK_EVERY_MS = 200
const LOG_EVERY_MS = 10_000

/** Returns CLICKHOUSE_URL, or the URL of the embedded engine after waiting for it. Rejects when aborted. */
export function engineUrl(config: Config, waiting: Waiting = {}): Promise<string> {
  if (config.clickhouseUrl !== undefined) return Promise.resolve(config.clickhouseUrl)
  const help =
    "no engine is running on this DATA_DIR: start it with 'npm run engine' (or all with 'npm start'), or set CLICKHOUSE_URL"
  return waitForEndpoint(join(config.dataDir, 'engine.json'), help, waiting)
}

/** Returns NODE_RPC_URL, or the URL of the simulated node after waiting for it. Rejects when aborted. */
export function nodeUrl(config: Config, waiting: Waiting = {}): Promise<string> {
  if (config.nodeRpcUrl !== undefined) return Promise.resolve(config.nodeRpcUrl)
  const help =
    "no simulated node is running on this DATA_DIR: start it with 'npm run simnode' (or all with 'npm start'), or set NODE_RPC_URL"
  return waitForEndpoint(join(config.dataDir, 'simnode.json'), help, waiting)
}

/** Returns the URL of the ClickHouse server without waiting; undefined if the embedded engine is needed and not running. */
export async function presentEngineUrl(config: Config): Promise<string | undefined> {
  return config.clickhouseUrl ?? (await readEndpoint(join(config.dataDir, 'engine.json')))?.url
}

/** Returns the URL of the node's RPC without waiting; undefined if the simulated node is needed and not running. */
export async function presentNodeUrl(config: Config): Promise<string | undefined> {
  return config.nodeRpcUrl ?? (await readEndpoint(join(config.dataDir, 'simnode.json')))?.url
}

/** Publishes the endpoint of a process. The file appears atomically. */
export async function announceEndpoint(file: string, endpoint: Endpoint): Promise<void> {
  const draft = `${file}.${String(process.pid)}`
  await writeFile(draft, `${JSON.stringify(endpoint)}\n`)
  await rename(draft, file)
}

export function withdrawEndpoint(file: string): Promise<void> {
  return rm(file, { force: true })
}

/** Reads an endpoint; returns undefined if the file does not exist or is invalid, or its process has exited. */
export async function readEndpoint(file: string): Promise<Endpoint | undefined> {
  const content = await readFile(file, 'utf8').catch(() => undefined)
  if (content === undefined) return undefined
  const endpoint = parseEndpoint(content)
  return endpoint !== undefined && isAlive(endpoint.pid) ? endpoint : undefined
}

async function waitForEndpoint(file: string, help: string, { signal, logger }: Waiting): Promise<string> {
  for (let waitedMs = 0; ; waitedMs += CHECK_EVERY_MS) {
    const endpoint = await readEndpoint(file)
    if (endpoint !== undefined) return endpoint.url
    // Not immediately: a process that is started at the same time needs about a second.
    if (waitedMs % LOG_EVERY_MS === LOG_EVERY_MS / 5) logger?.warn({ file }, help)
    await sleep(CHECK_EVERY_MS, undefined, signal === undefined ? {} : { signal })
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

/** Returns whether a process with this ID exists. */
export function isAlive(pid: number): boolean {
  // 0 and negative numbers denote process groups.
  if (!(Number.isInteger(pid) && pid > 0)) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
