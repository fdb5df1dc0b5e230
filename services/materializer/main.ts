import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease } from '../../pipelines/log/port.js'
import { Materializer, type MaterializerHooks } from '../../pipelines/materialize/materializer.js'
import { LogShrank, PoisonEvent } from '../../pipelines/materialize/poison.js'
import { Superseded } from '../../pipelines/tables/writers.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { engineUrl } from '../discovery.js'
import { openEventLog } from '../event-log.js'
import { runService, StartRefused } from '../lifecycle.js'
import { standStill } from './stand-still.js'

/** Who took over is told to the one before within a session of the log; longer, and it is no matter of leases. */
const LEASE_ENDS_MS = 15_000
const RETRY_MS = 1_000

await runService('materializer', async ({ config, logger, signal, args }) => {
  const url = await engineUrl(config, { logger, signal })
  const db = new Database({ url, database: config.clickhouseDatabase })
  const log = await openEventLog(config, logger)
  const hooks: MaterializerHooks = { beforeHead: crashBeforeHead(args) }
  const layPoisonAside = config.poisonEvents === 'dead-letters'
  const { finalityDepth } = config
  try {
    while (!signal.aborted) {
      const lease = await leadWhenPossible()
      if (lease === undefined) break
      const over = AbortSignal.any([signal, lease.lost])
      const materializer = new Materializer({ db, log, logger, finalityDepth, layPoisonAside, hooks })
      try {
        await materializer.run(over)
        if (!signal.aborted) logger.warn('the lease is lost: standing by')
      } catch (error) {
        if (error instanceof Superseded) await supersededOrRefuse(error, lease)
        else if (error instanceof PoisonEvent || error instanceof LogShrank)
          await standStill(error, { logger, signal: over, tell: () => materializer.alert(error) })
        else throw error
      } finally {
        await lease.release()
      }
    }
  } finally {
    await log.close()
    await db.close()
  }

  /** Waits while another leads, or while the log is away; undefined when the process is to stop. */
  async function leadWhenPossible(): Promise<Lease | undefined> {
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
})

/** @throws StartRefused where the other did not take over because this one's lease is lost: then they would do so in turns. */
async function supersededOrRefuse(error: Superseded, { isExclusive, lost }: Lease): Promise<void> {
  if (!isExclusive) throw new StartRefused(error.message)
  const waited = AbortSignal.any([lost, AbortSignal.timeout(LEASE_ENDS_MS)])
  if (!waited.aborted)
    await new Promise((resolve) => {
      waited.addEventListener('abort', resolve, { once: true })
    })
  if (!lost.aborted) throw new StartRefused(error.message)
}

/** `--crash-before-head N` kills the process when the rows of its N-th head are written and the head is not: for crash tests. */
function crashBeforeHead(args: readonly string[]): () => void {
  const at = args.indexOf('--crash-before-head')
  let left = at < 0 ? Number.POSITIVE_INFINITY : Number(args[at + 1])
  return () => {
    if (--left < 1) process.kill(process.pid, 'SIGKILL')
  }
}
