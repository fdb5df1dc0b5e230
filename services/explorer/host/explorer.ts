import { StartRefused } from '../../../pipelines/errors.js'
import type { Logger } from '../../../pipelines/logger.js'
import type { EventLog, Topic } from '../../../pipelines/log/port.js'
import type { Database } from '../../../pipelines/tables/clickhouse.js'
import type { MigrationMismatch } from '../../../pipelines/tables/migrate.js'
import { Code } from '../../rpc/error.js'
import { type RpcServer, startRpcServer } from '../../rpc/server.js'
import { AuditWatch } from '../core/health/audit-watch.js'
import { AvailableDatabase } from '../core/tables/availability.js'
import { type DefinitionPaths, Definitions } from '../core/definitions/definitions.js'
import { Broadcaster } from '../core/node/broadcaster.js'
import { AddressFeed, addressText } from '../core/feed/address-feed.js'
import { GraphqlEndpoint } from '../faces/graphql/endpoint.js'
import { assets } from '../faces/graphql/graphiql.js'
import { Operations } from '../faces/graphql/operation.js'
import { schemaOf } from '../faces/graphql/schema.js'
import { subscriptionProtocol } from '../faces/graphql/sockets.js'
import type { Endpoint } from '../http/answer.js'
import { Dispatcher } from './http/dispatch.js'
import { failure, Feed, reactTo } from '../core/feed/feed.js'
import { FeedWriter } from '../core/feed/feed-writer.js'
import { HeadFollower } from '../core/following/head-follower.js'
import { type Health, healthOf } from '../core/health/health.js'
import { Metrics } from './metrics.js'
import { loadAssets } from '../faces/pages/assets.js'
import { Site } from '../faces/pages/site.js'
import type { OpenApi } from '../faces/pages/views/api.js'
import { NodeWatch } from '../core/node/node-health.js'
import type { Member } from './processes/member.js'
import type { LimitName } from './processes/messages.js'
import { MempoolFollower } from '../core/following/mempool-follower.js'
import { EXPLORER_GRPC, hostInUrl } from '../../ports.js'
import { type Limiter, RateLimit } from '../../limits/rate-limit.js'
import { READS } from '../core/reads/index.js'
import { WHALE_VALUE } from '../core/reads/mempool/whales.js'
import { Server } from './http/server.js'
import { State } from '../core/state/state.js'
import { readsService } from '../faces/grpc/reads-service.js'
import { ServingTables } from '../core/tables/serving-tables.js'
import { Tables } from '../core/tables/tables.js'
import { followUpgrade } from '../core/following/upgrade-follower.js'
import { Token } from '../../token.js'
import { WhaleWatch } from '../core/feed/whale-watch.js'

export interface ExplorerOptions {
  readonly host?: string
  /** The port of HTTP and WebSocket; 0 for a free one. */
  readonly port: number
  /** The port of gRPC; 0 for a free one. Not set: no gRPC. */
  readonly grpcPort?: number
  readonly db: Database
  readonly log: EventLog
  readonly logger: Logger
  /** Requests to /api/v1 per client and minute; 0, the default, for no limit. */
  readonly rateLimitPerMinute?: number
  /** The number of trusted proxies, which each append to X-Forwarded-For. */
  readonly trustedProxyHops?: number
  /** True if `tx/send` sends transactions to the node. */
  readonly broadcast?: boolean
  /** Transactions to send per client and minute; 0, the default, for no limit. */
  readonly broadcastRateLimitPerMinute?: number
  /** Returns the URL of the node's RPC, undefined if there is none now. Not set: none. */
  readonly locateNode?: () => Promise<string | undefined>
  /** Milliseconds between two rounds of the continuous audit; 0 for no audit. */
  readonly auditEveryMs?: number
  /** The node's data directory, if it is on this machine. */
  readonly nodeDataDir?: string | undefined
  /** The token that node health requires. Not set: no authentication. */
  readonly healthToken?: string | undefined
  /** Files of labels and mining pools, edited by the operator. */
  readonly definitions?: DefinitionPaths
  /** Base units: the channel `whale-alerts` publishes transactions that move more. */
  readonly whaleMinValue?: bigint
  /** The public URL of the documentation, to which pages link. Not set: `docsPort` at the host of each request. */
  readonly docsUrl?: string | undefined
  readonly docsPort?: number
  /** The path below which clients reach the explorer. Not set: the root. */
  readonly basePath?: string | undefined
  /** Set if this is one of several processes that share the ports. */
  readonly member?: Member | undefined
}

