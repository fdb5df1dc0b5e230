import { parseArgs } from 'node:util'
import { draftsFolder } from '../../pipelines/content/cache/draft-cache.js'
import { loadConfig, type Config } from '../config.js'
import { runCommand, runService, untilAborted } from '../process/lifecycle.js'
import type { Logger } from '../process/logger.js'
import { reachable } from '../process/ports.js'
import type { Answerer } from './ask/answerer.js'
import { checkContent } from './check.js'
import { startDocs } from './docs.js'

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean' },
    // Passed by `npm start`, which runs an explorer too.
    'explorer-port': { type: 'string' },
  },
})
if (options.check === true) await runCommand('docs', check, () => 2)

await runService('docs', async ({ config, logger, signal }) => {
  const isLimited = config.rateLimitPerMinute > 0
  // A server on :: also accepts IPv4, even if the machine has no IPv6 loopback address, as in many containers.
  const retrievalHost = reachable(config.host === '::' ? '0.0.0.0' : config.host)
  const docs = await startDocs({
    host: config.host,
    port: config.docsPort,
    contentDir: config.contentDir,
    contentLanguages: config.contentLanguages,
    cacheFolder: draftsFolder(config.dataDir),
    retrievalAddress: `${retrievalHost}:${String(config.retrievalGrpcPort)}`,
    logger,
    answerer: await answererOf(config, logger),
    siteUrl: config.siteUrl,
    sourceUrl: config.sourceUrl,
    explorerUrl: config.explorerUrl,
    explorerPort: Number(options['explorer-port'] ?? 0),
    siteName: config.siteName,
    siteLogo: config.siteLogo,
    agentApiKey: config.agentApiKey,
    trustedProxyHops: config.trustedProxyHops,
    askLimit: isLimited ? { most: config.askRateLimit, windowMs: config.askRateWindowMs } : undefined,
    chatLimit: isLimited ? { most: config.chatRateLimit, windowMs: config.chatRateWindowMs } : undefined,
  })
  logger.info({ url: docs.url }, 'docs listening')
  await untilAborted(signal)
  await docs.close()
})

function check(): Promise<number> {
  return checkContent(loadConfig(), (line) => {
    process.stdout.write(`${line}\n`)
  })
}

async function answererOf(config: Config, logger: Logger): Promise<Answerer | undefined> {
  const { geminiApiKey: apiKey, geminiBaseUrl: baseUrl, geminiModel: model } = config
  if (apiKey === undefined) {
    logger.info({}, 'GEMINI_API_KEY not set: answers quote passages of the documentation')
    return undefined
  }
  // Its SDK is large, and not needed without a key.
  const { GeminiAnswerer } = await import('./ask/gemini.js')
  return new GeminiAnswerer({ apiKey, baseUrl, model, logger })
}
