import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FolderInUse } from '../../pipelines/errors.js'
import type { Logger } from '../../pipelines/logger.js'
import { LOST_WRITES } from '../../pipelines/tables/lost-writes.js'
import { freePort, PortTaken } from '../process/ports.js'
import { engineSettings, type Settings } from './settings.js'

const HOST = '127.0.0.1'
const START_DEADLINE_MS = 60_000
/** Longer than the deadline in the child, so that it applies only if the child hangs. */
const STOP_DEADLINE_MS = 25_000
const LOOK_AGAIN_MS = 30
const PORT_ATTEMPTS = 5
/** The engine removes what a merge has replaced after some minutes. */
const LOOK_FOR_LOST_MS = 2_000
const ANSWER_MS = 2_000

export interface EngineOptions {
  /** The folder of the engine's data. Created if it is missing, kept when the engine stops. */
  readonly dataDir: string
  /** The HTTP port. Not set: a free one. */
  readonly httpPort?: number
  /** The port of ClickHouse's own protocol, by which servers query each other. Not set: none. */
  readonly tcpPort?: number
  /** The maximum memory. Not set: half of the machine's memory, at most 3 GiB. */
  readonly memoryBytes?: number
  /** The time to wait for another engine on the folder to exit, in milliseconds; 0 by default. */
  readonly lockWaitMs?: number
  readonly logger?: Logger
  /** Additional settings of the server's configuration. */
  readonly settings?: Settings & { readonly macros?: Settings }
}

export interface Engine {
  readonly url: string
  readonly pid: number
  /** Stops the engine cleanly after the requests in progress, and kills it if that takes too long. */
  stop(): Promise<void>
  /** Resolves when the process has exited, for whatever reason, with its last output. */
  readonly exited: Promise<string>
}

/**
 * Starts ClickHouse as a child process and resolves when it responds. It exits with this process, however this one exits.
 * @throws FolderInUse, PortTaken, or an Error with the output of the engine.
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const patience = Date.now() + (options.lockWaitMs ?? 0)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options, options.httpPort ?? (await freePort(HOST)))
    } catch (error) {
      const lostPort = error instanceof PortTaken && options.httpPort === undefined && attempt < PORT_ATTEMPTS
      const locked = error instanceof FolderInUse && Date.now() < patience
      if (!lostPort && !locked) throw error
      options.logger?.warn({ dataDir: options.dataDir }, `${(error as Error).message}; retrying`)
      await sleep(locked ? 500 : 0)
    }
  }
}

async function startOnce(options: EngineOptions, httpPort: number): Promise<Engine> {
  const dataDir = resolve(options.dataDir)
  const child = spawn(
    process.execPath,
    [childScript(), ...(await childArguments(options, dataDir, httpPort))],
    {
      stdio: ['pipe', 'ignore', 'pipe'],
      // Not in the process group of the terminal: Ctrl-C stops the services first, and the engine after them.
      detached: true,
    },
  )
  const exited = outcome(child, options.logger)
  let gone = false
  const over = exited.then(() => {
    gone = true
    return undefined
  })
  const url = `http://${HOST}:${String(httpPort)}`
  const deadline = Date.now() + START_DEADLINE_MS
  while ((await Promise.race([servedFolder(url), over])) !== dataDir && !gone) {
    if (Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`The engine on ${dataDir} did not respond within ${String(START_DEADLINE_MS / 1000)} s`)
    }
    await sleep(LOOK_AGAIN_MS)
  }
  if (gone || child.pid === undefined) throw startFailure(await exited, dataDir, httpPort)
  const watch = setInterval(() => void killWhereLost(url, child, options.logger), LOOK_FOR_LOST_MS)
  watch.unref()
  void exited.then(() => {
    clearInterval(watch)
  })
  return { url, pid: child.pid, exited, stop: () => stopChild(child, exited) }
}

/** Kills an engine that has acknowledged writes which its disk refused, before it removes the data that it still has. */
async function killWhereLost(url: string, child: ChildProcess, logger: Logger | undefined): Promise<void> {
  const lost = await answerTo(url, `SELECT ${LOST_WRITES}`)
  if (lost === undefined || lost === '0') return
  logger?.error({ lost }, 'the disk refused writes that the engine acknowledged: restarting the engine')
  child.kill('SIGKILL')
}

/** Returns the path of the child's script: the built one, also if this module runs from the sources (tests). */
function childScript(): string {
  const here = fileURLToPath(import.meta.url)
  const folder = here.endsWith('.ts') ? '../../dist/services/engine/child.js' : './child.js'
  return fileURLToPath(new URL(folder, import.meta.url))
}

async function childArguments(options: EngineOptions, dataDir: string, httpPort: number): Promise<string[]> {
  await mkdir(dataDir, { recursive: true })
  const configFile = join(dataDir, 'headwater-engine.xml')
  await writeFile(configFile, engineSettings(randomUUID(), options.memoryBytes, options.settings))
  return [
    `--config-file=${configFile}`,
    `--path=${dataDir}`,
    `--listen_host=${HOST}`,
    `--http_port=${String(httpPort)}`,
    ...(options.tcpPort === undefined ? [] : [`--tcp_port=${String(options.tcpPort)}`]),
  ]
}

/** Logs the output of the child and resolves with the end of it when the child has exited. */
function outcome(child: ChildProcess, logger: Logger | undefined): Promise<string> {
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-4000)
    logger?.warn({ engine: text.trim() }, 'engine output')
  })
  // The exit of the child is reported by `exited`: a broken pipe to it must not end this process.
  child.stdin?.on('error', () => undefined)
  return new Promise((done) => {
    child.once('error', (error) => {
      done(error.message)
    })
    child.once('close', (code, signal) => {
      done(`${output.trim()} (${signal ?? `status ${String(code)}`})`.trim())
    })
  })
}

function startFailure(output: string, dataDir: string, httpPort: number): Error {
  if (output.includes('Cannot lock file'))
    return new FolderInUse(
      `Another engine is running on ${dataDir}: stop it, or set DATA_DIR to another folder`,
    )
  if (output.includes('Address already in use')) return new PortTaken(httpPort, HOST, 'the engine')
  return new Error(`The engine on ${dataDir} did not start: ${output}`)
}

/** Returns the data folder of the server at the URL, undefined if none responds. Another server could listen on the port. */
function servedFolder(url: string): Promise<string | undefined> {
  return answerTo(url, "SELECT value FROM system.server_settings WHERE name = 'path'")
}

/** Returns the result of a query as text, undefined if the server does not respond or refuses it. */
async function answerTo(url: string, query: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/?query=${encodeURIComponent(query)}`, {
      // A connection kept alive would delay the shutdown of the engine.
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    const body = await response.text()
    return response.ok ? body.trim() : undefined
  } catch {
    return undefined
  }
}

async function stopChild(child: ChildProcess, exited: Promise<string>): Promise<void> {
  child.stdin?.end()
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS)
  await exited
  clearTimeout(force)
}
