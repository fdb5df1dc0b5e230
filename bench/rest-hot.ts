import { startBareServer, storedAnswers } from './bare-server.js'
import { loadTool } from './load-tool.js'
import { type Stack, startStack, txidsAt, withPeakSize, withProcesses } from './processes.js'
import { comparison, repeated } from './repetitions.js'
import type { Figure } from './report.js'

export interface RestHotOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly repetitions: number
  /** Seconds of each load: longer than the time between two blocks. */
  readonly seconds: number
}

const CONNECTIONS = 64
/** The mempool changes five times as often: every second. */
const BLOCK_INTERVAL_MS = 5_000
const RECENT_TXS = 100
/** The 99th percentile as a multiple of that of the bare handler. */
const MAX_P99 = 3

/**
 * Measures answers that clients request all the time, at 64 connections, while blocks arrive and the mempool changes. The baseline
 * is a bare uWebSockets handler that sends the same headers and bytes from memory, beside the same processes, which continue to
 * index. The two alternate, so that other load on the machine affects both.
 */
export function restHot(options: RestHotOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const stack = await startStack(start, folder, { ...options, blockIntervalMs: BLOCK_INTERVAL_MS })
    const load = loadTool(folder)
    return withPeakSize(stack.explorer, () =>
      repeated(options.repetitions, async () => {
        const measured: Figure[] = []
        for (const [name, paths] of Object.entries(await pathsOf(stack))) {
          const requests = { paths, once: false, connections: CONNECTIONS, seconds: options.seconds }
          const bareServer = await startBareServer(await storedAnswers(stack.url, paths))
          const { height: before } = await tipOf(stack.url)
          const served = await load({ url: stack.url, ...requests })
          await assertIndexing(stack, before, options.seconds)
          const bare = await load({ url: bareServer.url, ...requests })
          await bareServer.close()
          measured.push(
            comparison(
              `${name}_requests_per_second`,
              'requests/s',
              served.requestsPerSecond,
              bare.requestsPerSecond,
            ),
            { ...comparison(`${name}_p99`, 'ms', served.p99Ms, bare.p99Ms), maxRatio: MAX_P99 },
          )
        }
        return measured
      }),
    )
  })
}

/** Returns the paths of each figure as of the current tip. */
async function pathsOf({ url }: Stack): Promise<Record<string, string[]>> {
  const { height: tip, hash } = await tipOf(url)
  const txids: string[] = []
  for (let height = tip; height > 0 && txids.length < RECENT_TXS; height--)
    txids.push(...(await txidsAt(url, height)))
  const paths = {
    summary: ['/stats/summary'],
    tip: ['/blocks/tip'],
    blocks: ['/blocks'],
    block_by_hash: [`/block/${hash}`],
    recent_tx: txids.slice(0, RECENT_TXS).map((txid) => `/tx/${txid}`),
  }
  return Object.fromEntries(
    Object.entries(paths).map(([name, some]) => [name, some.map((path) => `/api/v1${path}`)]),
  )
}

async function tipOf(url: string): Promise<{ height: number; hash: string }> {
  return (await (await fetch(`${url}/blocks/tip`)).json()) as { height: number; hash: string }
}

/** @throws Error if no block was indexed during a load, which then did not measure what it should. */
async function assertIndexing(stack: Stack, before: number, seconds: number): Promise<void> {
  if ((await tipOf(stack.url)).height <= before)
    throw new Error(`no block was indexed during ${String(seconds)} s of reads`)
}
