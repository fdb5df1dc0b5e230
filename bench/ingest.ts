import type { ServiceProcess } from '../test/harness/processes.js'
import { PlainNode } from './baseline/node.js'
import {
  chainHeight,
  engineOf,
  explorerOf,
  MAX_EXPLORER_MB,
  settled,
  simulatedNode,
  type Start,
  withProcesses,
} from './processes.js'
import { comparison, growthInSecondHalf, repeated } from './repetitions.js'
import type { Figure } from './report.js'

/** The options of one run. */
export interface IngestOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly inFlight: number
  readonly repetitions: number
}

/** The maximum size of the processes other than the explorer, MB. */
const MAX_MB = 400
/** Memory that grows more than this in the second half of a backfill is not flat. */
const MAX_GROWTH = 1.15

/**
 * Measures the backfill of a simulated chain by the real processes, as a ratio to fetching and parsing the same
 * blocks from the same node with as many requests in flight: the cost of the log, of applying events and of
 * ClickHouse. Meanwhile it samples the memory of each process and reads from the explorer all the time.
 */
export async function ingest(options: IngestOptions): Promise<Figure[]> {
  return withProcesses(async (startNode, folder) => {
    const { url, node } = await simulatedNode(startNode, folder, options)
    const plain = new PlainNode(url, options.inFlight)
    try {
      return await repeated(options.repetitions, async () => {
        const bareSeconds = await plain.fetchAndParse(options.blocks)
        // Processes and a folder of its own for each repetition.
        const run = await withProcesses((start) => indexAll(start, url, node, options))
        return figures(options, bareSeconds, run)
      })
    } finally {
      plain.close()
    }
  })
}

interface Memory {
  readonly process: ServiceProcess
  readonly samples: number[]
}

interface Run {
  readonly seconds: number
  readonly memory: readonly Memory[]
  /** Processor seconds of each process. */
  readonly cpu: readonly (readonly [name: string, seconds: number])[]
}

async function indexAll(
  start: Start,
  nodeUrl: string,
  node: ServiceProcess,
  options: IngestOptions,
): Promise<Run> {
  const env = { NODE_RPC_URL: nodeUrl }
  const { engine } = await engineOf(start)
  const { url, explorer } = await explorerOf(start, env)
  const from = performance.now()
  const nodeBefore = node.cpuSeconds()
  const processes = [explorer, start('poller', env), start('materializer', env)]
  const memory = processes.map((process) => ({ process, samples: [] as number[] }))
  await settled(
    async () => {
      for (const { process, samples } of memory) samples.push(process.rssMb())
      await read(url)
      return (await chainHeight(url)) === options.blocks
    },
    1_800_000,
    [engine, ...processes],
  )
  const seconds = (performance.now() - from) / 1000
  const cpu = [engine, ...processes].map((process) => [process.name, process.cpuSeconds()] as const)
  return { seconds, memory, cpu: [...cpu, [node.name, node.cpuSeconds() - nodeBefore]] }
}

/** The requests of a visitor: the newest blocks, their transactions, and an address among them. */
async function read(url: string): Promise<void> {
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`)).json()
  const recent = (await get('/txs/recent')) as {
    items?: { outputs: { addresses: { address: string }[] }[] }[]
  }
  await get('/blocks')
  const address = recent.items?.[0]?.outputs[0]?.addresses[0]?.address
  if (address !== undefined) await Promise.all([get(`/address/${address}`), get(`/address/${address}/txs`)])
}

function figures(options: IngestOptions, bareSeconds: number, run: Run): Figure[] {
  const [rate, bareRate] = [options.blocks / run.seconds, options.blocks / bareSeconds]
  const { txsPerBlock } = options
  return [
    comparison('blocks_per_second', 'blocks/s', rate, bareRate),
    comparison('transactions_per_second', 'transactions/s', rate * txsPerBlock, bareRate * txsPerBlock),
    ...run.memory.flatMap(({ process, samples }) => [
      {
        name: `${process.name}_peak_rss`,
        value: process.peakMb,
        unit: 'MB',
        most: process.name === 'explorer' ? MAX_EXPLORER_MB : MAX_MB,
      },
      {
        name: `${process.name}_growth_in_second_half`,
        value: growthInSecondHalf(samples),
        unit: 'ratio',
        most: MAX_GROWTH,
      },
    ]),
    ...run.cpu.map(([name, seconds]) => ({
      name: `${name}_cpu_per_block`,
      value: (seconds * 1000) / options.blocks,
      unit: 'ms',
    })),
  ]
}
