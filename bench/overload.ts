import { NodeClient } from '../pipelines/node/client.js'
import { errorBody } from '../pipelines/errors.js'
import { OVERLOADED } from '../services/explorer/core/answering/failure.js'
import { MAX_IN_FLIGHT } from '../services/explorer/core/answering/reader.js'
import type { ServiceProcess } from '../test/harness/processes.js'
import { startBareServer } from './bare-server.js'
import { shuffled } from './large-chain.js'
import { LoadGenerator, type LoadResult } from './load-generator.js'
import { indexedExplorer, peakSize, withProcesses } from './processes.js'
import { comparison, percentile } from './repetitions.js'
import type { Figure } from './report.js'

export interface OverloadOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly rounds: number
  /** Seconds of each load, of which there are three in a round; fewer on a machine that would run out of transactions. */
  readonly seconds: number
}

/** Connections whose throughput is the capacity, and the multiple of it that arrives. */
const CONNECTIONS = 256
const TIMES_CAPACITY = 5
/** One client of this number disconnects directly after its request. */
const LEAVER_EVERY = 50
const WARM_UP_SECONDS = 2
/** The loads of a round that request transactions. */
const LOADS_OF_ROUND = 3
/** The share of the transactions that loads use at the rate of the first one: the next may be faster. */
const USED = 0.85
/** The minimum length of a load. */
const LEAST_SECONDS = 2
/**
 * If the generator is later than this for one of a hundred requests, the loop was not open. Times are from when a
 * request was due.
 */
const MAX_LAG_MS = 100
/** With fewer lookups than this share of those of the first load, answers came from memory. */
const LEAST_USED = 0.9
/** The accepted share of unused lookups: for clients that disconnected after their batch was sent. */
const MAX_UNUSED = 1.1
/** Keys that wait for one answer. */
const MAX_KEYS = 4
const LOOK_MS = 500

/** The answer of a bare server, whose clients replace those that are refused. */
const REFUSED_PATH = '/refused'
const REFUSAL = {
  status: '503 Service Unavailable',
  headers: [
    ['content-type', 'application/json; charset=utf-8'],
    ['retry-after', '1'],
  ],
  body: Buffer.from(JSON.stringify(errorBody(OVERLOADED.code, OVERLOADED.message))),
} as const
/** More than the concurrent requests: each refused one is requested again. */
const REFUSED_REQUESTS = 50_000

/**
 * Measures an explorer that gets five times as many requests of `/tx` as it can answer, each for another transaction:
 * how many it still answers, how fast, and what the others get. The reference is its capacity: 256 connections that
 * each wait for their answer. Clients use processors too, so an explorer has the less of them the more clients there
 * are. Therefore capacity is measured alone, which determines the rate, and beside as many requests as exceed it,
 * which a bare handler answers: the difference to that is the cost of refusing. The measurements alternate, so that
 * other load on the machine affects all of them.
 */
export function overload(options: OverloadOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    // Transactions that are not among the newest are not in the store: answers wait for the database.
    const env = { TX_STORE_BYTES: '0' }
    const { port, nodeUrl, explorer } = await indexedExplorer(
      start,
      folder,
      { ...options, mix: 'cheap' },
      env,
    )
    // Older transactions have more spent outputs, and so more lookups.
    const txids = shuffled(await txidsOf(nodeUrl, options.blocks))
    const paths = txids.map((txid) => `/api/v1/tx/${txid}`)
    const generator = new LoadGenerator({ port, paths })
    const bare = await startBareServer(new Map([[REFUSED_PATH, REFUSAL]]))
    const refusedPaths = Array.from({ length: REFUSED_REQUESTS }, () => REFUSED_PATH)
    const bystanders = new LoadGenerator({ port: Number(new URL(bare.url).port), paths: refusedPaths })
    const watch = new Watch(`http://127.0.0.1:${String(port)}`, explorer)
    try {
      const closed = (seconds: number) =>
        ({ kind: 'closed', connections: CONNECTIONS, warmUpSeconds: WARM_UP_SECONDS, seconds }) as const
      let answered = 0
      const lookups = await watch.lookupsPerAnswer(async () => {
        answered = (await generator.make(closed(options.seconds))).times.length
      })
      const seconds = secondsFor(paths.length, answered / options.seconds, options)
      const closedLoad = closed(seconds)
      const span = { warmUpSeconds: WARM_UP_SECONDS, seconds }
      const [alone, beside, open]: [LoadResult[], LoadResult[], LoadResult[]] = [[], [], []]
      for (let round = 0; round < options.rounds; round++) {
        const result = await generator.make(closedLoad)
        alone.push(result)
        const capacity = result.times.length / seconds
        const openLoad = (rate: number) =>
          ({ kind: 'open', rate, leaverEvery: LEAVER_EVERY, ...span }) as const
        const excess = bystanders.make(openLoad((TIMES_CAPACITY - 1) * capacity))
        beside.push(await generator.make(closedLoad))
        await excess
        await watch.begin()
        open.push(await generator.make(openLoad(TIMES_CAPACITY * capacity)))
        await watch.end()
      }
      const results = { alone: summed(alone), beside: summed(beside), open: summed(open) }
      return figures(results, { watch, lookups, seconds: options.rounds * seconds })
    } finally {
      watch.stop()
      await Promise.all([generator.close(), bystanders.close(), bare.close()])
    }
  })
}

