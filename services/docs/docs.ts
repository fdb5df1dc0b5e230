import { type Content, watchContent } from '../../pipelines/content/store.js'
import type { Logger } from '../../pipelines/logger.js'
import { hostInUrl } from '../process/ports.js'
import { RateLimit } from '../access/rate-limit.js'
import { Token } from '../access/token.js'
import type { Answerer } from './ask/answerer.js'
import { Assistant } from './ask/assistant.js'
import { assetEndpoint, loadAssets } from './http/assets.js'
import { Bodies } from './pages/bodies.js'
import { ExtractiveAnswerer } from './ask/extractive.js'
import { healthOf } from './http/health.js'
import { DocsMetrics } from './http/metrics.js'
import { pageEndpoints } from './pages/page-api.js'
import { pictureEndpoint } from './pages/picture.js'
import { readerEndpoint } from './pages/reader.js'
import { ask, chat, resumeEndpoint, type QuestionParts } from './ask/questions.js'
import { json, NO_STORE, text } from './http/reply.js'
import { Retrieval } from './search/retrieval.js'
import { search } from './search/search.js'
import { isAt, Server, type Endpoint } from './http/server.js'
import { whenRead } from './http/unread.js'
import { Site } from './http/site.js'
import { Versioned } from './http/versioned.js'

export interface DocsOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly contentDir: string
  /** BCP 47 tags of the languages, that of the pages outside of their folders first. If left out, the folders say. */
  readonly contentLanguages?: readonly string[] | undefined
  /** The folder in which parsed pages are stored. If left out, each start parses all files. */
  readonly cacheFolder?: string
  /** `host:port` of the retrieval worker. */
  readonly retrievalAddress: string
  readonly logger: Logger
  /** If left out, answers quote passages. */
  readonly answerer?: Answerer | undefined
  readonly siteUrl?: string | undefined
  readonly sourceUrl?: string | undefined
  readonly explorerUrl?: string | undefined
  /** The port of the explorer that `npm start` runs beside the documentation; 0 if there is none. */
  readonly explorerPort?: number | undefined
  /** Not set: the title of the root page. */
  readonly siteName?: string | undefined
  /** Path of a picture. Not set: Headwater's mark, or none if `siteName` is set. */
  readonly siteLogo?: string | undefined
  readonly agentApiKey?: string | undefined
  readonly trustedProxyHops?: number
  /** Not set: no limit, as for `chatLimit`. */
  readonly askLimit?: Limit | undefined
  readonly chatLimit?: Limit | undefined
  /** Milliseconds between two scans of the content folder. */
  readonly scanEveryMs?: number
}

/** The maximum number of requests of a client per window; 0 for no limit. */
export interface Limit {
  readonly most: number
  readonly windowMs: number
}

export interface Docs {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** Serves the content, whose pages appear as they are read. @throws PortTaken if another process listens on the port. */
export async function startDocs(options: DocsOptions): Promise<Docs> {
  const { host, logger, contentDir, cacheFolder, scanEveryMs, trustedProxyHops: trustedHops = 0 } = options
  const { contentLanguages: languages, siteLogo } = options
  const assets = await loadAssets(siteLogo)
  const content = watchContent(contentDir, { logger, scanEveryMs, cacheFolder, languages })
  const retrieval = new Retrieval(options.retrievalAddress, logger)
  const metrics = new DocsMetrics({
    pages: () => content.pages().length,
    unread: () => (content.isComplete ? 0 : content.progress.total - content.progress.done),
    faults: () => content.errors().length,
    retrieval: () => retrieval.status(),
  })
  const answerer = options.answerer ?? new ExtractiveAnswerer()
  const assistant = new Assistant({
    retrieval,
    answerer,
    outcome: (outcome) => {
      metrics.answered(outcome)
    },
  })
  const limitOf = (name: string, limit: Limit | undefined): RateLimit | undefined =>
    limit === undefined || limit.most === 0 ? undefined : new RateLimit({ name, ...limit, trustedHops })
  const questions: QuestionParts = {
    assistant,
    askLimit: limitOf('ask', options.askLimit),
    chatLimit: limitOf('chat', options.chatLimit),
    agentKey: options.agentApiKey === undefined ? undefined : new Token(options.agentApiKey),
  }
  const { siteUrl, sourceUrl, explorerUrl, explorerPort, siteName: name } = options
  const site = new Site({ siteUrl, sourceUrl, trustedHops, explorerUrl, explorerPort, name })
  const pages = { content, cache: new Versioned(content), site }
  const bodies = new Bodies(logger)
  const endpoints: readonly Endpoint[] = [
    { pattern: '/api/ask', methods: { POST: whenRead(content, (incoming) => ask(questions, incoming)) } },
    { pattern: '/api/chat', methods: { POST: whenRead(content, (incoming) => chat(questions, incoming)) } },
    resumeEndpoint,
    {
      pattern: '/api/search',
      methods: { GET: whenRead(content, (incoming) => search(retrieval, incoming)) },
    },
    ...pageEndpoints(pages),
    {
      pattern: '/mcp',
      // Imported by the first request, because its SDK takes 15 MB.
      methods: {
        POST: async (incoming) => (await import('./ask/mcp.js')).mcp({ content, retrieval, site }, incoming),
      },
    },
    {
      pattern: '/health',
      methods: {
        GET: async () => json(healthOf(content, await retrieval.status(), answerer.name), NO_STORE),
      },
    },
    {
      pattern: '/metrics',
      methods: {
        GET: async () => {
          const collected = await metrics.text()
          return text(collected.type, collected.text, NO_STORE)
        },
      },
    },
    assetEndpoint(assets),
    pictureEndpoint(content, contentDir),
    readerEndpoint({
      ...pages,
      assets,
      bodies,
      contentDir,
      answersAre: options.answerer === undefined ? 'quoted' : 'generated',
    }),
  ]
  if (content.isComplete) warnOfHidden(content, endpoints, logger)
  content.onChange(() => {
    warnOfHidden(content, endpoints, logger)
  })
  const server = new Server({
    endpoints,
    logger,
    observe: (pattern, status, seconds) => {
      metrics.observe(pattern, status, seconds)
    },
  })
  const close = async (): Promise<void> => {
    await server.close()
    content.close()
    bodies.close()
    retrieval.close()
    metrics.close()
  }
  try {
    const port = await server.listen(host, options.port)
    return { port, url: `http://${hostInUrl(host)}:${String(port)}`, close }
  } catch (error) {
    content.close()
    retrieval.close()
    throw error
  }
}

/** Logs pages that are not shown, because an endpoint has their URL; for example the page of `health.md`. */
function warnOfHidden(content: Content, endpoints: readonly Endpoint[], logger: Logger): void {
  const routes = endpoints.filter(({ pattern }) => pattern !== '*')
  for (const { url, file } of content.pages())
    if (routes.some((endpoint) => isAt(endpoint, url)))
      logger.warn({ file }, `${url} is an endpoint: the page is not shown there, rename its file`)
}
