import { setTimeout as sleep } from 'node:timers/promises'
import type { EventLog, Lease } from '../../pipelines/log/port.js'
import { Materializer, type MaterializerHooks } from '../../pipelines/materialize/materializer.js'
import { LogShrank, PoisonEvent } from '../../pipelines/materialize/poison.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { notePlace, servingDatabase } from '../../pipelines/tables/serving.js'
import { newestClaim, Superseded } from '../../pipelines/tables/writers.js'
import { engineUrl } from '../discovery.js'
import { openEventLog } from '../event-log.js'
import { runService, type ServiceContext, StartRefused } from '../lifecycle.js'
import { standStill } from './stand-still.js'
import { whenAnswered } from './when-answered.js'

/** Who took over is told to the one before within a session of the log; longer, and it is no matter of leases. */
const LEASE_ENDS_MS = 15_000
const RETRY_MS = 1_000

await runService('materializer', async (context) => {
  const { config, logger, signal } = context
  const url = await engineUrl(config, { logger, signal })
  const named = new Database({ url, database: config.clickhouseDatabase })
  const log = await openEventLog(config, logger)
  try {
    for (;;) {
      const lease = await leadWhenPossible(log, context)
      if (lease === undefined) break
      try {
        await foldWhileLeading(named, { log, lease }, context)
        if (!signal.aborted) logger.warn('the lease is lost: standing by')
      } finally {
        await lease.release()
      }
    }
  } finally {
    await log.close()
    await named.close()
  }
})

/** Waits while another leads, or while the log is away; undefined when the process is to stop. */
async function leadWhenPossible(
  log: EventLog,
  { logger, signal }: ServiceContext,
): Promise<Lease | undefined> {
  while (!signal.aborted) {
    try {
      return await log.lead('materializer', signal)
    } catch (error) {
      if (signal.aborted) break
      logger.warn({ err: error }, 'the log cannot be reached, trying again')
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
    }
  }
  return undefined
}

interface Leading {
  readonly log: EventLog
  readonly lease: Lease
}

/** Folds into the database that serves, and into the one that takes its place, until the lease is lost or the process stops. */
async function foldWhileLeading(named: Database, leading: Leading, context: ServiceContext): Promise<void> {
  const signal = AbortSignal.any([context.signal, leading.lease.lost])
  const { logger } = context
  let serving = await whenAnswered(() => servingDatabase(named), { logger, signal })
  while (serving !== undefined && !signal.aborted) {
    const name: string = serving
    if (name !== named.name) await whenAnswered(() => notePlace(named, name), { logger, signal })
    logger.info({ database: name }, 'folding into')
    serving = await foldInto(named.sibling(name), leading, { ...context, signal })
  }
}

/** @returns the database that has taken the place of this one, nothing where the signal aborts. */
async function foldInto(
  db: Database,
  { log, lease }: Leading,
  { config, logger, signal, args }: ServiceContext,
): Promise<string | undefined> {
  const { finalityDepth } = config
  const hooks = crashAt(args)
  const layPoisonAside = config.poisonEvents === 'dead-letters'
  const materializer = new Materializer({ db, log, logger, finalityDepth, layPoisonAside, hooks })
  try {
    await materializer.run(signal)
  } catch (error) {
    if (error instanceof Superseded) return error.successor ?? (await supersededOrRefuse(error, lease))
    if (!(error instanceof PoisonEvent || error instanceof LogShrank)) throw error
    return await standStill(error, {
      ...{ logger, signal },
      tell: () => materializer.alert(error),
      successor: () => successorOf(db),
    })
  } finally {
    await materializer.idle()
    await db.close()
  }
  return undefined
}

async function successorOf(db: Database): Promise<string | undefined> {
  const { successor } = await newestClaim(db)
  return successor === '' ? undefined : successor
}

/** @throws StartRefused where the other did not take over because this one's lease is lost: then they would do so in turns. */
async function supersededOrRefuse(error: Superseded, { isExclusive, lost }: Lease): Promise<undefined> {
  if (!isExclusive) throw new StartRefused(error.message)
  const waited = AbortSignal.any([lost, AbortSignal.timeout(LEASE_ENDS_MS)])
  if (!waited.aborted)
    await new Promise((resolve) => {
      waited.addEventListener('abort', resolve, { once: true })
    })
  if (!lost.aborted) throw new StartRefused(error.message)
  return undefined
}

/**
 * `--crash-at POINT` kills the process at its first head, for crash tests: at `rows` they are written and the head is not, at
 * `head` it is and nobody was told, at `announcement` they were and the log's own offset is not committed.
 */
function crashAt(args: readonly string[]): MaterializerHooks {
  const at = args.indexOf('--crash-at')
  if (at < 0) return {}
  const point = args[at + 1]
  const die = (): void => void process.kill(process.pid, 'SIGKILL')
  if (point === 'rows') return { beforeHead: die }
  if (point === 'head') return { afterHead: die }
  if (point === 'announcement') return { afterAnnouncement: die }
  throw new StartRefused('--crash-at is followed by rows, head or announcement')
}