/** Returns the length of the loads that follow the first one, so that each requests transactions that no other has requested. */
function secondsFor(txs: number, answersPerSecond: number, { rounds, seconds }: OverloadOptions): number {
  const left = txs - answersPerSecond * (WARM_UP_SECONDS + seconds)
  const most = (USED * left) / (rounds * LOADS_OF_ROUND * answersPerSecond) - WARM_UP_SECONDS
  return Math.max(LEAST_SECONDS, Math.min(seconds, Math.floor(most)))
}

/** Returns the txids of all transactions above the genesis block. */
async function txidsOf(nodeUrl: string, blocks: number): Promise<string[]> {
  const node = new NodeClient(nodeUrl, { timeoutMs: 60_000 })
  try {
    const txids: string[] = []
    for (let height = 1; height <= blocks; height++) {
      const { tx } = await node.block(await node.blockHash(height))
      txids.push(...tx.map(({ txid }) => txid))
    }
    return txids
  } finally {
    node.close()
  }
}

/** Returns the explorer's own metrics meanwhile. */
class Watch {
  readonly #url: string
  readonly explorer: ServiceProcess
  readonly #timer: NodeJS.Timeout
  #before: Metrics | undefined
  /** Returns figures of the answers to the open load. */
  answers = 0
  lookups = 0
  clientsLeft = 0
  maxInFlight = 0
  maxWaiting = 0

  constructor(url: string, explorer: ServiceProcess) {
    this.#url = url
    this.explorer = explorer
    this.#timer = setInterval(() => void this.#look().catch(() => undefined), LOOK_MS)
  }

  /** Returns the lookups of an answer during a load. @throws Error if answers came from memory. */
  async lookupsPerAnswer(load: () => Promise<unknown>): Promise<number> {
    const before = await this.#look()
    await load()
    const after = await this.#look()
    const lookups = (after.lookups - before.lookups) / (after.answers - before.answers)
    if (!(lookups >= 1)) throw new Error('answers came from memory')
    return lookups
  }

  async begin(): Promise<void> {
    this.#before = await this.#look()
  }

