import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { FolderInUse, isDefect, StartRefused, UsageError } from '../../pipelines/errors.js'
import { holdFile } from '../../pipelines/log/embedded/record-file.js'
import type { EventLog } from '../../pipelines/log/port.js'
import {
  assertNamed,
  assertSame,
  chainOfLog,
  type ContainedChain,
} from '../../pipelines/materialize/one-chain.js'
import { networkNamed } from '../../pipelines/chain/networks.js'
import { pause } from '../../pipelines/pause.js'
import { loadConfig } from '../config.js'
import { serveObservation } from '../metrics/observation.js'
import { DefinitionFile } from '../process/definition-file.js'
import { openEventLog } from '../process/event-log.js'
import { runCommand, runService, type ServiceContext } from '../process/lifecycle.js'
import { listing } from './commands.js'
import { Deliverer } from './delivery/deliverer.js'
import { Follower } from './events/follower.js'
import { Guard } from './delivery/guard.js'
import { type Hook, parseHooks } from './hooks.js'
import { WebhooksMetrics } from './metrics.js'
import { senderFor } from './delivery/sender.js'
import { Store } from './store.js'

const USAGE = `npm run webhooks [-- command]
Delivers the webhooks of WEBHOOKS_FILE. Commands, which may be used while it runs:
  --list        prints the state of each webhook
  --retry ID    sends the deliveries of a webhook that were given up again, and enables it
  --drop ID     removes all deliveries of a webhook that wait or were given up`

/** The pause between two reads of the log if nothing is new. */
const IDLE_MS = 200
const MAX_BACKOFF_MS = 5_000

const values = options()
if (values instanceof UsageError)
  await runCommand(
    'webhooks',
    () => Promise.reject(values),
    () => 2,
  )
else if (values.help === true || values.list === true || (values.retry ?? values.drop) !== undefined)
  await runCommand(
    'webhooks',
    () => command(values),
    () => 2,
  )
else await runService('webhooks', (context) => run(context, values))

interface Options {
  readonly help?: boolean
  readonly list?: boolean
  readonly retry?: string
  readonly drop?: string
  /** The pauses between attempts in milliseconds, separated by commas; for tests. */
  readonly 'retry-ms'?: string
  /** The time for one attempt in milliseconds; for tests. */
  readonly 'timeout-ms'?: string
}

/** Parses the command line. @returns an error that contains the usage if it is invalid. */
function options(): Options | UsageError {
  const [flag, text] = [{ type: 'boolean' }, { type: 'string' }] as const
  try {
    return parseArgs({
      options: { help: flag, list: flag, retry: text, drop: text, 'retry-ms': text, 'timeout-ms': text },
    }).values
  } catch (error) {
    return new UsageError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`)
  }
}

/** Runs a command of the operator. @returns the exit status. */
function command(values: Options): Promise<number> {
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`)
    return Promise.resolve(0)
  }
  const store = new Store(fileIn(loadConfig().dataDir))
  try {
    const { retry, drop } = values
    if (retry !== undefined && !store.retry(retry)) throw new UsageError(`there is no webhook ${retry}`)
    if (drop !== undefined) process.stdout.write(`${String(store.drop(drop))} deliveries removed\n`)
    process.stdout.write(listing(store.overview(), Date.now()))
    return Promise.resolve(0)
  } finally {
    store.close()
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'webhooks.sqlite')
}

