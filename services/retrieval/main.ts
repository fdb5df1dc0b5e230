import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openContent } from '../../pipelines/content/store.js'
import { StartRefused } from '../../pipelines/errors.js'
import { Model } from '../../pipelines/retrieval/model/model.js'
import { HUB, PIP } from '../../pipelines/retrieval/model/routes.js'
import { indexFolder, Retrieval } from '../../pipelines/retrieval/retrieval.js'
import { runService, type ServiceContext, untilAborted } from '../lifecycle.js'
import { type Health, serveObservation } from '../observation.js'
import { Progress } from '../progress.js'
import { startRpcServer } from '../rpc/server.js'
import { collectGarbage } from './garbage.js'
import { retrievalService } from './handlers.js'
import { Metrics } from './metrics.js'

const CHECK_EVERY_MS = 100

await runService('retrieval', async (context) => {
  const { config, logger, args } = context
  const content = await openContent(config.contentDir, { logger })
  const model = new Model({
    folder: config.embeddingModelDir,
    cache: join(config.dataDir, 'model'),
    routes: [PIP, HUB],
    logger,
  })
  const retrieval = await Retrieval.open({
    library: content,
    model,
    folder: indexFolder(config.dataDir),
    logger,
  })
  collectGarbage()
  model.start()
  try {
    await (args.includes('--index') ? indexOnce(retrieval, context) : serve(retrieval, context))
  } finally {
    content.close()
    await retrieval.close()
    await model.close()
  }
})

async function serve(retrieval: Retrieval, { config, logger, signal }: ServiceContext): Promise<void> {
  const { host } = config
  const metrics = new Metrics(() => retrieval.status())
  const observation = await serveObservation({
    host,
    port: config.retrievalMetricsPort,
    what: 'the metrics of retrieval (RETRIEVAL_METRICS_PORT)',
    metrics: () => metrics.text(),
    health: () => healthOf(retrieval),
  })
  const service = retrievalService(retrieval, metrics)
  const what = 'retrieval (RETRIEVAL_GRPC_PORT)'
  const rpc = await startRpcServer({
    host,
    port: config.retrievalGrpcPort,
    services: [service],
    logger,
    what,
  })
  rpc.setServing(service.descriptor.typeName, true)
  logger.info({ host, port: rpc.port, metricsPort: observation.port }, 'listening')
  await untilAborted(signal)
  await rpc.close()
  observation.close()
}

function healthOf(retrieval: Retrieval): Health {
  const { indexBuiltMs, indexStale, reason, ...status } = retrieval.status()
  const index = { built_at: new Date(indexBuiltMs).toISOString(), stale: indexStale }
  return { isWell: true, body: { status: 'ok', service: 'retrieval', ...status, reason, index } }
}

/** Brings the index up to date and returns, for `npm run docs:index`. */
async function indexOnce(retrieval: Retrieval, { logger, signal }: ServiceContext): Promise<void> {
  const progress = new Progress(process.stderr)
  for (;;) {
    const { semantic, reason, chunks, pages, embedding } = retrieval.status()
    if (semantic === 'unavailable')
      throw new StartRefused(`cannot build the index without the model: ${reason}`)
    if (semantic === 'ready') {
      progress.end()
      await retrieval.settled()
      logger.info({ pages, chunks }, 'index up to date')
      return
    }
    if (embedding.total > 0) progress.step('passages embedded', embedding.done, embedding.total)
    await sleep(CHECK_EVERY_MS, undefined, { signal })
  }
}