  async end(): Promise<void> {
    const now = await this.#look()
    const before = this.#before ?? now
    this.answers += now.answers - before.answers
    this.clientsLeft += now.clientsLeft - before.clientsLeft
    this.lookups += now.lookups - before.lookups
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<Metrics> {
    this.explorer.rssMb()
    const text = await (await fetch(`${this.#url}/metrics`)).text()
    const sum = (pattern: RegExp): number =>
      [...text.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0)
    this.maxInFlight = Math.max(this.maxInFlight, sum(/^headwater_api_answers_under_way (\d+)$/gm))
    this.maxWaiting = Math.max(this.maxWaiting, sum(/^headwater_api_lookups_waiting (\d+)$/gm))
    const answered = (status: number): number => {
      const labels = `route="/api/v1/tx/:txid",status="${String(status)}"`
      return sum(new RegExp(`^headwater_api_request_duration_seconds_count{${labels}} (\\d+)$`, 'gm'))
    }
    return {
      answers: answered(200),
      clientsLeft: answered(499),
      lookups: sum(/^headwater_api_lookups_total (\d+)$/gm),
    }
  }
}

interface Metrics {
  readonly answers: number
  readonly clientsLeft: number
  readonly lookups: number
}

/** @throws Error if the loads were not those that the figures describe. */
function figures(
  { alone, beside, open }: Results,
  { watch, lookups, seconds }: { watch: Watch; lookups: number; seconds: number },
): Figure[] {
  for (const closed of [alone, beside]) assertAnswered(closed)
  const lag = percentile(open.lags, 0.99)
  if (lag > MAX_LAG_MS)
    throw new Error(
      `the load generator was ${lag.toFixed(1)} ms late in one of a hundred requests: no open loop`,
    )
  if (watch.lookups < LEAST_USED * lookups * watch.answers) throw new Error('answers came from memory')
  const [capacity, besideRefusals, goodput] = [alone, beside, open].map(
    ({ times }) => times.length / seconds,
  ) as [number, number, number]
  const [besideP99, openP99] = [percentile(beside.times, 0.99), percentile(open.times, 0.99)]
  const count = (name: string, value: number): Figure => ({ name, value, unit: 'requests' })
  return [
    { name: 'capacity', value: capacity, unit: 'requests/s' },
    { name: 'offered', value: open.lags.length / seconds, unit: 'requests/s' },
    { name: 'capacity_beside_bare_refusals', value: besideRefusals, unit: 'requests/s' },
    comparison('goodput', 'requests/s', goodput, besideRefusals),
    comparison('goodput_of_capacity_alone', 'requests/s', goodput, capacity),
    { ...comparison('accepted_p99', 'ms', openP99, besideP99), most: 2 * besideP99 },
    {
      name: 'accepted_p50',
      value: percentile(open.times, 0.5),
      unit: 'ms',
      baseline: percentile(beside.times, 0.5),
    },
    { name: 'capacity_p99', value: percentile(alone.times, 0.99), unit: 'ms' },
    count('refused_with_retry_after', open.refusalTimes.length),
    { name: 'refusal_p99', value: percentile(open.refusalTimes, 0.99), unit: 'ms' },
    ...Object.entries(open.others).map(([what, value]) => count(what, value)),
    {
      ...count(
        'other_outcomes',
        Object.values(open.others).reduce((sum, each) => sum + each, 0),
      ),
      most: 0,
    },
    count('clients_left', open.left),
    count('of_which_begun', watch.clientsLeft),
    {
      ...comparison('lookups_per_answer', 'lookups', watch.lookups / watch.answers, lookups),
      maxRatio: MAX_UNUSED,
    },
    { name: 'most_answers_under_way', value: watch.maxInFlight, unit: 'answers', most: MAX_IN_FLIGHT },
    {
      name: 'most_lookups_waiting',
      value: watch.maxWaiting,
      unit: 'keys',
      most: MAX_KEYS * MAX_IN_FLIGHT,
    },
    peakSize(watch.explorer),
    { name: 'generator_lag_p99', value: lag, unit: 'ms', most: MAX_LAG_MS },
    {
      name: 'generator_cpu',
      value: 100 * open.cpuShare,
      unit: '% of a core',
      baseline: 100 * alone.cpuShare,
    },
  ]
}

/** The counted requests, without those of the bystanders. */
interface Results {
  readonly alone: LoadResult
  readonly beside: LoadResult
  readonly open: LoadResult
}

/** @throws Error if a connection that waits for its answers did not get one. */
function assertAnswered({ others, refusalTimes }: LoadResult): void {
  const failed = [...Object.entries(others), ['503', refusalTimes.length] as const]
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${String(count)} × ${what}`)
  if (failed.length > 0)
    throw new Error(`of ${String(CONNECTIONS)} connections not all were answered: ${failed.join(', ')}`)
}

function summed(results: readonly LoadResult[]): LoadResult {
  const others: Record<string, number> = {}
  for (const result of results)
    for (const [what, count] of Object.entries(result.others)) others[what] = (others[what] ?? 0) + count
  const sum = (of: (result: LoadResult) => number): number =>
    results.reduce((total, each) => total + of(each), 0)
  return {
    times: results.flatMap(({ times }) => times),
    refusalTimes: results.flatMap(({ refusalTimes }) => refusalTimes),
    lags: results.flatMap(({ lags }) => lags),
    left: sum(({ left }) => left),
    cpuShare: sum(({ cpuShare }) => cpuShare) / results.length,
    others,
  }
}
