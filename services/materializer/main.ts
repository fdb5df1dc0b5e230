import { Materializer } from '../../pipelines/materialize/materializer.js'
import { LogShrank, PoisonEvent } from '../../pipelines/materialize/poison.js'
import { openLog } from '../../pipelines/log/open.js'
import { Superseded } from '../../pipelines/tables/writers.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { engineUrl } from '../discovery.js'
import { runService, StartRefused } from '../lifecycle.js'
import { standStill } from './stand-still.js'

await runService('materializer', async ({ config, logger, signal, args }) => {
  const url = await engineUrl(config, { logger, signal })
  const db = new Database({ url, database: config.clickhouseDatabase })
  const log = await openLog(config.logUrl, config.dataDir)
  const { finalityDepth } = config
  const materializer = new Materializer({
    db,
    log,
    logger,
    finalityDepth,
    hooks: { beforeHead: crashBeforeHead(args) },
  })
  try {
    await materializer.run(signal)
  } catch (error) {
    if (error instanceof Superseded) throw new StartRefused(error.message)
    if (!(error instanceof PoisonEvent || error instanceof LogShrank)) throw error
    await standStill(error, logger, signal)
  } finally {
    await log.close()
    await db.close()
  }
})

/** `--crash-before-head N` kills the process when the rows of its N-th head are written and the head is not: for crash tests. */
function crashBeforeHead(args: readonly string[]): () => void {
  const at = args.indexOf('--crash-before-head')
  let left = at < 0 ? Number.POSITIVE_INFINITY : Number(args[at + 1])
  return () => {
    if (--left < 1) process.kill(process.pid, 'SIGKILL')
  }
}
