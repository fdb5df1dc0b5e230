import { NodeClient } from '../pipelines/node/client.js'
import { freePort } from '../services/ports.js'
import type { ServiceProcess } from '../test/harness/processes.js'
import { settled, simulatedNode, type Start, withProcesses } from './processes.js'
import type { Figure } from './report.js'

/** The options of one run. */
export interface IngestOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly inFlight: number
}

interface Memory {
  readonly process: ServiceProcess
  readonly samples: number[]
}

/**
 * Measures the backfill of a simulated chain by the real processes, as a ratio to fetching and parsing the same
 * blocks from the same node with as many requests in flight: the cost of the log, of applying events and of
 * ClickHouse. Meanwhile it samples the memory of each process and reads from the explorer all the time.
 */
export async function ingest(options: IngestOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const { url, node } = await simulatedNode(start, folder, options)
    const idle = await fetchAndParse(url, options)
    const run = await indexAll(start, url, node, options)
    return figures(options, idle, run)
  })
}

/** @returns seconds for the whole chain. */
async function fetchAndParse(url: string, options: IngestOptions): Promise<number> {
  const node = new NodeClient(url, { timeoutMs: 60_000 })
  const from = performance.now()
  let next = 0
  const worker = async (): Promise<void> => {
    while (next <= options.blocks) {
      const hash = await node.blockHash(next++)
      await node.block(hash)
    }
  }
  await Promise.all(Array.from({ length: options.inFlight }, worker))
  return (performance.now() - from) / 1000
}

interface Run {
  readonly seconds: number
  readonly memory: readonly Memory[]
  /** Returns the processor seconds of each process. */
  readonly cpu: readonly (readonly [name: string, seconds: number])[]
}

async function indexAll(
  start: Start,
  nodeUrl: string,
  node: ServiceProcess,
  options: IngestOptions,
): Promise<Run> {
  const [http, explorerPort] = [await freePort(), await freePort()]
  const env = {
    NODE_RPC_URL: nodeUrl,
    EXPLORER_PORT: String(explorerPort),
    EXPLORER_GRPC_PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
  }
  const engine = start('engine', {}, ['--http-port', String(http)])
  const explorerUrl = `http://127.0.0.1:${String(explorerPort)}`
  const explorer = start('explorer', env)
  await settled(async () => (await fetch(`${explorerUrl}/health`)).status < 600, 60_000)
  const from = performance.now()
  const nodeBefore = node.cpuSeconds()
  const memory = [explorer, start('poller', env), start('materializer', env)].map((process) => ({
    process,
    samples: [] as number[],
  }))
  await settled(async () => {
    for (const { process, samples } of memory) samples.push(process.rssMb())
    await read(explorerUrl)
    const answer = (await (await fetch(`${explorerUrl}/api/v1/stats/summary`)).json()) as {
      tipHeight?: number
    }
    return answer.tipHeight === options.blocks
  }, 1_800_000)
  const cpu = [engine, ...memory.map(({ process }) => process)].map(
    (process) => [process.name, process.cpuSeconds()] as const,
  )
  cpu.push([node.name, node.cpuSeconds() - nodeBefore])
  return { seconds: (performance.now() - from) / 1000, memory, cpu }
}

/** The requests of a visitor: the newest blocks, their transactions, and an address among them. */
async function read(url: string): Promise<void> {
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}/api/v1${path}`)).json()
  const recent = (await get('/txs/recent')) as {
    items?: { outputs: { addresses: { address: string }[] }[] }[]
  }
  await get('/blocks')
  const address = recent.items?.[0]?.outputs[0]?.addresses[0]?.address
  if (address !== undefined) await Promise.all([get(`/address/${address}`), get(`/address/${address}/txs`)])
}

function figures(options: IngestOptions, idleSeconds: number, run: Run): Figure[] {
  const rate = options.blocks / run.seconds
  const idleRate = options.blocks / idleSeconds
  const list: Figure[] = [
    { name: 'blocks_per_second', value: rate, unit: 'blocks/s', baseline: idleRate, ratio: rate / idleRate },
    {
      name: 'transactions_per_second',
      value: rate * options.txsPerBlock,
      unit: 'transactions/s',
      baseline: idleRate * options.txsPerBlock,
      ratio: rate / idleRate,
    },
  ]
  for (const { process, samples } of run.memory) {
    const half = samples.slice(samples.length >> 1)
    const quarter = Math.max(1, half.length >> 1)
    const [early, late] = [Math.max(...half.slice(0, quarter)), Math.max(...half.slice(quarter))]
    list.push({
      name: `${process.name}_peak_rss`,
      value: process.peakMb,
      unit: 'MB',
      most: process.name === 'explorer' ? 300 : 400,
    })
    list.push({
      name: `${process.name}_growth_in_second_half`,
      value: late / early,
      unit: 'ratio',
      most: 1.15,
    })
  }
  for (const [name, seconds] of run.cpu) {
    list.push({ name: `${name}_cpu_per_block`, value: (seconds * 1000) / options.blocks, unit: 'ms' })
  }
  return list
}
