import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startBareServer, type StoredAnswer } from './bare-server.js'
import { indexedExplorer, withProcesses } from './processes.js'
import type { Figure } from './report.js'

export interface RestOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  /** Seconds of each load. */
  readonly seconds: number
}

const CONNECTIONS = 64
/** Different paths of a kind: more than an answer cache could hold by chance. */
const MAX_PATHS = 20_000
/** Answers of the bare server; only these are requested from it. */
const MAX_STORED = 4_000

interface Load {
  readonly requestsPerSecond: number
  readonly p99Ms: number
}

/**
 * Measures requests per second and p99 of reads at 64 connections, made by wrk, each against a bare uWebSockets
 * handler that sends the same headers and bytes from memory in the same run: the cost of validation, routing,
 * ClickHouse and serialisation.
 */
export async function rest(options: RestOptions): Promise<Figure[]> {
  await mustHaveWrk()
  return withProcesses(async (start, folder) => {
    const { url } = await indexedExplorer(start, folder, options)
    const paths = await pathsOf(url, options)
    const figures: Figure[] = []
    for (const [name, some] of Object.entries(paths)) {
      const script = join(folder, `${name}.lua`)
      await writeFile(script, luaScript(some))
      const bareScript = join(folder, `${name}-bare.lua`)
      const stored = await storedAnswers(url, some.slice(0, MAX_STORED))
      await writeFile(bareScript, luaScript([...stored.keys()]))
      const served = await load(url, script, options.seconds)
      const bareServer = await startBareServer(stored)
      const bare = await load(bareServer.url, bareScript, options.seconds)
      await bareServer.close()
      figures.push(
        {
          name: `${name}_requests_per_second`,
          value: served.requestsPerSecond,
          unit: 'requests/s',
          baseline: bare.requestsPerSecond,
          ratio: served.requestsPerSecond / bare.requestsPerSecond,
        },
        {
          name: `${name}_p99`,
          value: served.p99Ms,
          unit: 'ms',
          baseline: bare.p99Ms,
          ratio: served.p99Ms / bare.p99Ms,
        },
      )
    }
    return figures
  })
}

async function mustHaveWrk(): Promise<void> {
  const child = spawn('wrk', ['--version'], { stdio: 'ignore' })
  const found = await Promise.race([
    once(child, 'exit').then(() => true),
    once(child, 'error').then(() => false),
  ])
  if (!found) throw new Error('the suite needs wrk, a package of Debian')
}

interface Listed {
  readonly items: readonly {
    readonly txid: string
    readonly outputs: readonly { readonly addresses: readonly { readonly address: string }[] }[]
  }[]
}

/** Returns the paths of each figure, in no order. */
async function pathsOf(url: string, { blocks }: RestOptions): Promise<Record<string, string[]>> {
  const txids: string[] = []
  const addresses = new Set<string>()
  for (let height = blocks; height > 0 && txids.length < MAX_PATHS; height--) {
    const answer = await fetch(`${url}/block/${String(height)}/txs?limit=100`)
    for (const { txid, outputs } of ((await answer.json()) as Listed).items) {
      txids.push(txid)
      for (const output of outputs) for (const { address } of output.addresses) addresses.add(address)
    }
  }
  const under = (folder: string, names: Iterable<string>): string[] =>
    [...names].slice(0, MAX_PATHS).map((name) => `/api/v1/${folder}/${name}`)
  return {
    summary: ['/api/v1/stats/summary'],
    blocks: ['/api/v1/blocks'],
    tx: under('tx', txids),
    address: under('address', addresses),
  }
}

async function storedAnswers(url: string, paths: readonly string[]): Promise<Map<string, StoredAnswer>> {
  const stored = new Map<string, StoredAnswer>()
  for (const path of paths) {
    const answer = await fetch(new URL(path, url))
    const headers = [...answer.headers].filter(
      ([name]) => !/^(date|content-length|connection|uwebsockets)/.test(name),
    )
    stored.set(path, { headers, body: Buffer.from(await answer.arrayBuffer()) })
  }
  return stored
}

/** Requests one of the paths at random, and prints its figures as JSON on the last line. */
function luaScript(paths: readonly string[]): string {
  return `local paths = { ${paths.map((path) => JSON.stringify(path)).join(', ')} }
math.randomseed(7)
request = function() return wrk.format("GET", paths[math.random(#paths)]) end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"microseconds":%d,"p99":%d,"errors":%d}\\n', summary.requests, summary.duration,
    latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
`
}

/** @throws Error if an answer was missing or not 2xx. */
async function load(url: string, script: string, seconds: number): Promise<Load> {
  const { origin } = new URL(url)
  const args = [
    '-t1',
    `-c${String(CONNECTIONS)}`,
    `-d${String(seconds)}s`,
    '--timeout',
    '10s',
    '-s',
    script,
    origin,
  ]
  const child = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await once(child, 'close')
  const reported = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Record<
    'requests' | 'microseconds' | 'p99' | 'errors',
    number
  >
  if (reported.errors > 0)
    throw new Error(`${String(reported.errors)} of ${String(reported.requests)} requests failed at ${script}`)
  return { requestsPerSecond: (reported.requests * 1e6) / reported.microseconds, p99Ms: reported.p99 / 1000 }
}
