import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { Random } from '../services/simnode/random.js'
import type { ServiceProcess } from '../test/harness/processes.js'
import { LoadGenerator, type LoadResult } from './load-generator.js'
import { controlNode } from './node-control.js'
import { settled, type Stack, type Start, startStack, txidsAt, withProcesses } from './processes.js'
import { percentile } from './repetitions.js'
import type { Figure } from './report.js'

export interface LatencyOptions {
  /** Blocks that are mined for each of the two ways to learn of them. */
  readonly blocks: number
}

const POLL_INTERVAL_MS = 1_000
/** Milliseconds; the poll interval is added where the poller only polls. */
const MAX_POLLED_MS = POLL_INTERVAL_MS + 150
const MAX_ANNOUNCED_MS = 200
/** A poller sends its first `waitfornewblock` some seconds after its start. */
const FIRST_WAIT_MS = 7_000
/** The time between two blocks, random, so that they do not keep step with the polls. */
const GAP_MS = { least: 500, most: 1_500 }
/** The load is made in slices, until all blocks are mined. */
const SLICE = { warmUpSeconds: 0, seconds: 10 }
const CAPACITY = { connections: 64, warmUpSeconds: 2, seconds: 10 }
const READ_BLOCKS = 50
const LOOK_MS = 4
const PATIENCE_MS = 60_000
/** No client of the load disconnects. */
const NEVER = Number.MAX_SAFE_INTEGER

interface Latency {
  /** Milliseconds from the request to mine the block until its event was received by a client. */
  readonly event: number
  /** The same until the block could be read. */
  readonly readable: number
}

/**
 * Measures the time from a block of the node to its event on a client, and to its being readable, while reads run at half of the
 * explorer's capacity: with polling only, and with `waitfornewblock`. The time includes that of mining.
 */
export function latency({ blocks }: LatencyOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const stack = await startStack(start, folder, { blocks: 500, txsPerBlock: 20, mix: 'cheap' })
    await stack.poller.kill('SIGTERM')
    const generator = new LoadGenerator({ port: stack.port, paths: await readPaths(stack), repeats: true })
    const feed = await FeedWatch.connect(stack)
    try {
      const poller = await follow(start, stack, 'false')
      const capacity = await capacityOf(stack, feed, generator)
      const measurement = { feed, generator, blocks, rate: capacity / 2 }
      const polled = await measure({ ...measurement, stack: { ...stack, poller } })
      await poller.kill('SIGTERM')
      const waitingPoller = await follow(start, stack, 'true')
      await sleep(FIRST_WAIT_MS)
      const announced = await measure({ ...measurement, stack: { ...stack, poller: waitingPoller } })
      return [
        { name: 'reads', value: capacity / 2, unit: 'requests/s' },
        ...figures('polled', polled, MAX_POLLED_MS),
        ...figures('announced', announced, MAX_ANNOUNCED_MS),
      ]
    } finally {
      feed.close()
      await generator.close()
    }
  })
}

/**
 * Returns the reads per second of connections that each wait for their answer, while blocks are mined as in the measurement: they take
 * their part of the processors.
 */
async function capacityOf(stack: Stack, feed: FeedWatch, generator: LoadGenerator): Promise<number> {
  let isOver = false
  const load = generator.make({ kind: 'closed', ...CAPACITY }).finally(() => {
    isOver = true
  })
  const [{ times }] = await Promise.all([load, mine(stack, feed, () => isOver)])
  return times.length / CAPACITY.seconds
}

/** Starts a poller, and waits until the explorer shows the node's next block. */
async function follow(
  start: Start,
  { nodeUrl, url }: Stack,
  waitsForBlocks: 'true' | 'false',
): Promise<ServiceProcess> {
  const poller = start('poller', {
    NODE_RPC_URL: nodeUrl,
    POLL_INTERVAL_MS: String(POLL_INTERVAL_MS),
    NODE_WAIT_FOR_BLOCKS: waitsForBlocks,
  })
  const { hash } = await controlNode(nodeUrl, 'mine?blocks=1')
  await settled(async () => (await fetch(`${url}/block/${hash}`)).ok, PATIENCE_MS, [poller])
  return poller
}

