import { join } from 'node:path'
import { pause } from '../../pipelines/pause.js'
import { UsageError } from '../../pipelines/errors.js'
import { observedLog } from '../../pipelines/log/observed.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { BlockWait } from '../../pipelines/poll/announce/block-wait.js'
import { ZmqAnnouncements } from '../../pipelines/poll/announce/zmq-announcements.js'
import { NO_STATE, Poller } from '../../pipelines/poll/poller.js'
import { nodeUrl, readEndpoint } from '../process/discovery.js'
import { openEventLog } from '../process/event-log.js'
import { runService, type ServiceContext } from '../process/lifecycle.js'
import { serveObservation } from '../metrics/observation.js'
import { PollerMetrics } from './metrics.js'
import { SignalAnnouncements } from './signal-announcements.js'

/** The default number of a node's RPC threads; more requests would only queue there. */
const IN_FLIGHT = 4
/** The interval of the checks whether the simulated node has restarted on another port. */
const MOVED_LOOK_MS = 1_000

await runService('poller', async (context) => {
  const inFlight = inFlightOf(context.args)
  const { host, pollerMetricsPort, pollIntervalMs } = context.config
  let poller: Poller | undefined
  const metrics = new PollerMetrics(() => poller?.state ?? NO_STATE, pollIntervalMs)
  const observation = await serveObservation({
    host,
    port: pollerMetricsPort,
    what: 'the metrics of the poller (POLLER_METRICS_PORT)',
    metrics: () => metrics.text(),
    health: () => metrics.health(),
  })
  context.logger.info({ host, metricsPort: observation.port }, 'listening')
  const log = await openEventLog(context.config, context.logger)
  try {
    const parts = {
      log: observedLog(log, metrics),
      metrics,
      inFlight,
      onStart: (started: Poller) => void (poller = started),
    }
    while (!context.signal.aborted) await follow(context, parts)
  } catch (error) {
    if (context.signal.aborted) return
    throw error
  } finally {
    await log.close()
    observation.close()
  }
})

interface Parts {
  readonly log: EventLog
  readonly metrics: PollerMetrics
  readonly inFlight: number
  readonly onStart: (poller: Poller) => void
}

/** Follows the node until its URL changes or the signal aborts. */
async function follow(
  { config, logger, signal }: ServiceContext,
  { log, metrics, inFlight, onStart }: Parts,
): Promise<void> {
  const url = await nodeUrl(config, { signal, logger })
  const node = new NodeClient(url, { logger, onAttempt: metrics.attempted })
  const { chain, pollIntervalMs, nodeMempoolExpiryHours: expiryHours, logBlocks } = config
  const poller = new Poller({
    node,
    log,
    chain,
    pollIntervalMs,
    inFlight,
    logger,
    expiryHours,
    logBlocks,
    announcements: [
      new SignalAnnouncements(),
      ...(config.nodeWaitForBlocks === 'true' ? [new BlockWait({ url, logger })] : []),
      ...(config.nodeZmqUrl === undefined ? [] : [new ZmqAnnouncements({ url: config.nodeZmqUrl, logger })]),
    ],
    observer: metrics,
  })
  onStart(poller)
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const watching =
    config.nodeRpcUrl === undefined ? untilMoved(config.dataDir, url, either) : Promise.resolve()
  void watching.then(() => {
    if (config.nodeRpcUrl === undefined) stop.abort()
  })
  try {
    await poller.run(either)
  } finally {
    stop.abort()
    await watching
    node.close()
  }
}

/** Returns the value of `--in-flight N`, the number of blocks fetched at once. With 1 each block is a batch of its own in the log, for tests. @throws UsageError */
function inFlightOf(args: readonly string[]): number {
  const at = args.indexOf('--in-flight')
  const inFlight = at < 0 ? IN_FLIGHT : Number(args[at + 1])
  if (Number.isInteger(inFlight) && inFlight > 0 && inFlight <= 64) return inFlight
  throw new UsageError('--in-flight must be an integer from 1 to 64')
}

async function untilMoved(dataDir: string, url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(MOVED_LOOK_MS, signal)
    const endpoint = await readEndpoint(join(dataDir, 'simnode.json'))
    if (endpoint !== undefined && endpoint.url !== url) return
  }
}
