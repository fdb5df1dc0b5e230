import { Database } from '../pipelines/tables/clickhouse.js'
import { latestHead } from '../pipelines/tables/head.js'
import { freePort } from '../services/ports.js'
import { KafkaCluster } from '../test/harness/kafka.js'
import { rowDifferences } from '../test/harness/row-differences.js'
import { WITHOUT_KAFKA } from '../test/harness/without-kafka.js'
import { settled, simulatedNode, type Start, withProcesses } from './processes.js'
import type { Figure } from './report.js'

export interface ReplayOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  /** The node's time for a read of a block, milliseconds; the poller has four requests in flight. */
  readonly blockMs: number
}

const FIRST = 'headwater'
const SECOND = 'replayed'

/**
 * Measures a second database built from the log (`replay --into`), as a ratio to indexing the same blocks from a node
 * by poller and materializer. Both by the real processes, from their start until the last block is shown. Then every
 * visible row of the one must be visible in the other. From the embedded log, and from Kafka if it is available.
 */
export async function replay(options: ReplayOptions): Promise<Figure[]> {
  const embedded = await replayFrom(undefined, options)
  if (WITHOUT_KAFKA !== undefined) return embedded
  const kafka = await KafkaCluster.start(1)
  try {
    const figures = await replayFrom(kafka.url, options)
    return [...embedded, ...figures.map((figure) => ({ ...figure, name: `kafka_${figure.name}` }))]
  } finally {
    await kafka.stop()
  }
}

/** @param log for LOG_URL; the embedded one by default. */
async function replayFrom(log: string | undefined, options: ReplayOptions): Promise<Figure[]> {
  return withProcesses(async (startPlainly, folder) => {
    const start: Start = (name, env, args) =>
      startPlainly(name, log === undefined ? env : { ...env, LOG_URL: log }, args)
    const { url, node } = await simulatedNode(start, folder, { ...options, mix: 'cheap' })
    const http = await freePort()
    const engine = start('engine', {}, ['--http-port', String(http)])
    const clickhouse = `http://127.0.0.1:${String(http)}`
    await settled(async () => (await fetch(`${clickhouse}/ping`)).ok, 60_000)
    const first = new Database({ url: clickhouse, database: FIRST, timeoutMs: 600_000 })
    const indexing = await indexFrom(start, url, first, options)
    await node.kill('SIGTERM')
    const before = engine.cpuSeconds()
    const replaying = await replayInto(start)
    const engineSeconds = engine.cpuSeconds() - before
    const second = first.sibling(SECOND)
    const differing = (await rowDifferences(first, second)).reduce(
      (sum, { onlyOne, onlyOther }) => sum + onlyOne + onlyOther,
      0,
    )
    await Promise.all([first.close(), second.close()])
    const [rate, indexRate] = [options.blocks / replaying.seconds, options.blocks / indexing]
    const perBlock = (seconds: number): number => (seconds * 1000) / options.blocks
    return [
      {
        name: 'blocks_per_second',
        value: rate,
        unit: 'blocks/s',
        baseline: indexRate,
        ratio: rate / indexRate,
      },
      { name: 'rows_that_differ', value: differing, unit: 'rows', most: 0 },
      { name: 'replay_peak_rss', value: replaying.peakMb, unit: 'MB', most: 600 },
      { name: 'replay_cpu_per_block', value: perBlock(replaying.cpuSeconds), unit: 'ms' },
      { name: 'engine_cpu_per_block', value: perBlock(engineSeconds), unit: 'ms' },
    ]
  })
}

/** @returns seconds until the last block is shown. */
async function indexFrom(
  start: Start,
  nodeUrl: string,
  db: Database,
  { blocks }: ReplayOptions,
): Promise<number> {
  const from = performance.now()
  const started = ['poller', 'materializer'].map((name) => start(name, { NODE_RPC_URL: nodeUrl }))
  await settled(async () => (await latestHead(db))?.tipHeight === blocks, 1_800_000)
  const seconds = (performance.now() - from) / 1000
  for (const each of started) await each.kill('SIGTERM')
  return seconds
}

async function replayInto(
  start: Start,
): Promise<{ readonly seconds: number; readonly cpuSeconds: number; readonly peakMb: number }> {
  const from = performance.now()
  const process = start('replay', {}, ['--into', SECOND])
  let cpuSeconds = 0
  const sampling = setInterval(() => {
    cpuSeconds = Math.max(cpuSeconds, process.cpuSeconds())
    process.rssMb()
  }, 100)
  await process.ended()
  clearInterval(sampling)
  return { seconds: (performance.now() - from) / 1000, cpuSeconds, peakMb: process.peakMb }
}