/** Returns paths that clients of recent blocks read: summary, lists, and transactions. */
async function readPaths({ url, nodeUrl }: Stack): Promise<string[]> {
  const { height } = await controlNode(nodeUrl, 'state', 'GET')
  const paths = ['/api/v1/stats/summary', '/api/v1/blocks']
  for (let at = height; at > height - READ_BLOCKS; at--)
    paths.push(...(await txidsAt(url, at)).map((txid) => `/api/v1/tx/${txid}`))
  return paths
}

interface Measurement {
  /** With the poller that runs now. */
  readonly stack: Stack
  readonly feed: FeedWatch
  readonly generator: LoadGenerator
  readonly blocks: number
  /** Reads per second. */
  readonly rate: number
}

interface Measured {
  readonly latencies: readonly Latency[]
  readonly loads: readonly LoadResult[]
  readonly usage: readonly Usage[]
}

/** The share of a core that a process used while a block was awaited, in percent; or that none used. */
interface Usage {
  readonly name: string
  readonly percent: number
}

/** Mines blocks under load. */
async function measure({ stack, feed, generator, blocks, rate }: Measurement): Promise<Measured> {
  let isOver = false
  const meter = new Meter(stack, generator)
  const mining = mine(stack, feed, (count) => count === blocks, meter).finally(() => {
    isOver = true
  })
  const loads: LoadResult[] = []
  const loading = (async () => {
    while (!isOver) loads.push(await generator.make({ kind: 'open', rate, leaverEvery: NEVER, ...SLICE }))
  })()
  const [latencies] = await Promise.all([mining, loading])
  return { latencies, loads, usage: meter.usage() }
}

/** Adds up what the processors do from a request to mine a block until its event has arrived and it could be read. */
class Meter {
  readonly #clocks: readonly (readonly [name: string, seconds: () => number])[]
  readonly #used: number[]
  #before: readonly number[] = []
  #began = 0
  #seconds = 0

  constructor({ node, engine, poller, materializer, explorer }: Stack, generator: LoadGenerator) {
    this.#clocks = [
      ['idle', idleSeconds],
      ['generator', () => generator.cpuSeconds()],
      ['client', ownSeconds],
      ...[node, engine, poller, materializer, explorer].map(
        (each) => [each.name, () => each.cpuSeconds()] as const,
      ),
    ]
    this.#used = this.#clocks.map(() => 0)
  }

  begin(): void {
    this.#before = this.#clocks.map(([, seconds]) => seconds())
    this.#began = performance.now()
  }

  end(): void {
    this.#seconds += (performance.now() - this.#began) / 1000
    for (const [index, [, seconds]] of this.#clocks.entries())
      this.#used[index] = (this.#used[index] ?? 0) + seconds() - (this.#before[index] ?? 0)
  }

  usage(): Usage[] {
    return this.#clocks.map(([name], index) => ({
      name,
      percent: (100 * (this.#used[index] ?? 0)) / this.#seconds,
    }))
  }
}

/** Returns the time for which the processors were idle, together. */
const idleSeconds = (): number => cpus().reduce((sum, { times }) => sum + times.idle, 0) / 1000

function ownSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Mines blocks, one after the other. @param isEnough is called with the number of blocks so far. */
async function mine(
  stack: Stack,
  feed: FeedWatch,
  isEnough: (count: number) => boolean,
  meter?: Meter,
): Promise<readonly Latency[]> {
  const random = Random.of('latency', 0)
  const latencies: Latency[] = []
  while (!isEnough(latencies.length)) {
    await sleep(GAP_MS.least + random.below(GAP_MS.most - GAP_MS.least))
    meter?.begin()
    latencies.push(await mineOne(stack, feed))
    meter?.end()
  }
  return latencies
}