async function run(context: ServiceContext, values: Options): Promise<void> {
  const { config, logger, signal } = context
  if (config.webhooksFile === undefined)
    throw new StartRefused('WEBHOOKS_FILE is not set: set it to the file that lists the receivers')
  await mkdir(config.dataDir, { recursive: true })
  const release = holdFile(join(config.dataDir, 'webhooks.lock'))
  if (release === undefined)
    throw new FolderInUse(`the webhooks are already running in ${config.dataDir}: stop them, or set DATA_DIR`)
  const store = new Store(fileIn(config.dataDir))
  const log = await openEventLog(config, logger)
  let follower: Follower | undefined
  let file: DefinitionFile<readonly Hook[] | undefined> | undefined
  const metrics = new WebhooksMetrics({
    height: () => follower?.height,
    queue: () => queueOf(store, file?.value ?? []),
    isFileRefused: () => file?.isRefused === true,
  })
  const observation = await serveObservation({
    host: config.host,
    port: config.webhooksMetricsPort,
    what: 'the metrics of the webhooks (WEBHOOKS_METRICS_PORT)',
    metrics: () => metrics.text(),
    health: () => metrics.health(),
  })
  logger.info({ host: config.host, metricsPort: observation.port }, 'listening')
  try {
    const contained = await chainWhenKnown(log, metrics, context)
    if (contained === undefined) return
    assertNamed(contained, config.chain)
    assertSame(contained, chainOfStore(store))
    const network = networkNamed(contained.name)
    file = new DefinitionFile<readonly Hook[] | undefined>({
      path: config.webhooksFile,
      empty: undefined,
      parse: (text) => parseHooks(text, network),
      logger,
      changed: () => undefined,
    })
    await file.start()
    const hooks = await hooksOf(file, signal)
    if (hooks === undefined) return
    follower = new Follower({ log, store, logger, network, contained, hooks })
    const guard = new Guard(config.webhooksAllowedNetworks)
    const retry = values['retry-ms']?.split(',').map(Number)
    const deliverer = new Deliverer({
      store,
      logger,
      hooks,
      send: senderFor(guard, values['timeout-ms'] === undefined ? undefined : Number(values['timeout-ms'])),
      attempted: metrics.attempted,
      ...(retry === undefined ? {} : { retryMs: retry }),
    })
    await Promise.all([deliverer.run(signal), follow(follower, { deliverer, metrics }, context)])
  } finally {
    file?.close()
    observation.close()
    await log.close()
    store.close()
    release()
  }
}

function chainOfStore(store: Store): ContainedChain | undefined {
  const { chain } = store
  if (chain === undefined) return undefined
  return { where: 'webhooks.sqlite', name: chain.chain, genesisHash: store.block(0)?.hash ?? '' }
}

/** Waits until the log contains a chain. @returns undefined if the signal aborts first. */
async function chainWhenKnown(
  log: EventLog,
  metrics: WebhooksMetrics,
  { logger, signal }: ServiceContext,
): Promise<ContainedChain | undefined> {
  for (let waits = false; !signal.aborted; waits = true) {
    try {
      const chain = await chainOfLog(log)
      if (chain !== undefined) return chain
      metrics.worked(0)
      if (!waits) logger.info('waiting for the first event of the log')
    } catch (error) {
      metrics.failed(error)
      if (!waits) logger.warn({ err: error }, 'log unreachable, retrying')
    }
    await pause(IDLE_MS, signal)
  }
  return undefined
}

/**
 * Returns a function that returns the hooks as last loaded, once the file was loaded: without hooks, events would be lost.
 * @returns undefined if the signal aborts first.
 */
async function hooksOf(
  file: DefinitionFile<readonly Hook[] | undefined>,
  signal: AbortSignal,
): Promise<(() => readonly Hook[]) | undefined> {
  while (file.value === undefined && !signal.aborted) await pause(IDLE_MS, signal)
  return file.value === undefined ? undefined : () => file.value ?? []
}

/** Queues events until the signal aborts; retries after errors that waiting may fix. */
async function follow(
  follower: Follower,
  { deliverer, metrics }: { readonly deliverer: Deliverer; readonly metrics: WebhooksMetrics },
  { logger, signal }: ServiceContext,
): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    try {
      const queued = await follower.step()
      failures = 0
      metrics.worked(queued ?? 0)
      if (queued === undefined) await pause(IDLE_MS, signal)
      else if (queued > 0) deliverer.wake()
    } catch (error) {
      if (error instanceof StartRefused || isDefect(error)) throw error
      const waitMs = Math.min(MAX_BACKOFF_MS, 100 * 2 ** failures++)
      metrics.failed(error)
      logger.warn({ err: error, waitMs }, 'reading the log failed, retrying')
      await pause(waitMs, signal)
    }
  }
}

/** Returns the deliveries of the hooks of the file that are not disabled. */
function queueOf(
  store: Store,
  hooks: readonly Hook[],
): { waiting: number; dead: number; oldest: number | undefined } {
  const urls = new Map(hooks.map(({ id, url }) => [id, url]))
  const active = store
    .overview()
    .filter(({ id, disabledUrl }) => urls.has(id) && urls.get(id) !== disabledUrl)
  const ages = active.flatMap(({ oldest }) => oldest ?? [])
  return {
    waiting: active.reduce((sum, { waiting }) => sum + waiting, 0),
    dead: active.reduce((sum, { dead }) => sum + dead, 0),
    oldest: ages.length === 0 ? undefined : Math.min(...ages),
  }
}
