import { startBareServer } from './bare-server.js'
import { loadTool } from './load-tool.js'
import { type Stack, startStack, withProcesses } from './processes.js'
import { comparison, repeated } from './repetitions.js'
import type { Figure } from './report.js'
import { storedAnswers } from './stored-answers.js'

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
/** The maximum size of the explorer, MB. */
const MAX_MB = 300

/**
 * Measures answers that clients request all the time, at 64 connections, while blocks arrive and the mempool changes. The baseline
 * is a bare uWebSockets handler that sends the same headers and bytes from memory, beside the same processes, which continue to
 * index. The two alternate, so that other load on the machine affects both.
 */
export function restHot(options: RestHotOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const stack = await startStack(start, folder, { ...options, blockIntervalMs: BLOCK_INTERVAL_MS })
    const load = loadTool(folder)
    const sampling = setInterval(() => stack.explorer.rssMb(), 200)
    try {
      const figures = await repeated(options.repetitions, async () => {
        const measured: Figure[] = []
        for (const [name, paths] of Object.entries(await pathsOf(stack))) {
          const requests = { paths, once: false, connections: CONNECTIONS, seconds: options.seconds }
          const bareServer = await startBareServer(await storedAnswers(stack.url, paths))
          const before = await indexedHeight(stack.url)
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
      })
      return [
        ...figures,
        { name: 'explorer_peak_rss', value: stack.explorer.peakMb, unit: 'MB', most: MAX_MB },
      ]
    } finally {
      clearInterval(sampling)
    }
  })
}

interface Answers {
  readonly blocks: { readonly items: readonly { readonly hash: string }[] }
  readonly recent: { readonly items: readonly { readonly txid: string }[] }
}

/** Returns the paths of each figure as of the current tip. */
async function pathsOf({ url }: Stack): Promise<Record<string, string[]>> {
  const get = async <K extends keyof Answers>(path: string): Promise<Answers[K]> =>
    (await (await fetch(`${url}${path}`)).json()) as Answers[K]
  const hash = (await get<'blocks'>('/blocks')).items[0]?.hash ?? 'missing'
  const txids: string[] = []
  for (let height = await indexedHeight(url); height > 0 && txids.length < RECENT_TXS; height--)
    txids.push(
      ...(await get<'recent'>(`/block/${String(height)}/txs?limit=100`)).items.map(({ txid }) => txid),
    )
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

async function indexedHeight(url: string): Promise<number> {
  return ((await (await fetch(`${url}/blocks/tip`)).json()) as { height: number }).height
}

/** @throws Error if no block was indexed during a load, which then did not measure what it should. */
async function assertIndexing(stack: Stack, before: number, seconds: number): Promise<void> {
  if ((await indexedHeight(stack.url)) <= before)
    throw new Error(`no block was indexed during ${String(seconds)} s of reads`)
}
