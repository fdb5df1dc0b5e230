import { Database } from '../pipelines/tables/clickhouse.js'
import { latestHead } from '../pipelines/tables/head.js'
import { KafkaCluster } from '../test/harness/kafka.js'
import { rowDifferences } from '../test/harness/row-differences.js'
import { WITHOUT_KAFKA } from '../test/harness/without-kafka.js'
import { PlainNode } from './baseline/node.js'
import { engineOf, settled, simulatedNode, type Start, withProcesses } from './processes.js'
import { comparison, repeated } from './repetitions.js'
import type { Figure } from './report.js'

export interface ReplayOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  /** Requests in flight of the baseline. */
  readonly inFlight: number
  readonly repetitions: number
}

/** The database that is indexed from the node; each replay builds the one that replaces the one before. */
const FIRST = 'headwater'
const REPLAYED = 'replayed_'
/** The maximum size of the replay, MB. */
const MAX_MB = 600

/**
 * Measures databases built from the log (`replay --into`), as a ratio to fetching and parsing the same blocks from a node
 * without indexing them. By the real processes, from their start until the last block is shown. Every visible row of such a
 * database must be visible in the one that was indexed from the node. From the embedded log, and from Kafka if it is available.
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
    const { url } = await simulatedNode(start, folder, { ...options, mix: 'cheap' })
    const { url: clickhouse, engine } = await engineOf(start)
    const first = new Database({ url: clickhouse, database: FIRST, timeoutMs: 600_000 })
    const plain = new PlainNode(url, options.inFlight)
    try {
      const indexing = await indexFrom(start, url, first, options)
      const figures = await repeated(options.repetitions, async (repetition) => {
        const bareSeconds = await plain.fetchAndParse(options.blocks)
        const before = engine.cpuSeconds()
        const replaying = await replayInto(start, `${REPLAYED}${String(repetition)}`)
        const engineSeconds = engine.cpuSeconds() - before
        const perBlock = (seconds: number): number => (seconds * 1000) / options.blocks
        return [
          comparison(
            'blocks_per_second',
            'blocks/s',
            options.blocks / replaying.seconds,
            options.blocks / bareSeconds,
          ),
          { name: 'replay_peak_rss', value: replaying.peakMb, unit: 'MB', most: MAX_MB },
          { name: 'replay_cpu_per_block', value: perBlock(replaying.cpuSeconds), unit: 'ms' },
          { name: 'engine_cpu_per_block', value: perBlock(engineSeconds), unit: 'ms' },
        ]
      })
      const last = first.sibling(`${REPLAYED}${String(options.repetitions - 1)}`)
      const differences = await rowDifferences(first, last).finally(() => last.close())
      const differing = differences.reduce((sum, { onlyOne, onlyOther }) => sum + onlyOne + onlyOther, 0)
      return [
        ...figures,
        { name: 'indexing_blocks_per_second', value: options.blocks / indexing, unit: 'blocks/s' },
        { name: 'rows_that_differ', value: differing, unit: 'rows', most: 0 },
      ]
    } finally {
      plain.close()
      await first.close()
    }
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
  database: string,
): Promise<{ readonly seconds: number; readonly cpuSeconds: number; readonly peakMb: number }> {
  const from = performance.now()
  const process = start('replay', {}, ['--into', database])
  let cpuSeconds = 0
  const sampling = setInterval(() => {
    cpuSeconds = Math.max(cpuSeconds, process.cpuSeconds())
    process.rssMb()
  }, 100)
  await process.ended()
  clearInterval(sampling)
  return { seconds: (performance.now() - from) / 1000, cpuSeconds, peakMb: process.peakMb }
}
