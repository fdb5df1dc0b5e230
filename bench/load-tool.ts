import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LoadGenerator } from './load-generator.js'
import { percentile } from './repetitions.js'

/** Requests from connections that each send the next one as soon as the last one is answered. */
export interface ReadLoad {
  /** The origin of the server, on this machine. */
  readonly url: string
  readonly paths: readonly string[]
  /** True if each path may be requested once only, because the second answer might come from memory. */
  readonly once: boolean
  readonly connections: number
  readonly seconds: number
  /** The header `accept`. Not set: none. */
  readonly accept?: string
}

export interface ReadResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Makes a load. @throws Error if a request failed, or the paths do not suffice. */
export type LoadTool = (load: ReadLoad) => Promise<ReadResult>

/**
 * Returns wrk, or the load generator in `bench/` where wrk is not installed. The latter uses several times the processor
 * time for a request, so figures of the two cannot be compared.
 * @param folder for the paths and scripts of wrk.
 */
export function loadTool(folder: string): LoadTool {
  if (spawnSync('wrk', ['--version']).error === undefined) return (load) => withWrk(folder, load)
  process.stderr.write('bench: wrk (a package of Debian) is not installed: bench/load-generator.ts is used\n')
  return withGenerator
}

let scripts = 0

async function withWrk(folder: string, load: ReadLoad): Promise<ReadResult> {
  const name = join(folder, `load-${String(++scripts)}`)
  await writeFile(`${name}.txt`, load.paths.join('\n'))
  await writeFile(`${name}.lua`, wrkScript(`${name}.txt`, load.accept))
  const args = ['-t1', `-c${String(load.connections)}`, `-d${String(load.seconds)}s`, '--timeout', '10s']
  const child = spawn('wrk', [...args, '-s', `${name}.lua`, new URL(load.url).origin], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await once(child, 'close')
  const reported = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Record<
    'requests' | 'microseconds' | 'p50' | 'p99' | 'errors',
    number
  >
  assertComplete(load, reported.requests, reported.errors)
  return {
    requestsPerSecond: (reported.requests * 1e6) / reported.microseconds,
    p50Ms: reported.p50 / 1000,
    p99Ms: reported.p99 / 1000,
  }
}

/**
 * Returns a script that requests the paths of a file in its order, from the first again after the last, and prints its figures as
 * JSON on the last line.
 */
function wrkScript(file: string, accept: string | undefined): string {
  const header = accept === undefined ? '' : `wrk.headers["Accept"] = ${JSON.stringify(accept)}\n`
  return `${header}local requests, at = {}, 0
function init()
  for path in io.lines(${JSON.stringify(file)}) do requests[#requests + 1] = wrk.format("GET", path) end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errors":%d}\\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
`
}

async function withGenerator(load: ReadLoad): Promise<ReadResult> {
  const port = Number(new URL(load.url).port)
  const generator = new LoadGenerator({
    port,
    paths: load.paths,
    repeats: !load.once,
    ...(load.accept === undefined ? {} : { accept: load.accept }),
  })
  try {
    const { connections, seconds } = load
    const result = await generator.make({ kind: 'closed', connections, warmUpSeconds: 0, seconds })
    const failed = Object.values(result.others).reduce((sum, each) => sum + each, result.refusalTimes.length)
    assertComplete(load, result.times.length, failed)
    return {
      requestsPerSecond: result.times.length / seconds,
      p50Ms: percentile(result.times, 0.5),
      p99Ms: percentile(result.times, 0.99),
    }
  } finally {
    await generator.close()
  }
}

function assertComplete({ url, paths, once, connections }: ReadLoad, requests: number, failed: number): void {
  if (failed > 0 || requests === 0)
    throw new Error(`${String(failed)} of ${String(requests)} requests to ${url}${paths[0] ?? ''} … failed`)
  if (once && requests + connections > paths.length)
    throw new Error(`${String(paths.length)} paths do not suffice for ${String(requests)} requests`)
}
