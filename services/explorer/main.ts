import { Database } from '../../pipelines/tables/clickhouse.js'
import { engineUrl, presentNodeUrl } from '../discovery.js'
import { openEventLog } from '../event-log.js'
import { runService, untilAborted } from '../lifecycle.js'
import { startExplorer } from './explorer.js'
import { UpgradeAnswers } from './http/upgrading.js'

await runService('explorer', async ({ config, logger, signal }) => {
  const url = await engineUrl(config, { signal, logger })
  const db = new Database({ url, database: config.clickhouseDatabase })
  const { explorerPort: port, explorerGrpcPort: grpcPort, host } = config
  const upgrade = new UpgradeAnswers({ host, port }, logger)
  const log = await openEventLog(config, logger, (progress) => {
    upgrade.report(progress)
  }).finally(() => upgrade.close())
  const { rateLimitPerMinute, trustedProxyHops, whaleMinValue } = config
  const definitions = { labels: config.labelsFile, pools: config.poolsFile }
  const explorer = await startExplorer({
    ...{ host, port, grpcPort, db, log, logger, rateLimitPerMinute, trustedProxyHops, definitions },
    whaleMinValue: BigInt(whaleMinValue),
    locateNode: () => presentNodeUrl(config),
    nodeDataDir: config.nodeDataDir,
    healthToken: config.healthApiToken,
  })
  logger.info({ url: explorer.url, grpc: explorer.grpcAddress }, 'explorer listening')
  const refused = await Promise.race([explorer.upgraded, untilAborted(signal).then(() => undefined)])
  if (refused === undefined) await untilAborted(signal)
  await explorer.close()
  await Promise.all([db.close(), log.close()])
  if (refused !== undefined) throw refused
})