export interface Explorer {
  readonly url: string
  /** Host and port of gRPC; undefined without gRPC. */
  readonly grpcAddress: string | undefined
  /** Resolves when the database has the schema of this version, or with the error if its schema does not match. */
  readonly upgraded: Promise<MigrationMismatch | undefined>
  /** Stops listening, disconnects the clients and stops the followers. Database and log stay open. */
  close(): Promise<void>
}

/** The maximum time that the start waits for head and mempool. The explorer then listens, and returns 503 until they are loaded. */
const READY_WAIT_MS = 5_000
/** The interval of publishing the channel `stats` after mempool changes, and the health status in gRPC. */
const TICK_MS = 250
const AUDIT_EVERY_MS = 30_000

/** Starts an explorer: follows the log, serves HTTP, WebSocket and gRPC. @throws PortTaken, StartRefused if it cannot listen. */
export async function startExplorer(options: ExplorerOptions): Promise<Explorer> {
  const { host = '127.0.0.1', port, db, log, logger, member, basePath } = options
  const stop = new AbortController()
  const database = new AvailableDatabase(db, logger)
  const tables = new ServingTables(new Tables(database))
  const state = new State()
  const feed = new Feed((channel, message) => server.publish(channel, message), member?.offer)
  const addresses = new AddressFeed({
    ...{ state, tables, logger },
    onDefect: () => metrics.defect('follower'),
    refreshHeads: () => heads.refresh(),
  })
  const definitions = new Definitions(options.definitions ?? {}, logger)
  const threshold = options.whaleMinValue ?? WHALE_VALUE
  const whales = new WhaleWatch({ feed, state, tables, definitions, threshold })
  const writer = new FeedWriter(feed, state, tables, whales)
  const onDefect = (): void => metrics.defect('follower')
  const onIndexerDefect = (): void => {
    // All processes receive the same report.
    if (member?.isFirst !== false) metrics.defect('materializer')
  }
  const mempool = new MempoolFollower({ state, feed, log, tables, whales, logger, onDefect })
  const tablesOf = (other: Database): Tables => new Tables(database.on(other))
  const heads = new HeadFollower({
    ...{ state, writer, mempool, log, db, tables, tablesOf, logger },
    ...{ onDefect, onIndexerDefect },
  })
  const { locateNode: locate = () => Promise.resolve(undefined), nodeDataDir: dataDir, healthToken } = options
  const { auditEveryMs: everyMs = AUDIT_EVERY_MS * (member?.size ?? 1) } = options
  const audit = new AuditWatch({
    ...{ state, database, locate, logger, everyMs },
    // A getter, because the database may be replaced: it must be read in the same turn as the state.
    get db() {
      return heads.db
    },
  })
  let rpc: RpcServer | undefined
  const metrics: Metrics = new Metrics({
    ...{ state, database, tables, definitions, audit },
    wsClients: () => server.clients,
    grpcStreams: () => rpc?.streams ?? 0,
    answersUnderWay: () => dispatcher.reader.answersUnderWay,
    answerCache: () => dispatcher.reader.cache,
    consumerLags: () => lags(),
  })
  const ownHealth = (): Health => healthOf({ state, database, audit: audit.result }, server.clients)
  const health = (): Health => member?.healthOf(ownHealth()) ?? ownHealth()
  const { trustedProxyHops: trustedHops = 0 } = options
  const limitOf = (name: LimitName, most: number): Limiter | undefined =>
    most === 0
      ? undefined
      : (member?.limit(name, most, trustedHops) ?? new RateLimit({ name, most, trustedHops }))
  const limit = limitOf('requests', options.rateLimitPerMinute ?? 0)
  const node = new NodeWatch({ locate, dataDir, logger })
  const broadcaster = new Broadcaster({ locate, logger })
  const broadcastLimit = limitOf('broadcasts', options.broadcastRateLimitPerMinute ?? 0)
  const broadcast = options.broadcast === true ? { broadcaster, limit: broadcastLimit } : undefined
  const token = healthToken === undefined ? undefined : new Token(healthToken)
  const operations = new Operations(schemaOf(READS))
  const endpoints: Record<string, Endpoint> = assets()
  const lags = () => consumerLags(log, { committed: heads.next - 1, node: mempool.next - 1 })
  const pages = new Site({
    assets: loadAssets(basePath),
    status: { health, lags },
    openApi: () => JSON.parse(dispatcher.openApi) as OpenApi,
    reader: () => dispatcher.reader,
    docsUrl: options.docsUrl,
    docsPort: options.docsPort,
  })
  const dispatcher: Dispatcher = new Dispatcher({
    broadcast,
    ...{ reads: READS, endpoints, state, tables, node, definitions, health, metrics, logger, limit, token },
    ...{ pages, basePath },
    metricsText: member?.metricsText,
    refreshHeads: () => heads.refresh(),
  })
  assertFree(basePath, dispatcher)
  endpoints['/graphql'] = new GraphqlEndpoint(operations, dispatcher.reader, basePath)
  const server: Server = new Server({
    answer: (request) => dispatcher.answer(request),
    ready: (url, head) => dispatcher.ready(url, head),
    refusal: (request) => dispatcher.socketRefusal(request),
    observe: (path, answer, seconds) =>
      metrics.observe(answer.route ?? dispatcher.patternOf(path), answer, seconds),
    subscribeAddress: (address, since, send) =>
      addresses.subscribe(address, since, (message) => send(addressText(message))),
    react: (text) => (text === undefined ? failure('messages must be text') : reactTo(feed, text)),
    basePath,
    protocol: subscriptionProtocol({
      operations,
      feed,
      addresses,
      logger,
      onDefect: () => metrics.defect('http'),
    }),
  })

  const rpcService = readsService(dispatcher.reader, { feed, addresses }, READS)

  await Promise.all([database.start(), definitions.start()])
  const upgraded = followUpgrade(db, state, { logger, signal: stop.signal })
  const following = [heads.run(stop.signal), mempool.run(stop.signal)]
  for (const each of following) each.catch(ended(logger))
  audit.start()
  let isListening = false
  const timer = setInterval(() => {
    if (state.ready) writer.mempoolChanged()
    const own = ownHealth()
    rpc?.setServing(rpcService.descriptor.typeName, own.status === 'ok')
    member?.report(own, isListening)
  }, TICK_MS)
  const isShared = member !== undefined
  const close = async (): Promise<void> => {
    clearInterval(timer)
    server.close()
    await rpc?.close()
    stop.abort()
    writer.close()
    addresses.close()
    database.close()
    node.close()
    broadcaster.close()
    audit.close()
    definitions.close()
    await Promise.allSettled([...following, upgraded])
    metrics.close()
  }
  try {
    await member?.join({ feed, metrics })
    if (database.connected) await state.until(() => state.ready || state.upgrade !== undefined, READY_WAIT_MS)
    // The other processes answer meanwhile: requests that reached this one would get 503.
    while (!state.ready && member?.isServedByOthers === true && !member.signal.aborted)
      await state.until(() => state.ready, TICK_MS, member.signal)
    if (options.grpcPort !== undefined) {
      const what = EXPLORER_GRPC
      const observe = (method: string, code: Code, seconds: number): void => {
        metrics.observeCall(method, Code[code], seconds)
        if (code === Code.INTERNAL) metrics.defect('grpc')
      }
      const services = [rpcService]
      const { grpcPort } = options
      rpc = await startRpcServer({ host, port: grpcPort, services, logger, what, observe, isShared })
      rpc.setServing(rpcService.descriptor.typeName, ownHealth().status === 'ok')
    }
    const taken = await server.listen(host, port, isShared)
    isListening = true
    member?.report(ownHealth(), isListening)
    const at = (taken: number): string => `${hostInUrl(host)}:${String(taken)}`
    const grpcAddress = rpc === undefined ? undefined : at(rpc.port)
    return { url: `http://${at(taken)}`, grpcAddress, upgraded, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Checks that the path below which clients reach the explorer is none of its own: below `/block`, a proxy that removes the path could
 * not be distinguished from one that does not. @throws StartRefused.
 */
function assertFree(basePath = '', dispatcher: Dispatcher): void {
  const [, first = ''] = basePath.split('/')
  const paths = [`/${first}`, `/${first}/x`].filter((path) => dispatcher.patternOf(path) !== 'unknown')
  if (first !== '' && (paths.length > 0 || `/${first}` === '/api'))
    throw new StartRefused(`BASE_PATH ${basePath} is a path of the explorer itself: choose another one`)
}

/** Logs the error of a follower, which must run until it is stopped, and throws it again. */
function ended(logger: Logger): (error: unknown) => void {
  return (error) => {
    logger.error({ err: error }, 'stopped following the log')
    throw error
  }
}

/** Returns the lag of the materializer, from its commits, and of this explorer, from the positions that it has read. */
async function consumerLags(
  log: EventLog,
  own: Readonly<Record<'committed' | 'node', number>>,
): Promise<{ topic: string; consumer: string; lag: number }[]> {
  const lag = async (topic: Topic, consumer: string, position: Promise<number> | number) => {
    const [last, done] = await Promise.all([log.last(topic), position])
    return { topic, consumer, lag: Math.max(0, last - done) }
  }
  const lags = await Promise.allSettled([
    lag('chain', 'materializer', log.committed('chain', 'materializer')),
    lag('committed', 'explorer', own.committed),
    lag('node', 'explorer', own.node),
  ])
  return lags.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}