async function mineOne({ nodeUrl, url }: Stack, feed: FeedWatch): Promise<Latency> {
  const minedAt = performance.now()
  const { hash } = await controlNode(nodeUrl, 'mine?blocks=1&txs=20')
  const arrived = Promise.all([feed.received(hash), readable(url, hash)])
  const late = sleep(PATIENCE_MS).then((): never => {
    throw new Error(`block ${hash} did not arrive within ${String(PATIENCE_MS)} ms`)
  })
  const [eventAt, readableAt] = await Promise.race([arrived, late])
  return { event: eventAt - minedAt, readable: readableAt - minedAt }
}

/**
 * Returns the time at which a block could be read. Until it is the tip, the tip is read, which takes no query: looking for a block
 * that the tables do not have yet would keep the engine busy with something that no client does.
 */
async function readable(url: string, hash: string): Promise<number> {
  while ((await read(`${url}/blocks/tip`)).tip !== hash) await sleep(LOOK_MS)
  const { status } = await read(`${url}/block/${hash}`)
  if (status !== 200) throw new Error(`block ${hash} is the tip, and reading it returned ${String(status)}`)
  return performance.now()
}

const agent = new Agent({ keepAlive: true })

/** Reads an answer completely. It takes less than half of the processor time of `fetch`, of which what is measured has too little. */
async function read(
  url: string,
): Promise<{ readonly status: number | undefined; readonly tip: string | undefined }> {
  const [answer] = (await once(get(url, { agent }), 'response')) as [IncomingMessage]
  const tip = answer.headers['x-chain-tip']
  await once(answer.resume(), 'end')
  return { status: answer.statusCode, tip: typeof tip === 'string' ? tip : undefined }
}

/** A client of the channel `blocks`. */
class FeedWatch {
  readonly #socket: WebSocket
  readonly #times = new Map<string, number>()
  readonly #waiting = new Map<string, (time: number) => void>()

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (message: Buffer) => {
      const now = performance.now()
      const { data } = JSON.parse(message.toString()) as { data?: { hash: string } }
      if (data === undefined) return
      this.#times.set(data.hash, now)
      this.#waiting.get(data.hash)?.(now)
    })
  }

  static async connect({ port }: Stack): Promise<FeedWatch> {
    const socket = new WebSocket(`ws://127.0.0.1:${String(port)}/ws`)
    await once(socket, 'open')
    const watch = new FeedWatch(socket)
    socket.send('{"type":"subscribe","channel":"blocks"}')
    await once(socket, 'message')
    return watch
  }

  /** Returns the time at which the event of a block was received. */
  received(hash: string): Promise<number> {
    const time = this.#times.get(hash)
    if (time !== undefined) return Promise.resolve(time)
    return new Promise((resolve) => this.#waiting.set(hash, resolve))
  }

  close(): void {
    this.#socket.terminate()
  }
}

function figures(name: string, { latencies, loads, usage }: Measured, most: number): Figure[] {
  const of = (what: keyof Latency, share: number): number =>
    percentile(
      latencies.map((each) => each[what]),
      share,
    )
  const failures = loads.flatMap(({ others, refusalTimes }) => [
    refusalTimes.length,
    ...Object.values(others),
  ])
  const failed = failures.reduce((sum, count) => sum + count, 0)
  const reads = loads.flatMap(({ times }) => times)
  return [
    { name: `${name}_event_p50`, value: of('event', 0.5), unit: 'ms' },
    { name: `${name}_event_p99`, value: of('event', 0.99), unit: 'ms', most },
    { name: `${name}_readable_p50`, value: of('readable', 0.5), unit: 'ms' },
    { name: `${name}_readable_p99`, value: of('readable', 0.99), unit: 'ms', most },
    { name: `${name}_reads_p99`, value: percentile(reads, 0.99), unit: 'ms' },
    { name: `${name}_failed_reads`, value: failed, unit: 'requests', most: 0 },
    ...usage.map((each) => ({ name: `${name}_${each.name}_cpu`, value: each.percent, unit: '% of a core' })),
  ]
}
