import { setTimeout as sleep } from 'node:timers/promises'
import { pause } from '../../pipelines/pause.js'
import { StartRefused, UsageError } from '../../pipelines/errors.js'
import { observedLog } from '../../pipelines/log/observed.js'
import type { EventLog, Lease } from '../../pipelines/log/port.js'
import { Materializer, type MaterializerHooks } from '../../pipelines/materialize/materializer.js'
import { LogShrank, PoisonEvent } from '../../pipelines/materialize/poison.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { SchemaMismatch, tablesOf } from '../../pipelines/tables/schema-version.js'
import { noteServing, servingDatabase } from '../../pipelines/tables/serving.js'
import { newestClaim, Superseded } from '../../pipelines/tables/writers.js'
import { engineUrl } from '../process/discovery.js'
import { openEventLog } from '../process/event-log.js'
import { runService, type ServiceContext, untilAborted } from '../process/lifecycle.js'
import { serveObservation } from '../metrics/observation.js'
import { writeMempoolHistory } from './history.js'
import { MaterializerMetrics } from './metrics.js'
import { waitStopped } from './stopped.js'
import { type Waiting, whenAnswered } from './when-answered.js'

/**
 * The time to wait for the loss of the lease, which is noticed within a session of the log. If the lease is kept for longer, this
 * process was not superseded by the next holder of the lease.
 */
const LEASE_ENDS_MS = 15_000
const RETRY_MS = 1_000
/** The time that metrics wait for the end of the log, which may be unreachable. */
const LOG_END_MS = 1_000

await runService('materializer', async (context) => {
  const { config, logger, signal } = context
  const current: Current = {}
  const metrics = new MaterializerMetrics({
    head: () => current.materializer?.head,
    logEnd: () => endOf(current.log),
  })
  const observation = await serveObservation({
    host: config.host,
    port: config.materializerMetricsPort,
    what: 'the metrics of the materializer (MATERIALIZER_METRICS_PORT)',
    metrics: () => metrics.text(),
    health: () => metrics.health(),
  })
  logger.info({ host: config.host, metricsPort: observation.port }, 'listening')
  const url = await engineUrl(config, { logger, signal })
  const onMove = (server: string): void => {
    logger.warn({ server }, 'moved to another database server')
  }
  const { clickhouseDatabase: database } = config
  const configured = new Database({ url, database, onInsert: metrics.inserted, onMove })
  const log = observedLog(await openEventLog(config, logger), metrics)
  current.log = log
  let outdated: SchemaMismatch | undefined
  try {
    const began = await ownServing(configured, {
      logger,
      signal,
      onFailure: (error) => void metrics.failed(error),
    })
    for (;;) {
      metrics.leads(false)
      const lease = await leadWhenPossible(log, metrics, context)
      if (lease === undefined) break
      metrics.leads(true)
      const stopsLeading = new AbortController()
      const history = writeMempoolHistory(
        {
          configured,
          log,
          logger,
          retention: config,
          onFailure: (error) => void metrics.historyFailed(error),
        },
        AbortSignal.any([signal, lease.lost, stopsLeading.signal]),
      )
      try {
        outdated = await applyWhileLeading(configured, { began, log, lease, metrics, current }, context)
      } finally {
        stopsLeading.abort()
        await history
        await lease.release()
      }
      if (outdated === undefined) {
        if (!signal.aborted) logger.warn('lease lost, standing by')
        continue
      }
      // Not a reason to exit: a supervisor would also stop the explorers, which still serve what was indexed.
      const { code, message } = outdated
      logger.error({ code }, `stopped until this process is replaced: ${message}`)
      metrics.leads(false)
      await untilAborted(signal)
    }
  } finally {
    await log.close()
    await configured.close()
    observation.close()
  }
})

/** The sources of the metrics; they change with every database and lease. */
interface Current {
  log?: EventLog
  materializer?: Materializer | undefined
}

async function endOf(log: EventLog | undefined): Promise<number | undefined> {
  const late = sleep(LOG_END_MS, undefined, { ref: false })
  return Promise.race([log?.last('chain').catch(() => undefined), late])
}

/** Waits for the lease while another process holds it or the log is unreachable. @returns undefined if the signal aborts. */
async function leadWhenPossible(
  log: EventLog,
  metrics: MaterializerMetrics,
  { logger, signal }: ServiceContext,
): Promise<Lease | undefined> {
  while (!signal.aborted) {
    try {
      return await log.lead('materializer', signal)
    } catch (error) {
      if (signal.aborted) break
      metrics.failed(error)
      logger.warn({ err: error }, 'log unreachable, retrying')
      await pause(RETRY_MS, signal)
    }
  }
  return undefined
}

/**
 * Returns the name of the database that serves when this process starts, undefined if the signal aborts first. A process of another
 * version must exit now and not when it leads: a rolling update would have removed the processes of the first version by then.
 * @throws SchemaMismatch if the database has the tables of another version.
 */
async function ownServing(configured: Database, waiting: Waiting): Promise<string | undefined> {
  const name = await whenAnswered(() => servingDatabase(configured), waiting)
  if (name === undefined) return undefined
  const db = configured.sibling(name)
  const tables = await whenAnswered(() => tablesOf(db), waiting).finally(() => db.close())
  if (tables instanceof SchemaMismatch) throw tables
  return name
}

interface Leading {
  /** The database that served when this process started. */
  readonly began: string | undefined
  readonly log: EventLog
  readonly lease: Lease
  readonly metrics: MaterializerMetrics
  readonly current: Current
}

/**
 * Applies events to the database that serves, and then to its successors, until the lease is lost or the process stops.
 * @returns the error for a successor that was built by another version.
 */
async function applyWhileLeading(
  configured: Database,
  leading: Leading,
  context: ServiceContext,
): Promise<SchemaMismatch | undefined> {
  const signal = AbortSignal.any([context.signal, leading.lease.lost])
  const { logger } = context
  const waiting = { logger, signal, onFailure: (error: unknown) => void leading.metrics.failed(error) }
  let serving = await whenAnswered(() => servingDatabase(configured), waiting)
  let hasHandedOver = false
  while (serving !== undefined && !signal.aborted) {
    const name: string = serving
    if (name !== configured.name) await whenAnswered(() => noteServing(configured, name), waiting)
    logger.info({ database: name }, 'applying events')
    try {
      serving = await applyTo(configured.sibling(name), leading, { ...context, signal })
    } catch (error) {
      // A process of another version may also have led, and handed over, while this one waited for the lease.
      if ((hasHandedOver || name !== leading.began) && error instanceof SchemaMismatch) return error
      throw error
    }
    hasHandedOver = true
  }
  return undefined
}

/** Applies events to one database. @returns the name of its successor if it hands over, undefined if the signal aborts or the lease is lost. */
async function applyTo(
  db: Database,
  { log, lease, metrics, current }: Leading,
  { config, logger, signal, args }: ServiceContext,
): Promise<string | undefined> {
  const { chain, finalityDepth, logBlocks } = config
  const hasBodies = config.txBodies === 'tables'
  const hooks = crashAt(args)
  const deadLetterPoison = config.poisonEvents === 'dead-letters'
  const materializer = new Materializer({
    db,
    log,
    logger,
    chain,
    finalityDepth,
    hasBodies,
    logBlocks,
    deadLetterPoison,
    hooks,
    observer: metrics,
  })
  current.materializer = materializer
  try {
    await materializer.run(signal)
  } catch (error) {
    if (error instanceof Superseded) return error.successor ?? (await supersededOrRefuse(error, lease))
    if (error instanceof StartRefused) throw error
    if (!(error instanceof PoisonEvent || error instanceof LogShrank)) {
      // The process exits with status 1. The error may recur, so the supervisor restarts it with growing pauses.
      if (error instanceof Error) await materializer.alert(error).catch(() => undefined)
      throw error
    }
    metrics.stopped(error)
    return await waitStopped(error, {
      logger,
      signal,
      report: () => materializer.alert(error),
      successor: () => successorOf(db),
    })
  } finally {
    current.materializer = undefined
    await materializer.close()
    await db.close()
  }
  return undefined
}

async function successorOf(db: Database): Promise<string | undefined> {
  const { successor } = await newestClaim(db)
  return successor === '' ? undefined : successor
}

/**
 * Waits until the lease is lost, which explains why another process took over; this one then stands by.
 * @throws Superseded if the lease is kept: two active processes would supersede each other in turns.
 */
async function supersededOrRefuse(error: Superseded, { isExclusive, lost }: Lease): Promise<undefined> {
  if (!isExclusive) throw error
  await pause(LEASE_ENDS_MS, lost)
  if (!lost.aborted) throw error
  return undefined
}

/**
 * Returns the hooks of `--crash-at POINT`, which kills the process at its first head, for crash tests: `rows` after the rows
 * and before the head, `head` after the head and before its announcement, `announcement` before the log's offset is committed.
 */
function crashAt(args: readonly string[]): MaterializerHooks {
  const at = args.indexOf('--crash-at')
  if (at < 0) return {}
  const point = args[at + 1]
  const die = (): void => void process.kill(process.pid, 'SIGKILL')
  if (point === 'rows') return { beforeHead: die }
  if (point === 'head') return { afterHead: die }
  if (point === 'announcement') return { afterAnnouncement: die }
  throw new UsageError('--crash-at must be rows, head or announcement')
}
