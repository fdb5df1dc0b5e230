import { NodeUnavailable } from '../../../pipelines/node/errors.js'
import { connect } from 'node:net'
import { type Logger, pino } from 'pino'
import { Reader, type ReaderParts } from '../../../services/explorer/core/answering/reader.js'
import type { Core } from '../../../services/explorer/core/core.js'
import { Definitions } from '../../../services/explorer/core/definitions/definitions.js'
import { AddressFeed } from '../../../services/explorer/core/feed/address-feed.js'
import { Feed } from '../../../services/explorer/core/feed/feed.js'
import { ScriptFeed } from '../../../services/explorer/core/feed/script-feed.js'
import type { Condition } from '../../../services/explorer/core/health/condition.js'
import type { Health } from '../../../services/explorer/core/health/health.js'
import type { Read } from '../../../services/explorer/core/reads/read.js'
import { NO_CHAIN, State } from '../../../services/explorer/core/state/state.js'
import { AvailableDatabase } from '../../../services/explorer/core/tables/availability.js'
import { Tables } from '../../../services/explorer/core/tables/tables.js'
import type { HttpFace } from '../../../services/explorer/faces/face.js'
import { graphqlFace } from '../../../services/explorer/faces/graphql/face.js'
import { Documents } from '../../../services/explorer/faces/rest/description/documents.js'
import { restFace } from '../../../services/explorer/faces/rest/face.js'
import { websocketFace } from '../../../services/explorer/faces/websocket/face.js'
import { attachFaces } from '../../../services/explorer/host/http/dispatch.js'
import { Server } from '../../../services/explorer/host/http/server.js'
import { Metrics } from '../../../services/explorer/host/metrics.js'
import { statusRoutes } from '../../../services/explorer/host/status.js'
import { ReadAnswers } from '../../../services/explorer/http/read-answers.js'
import { NO_HISTORY } from '../../harness/no-history.js'

/** The condition of an explorer without a block and without a trouble. */
export const CALM: Condition = {
  trouble: undefined,
  tip: undefined,
  nodeHeight: -1,
  nodeHeaders: -1,
  comparedAt: undefined,
  audit: { checkedAt: null, checks: 0, differences: 0 },
}

export interface BareServer {
  readonly url: string
  readonly port: number
  readonly server: Server
  /** Answers the reads. */
  readonly reader: Reader
  /** The events of subscriptions. */
  readonly feed: Feed
  readonly scripts: ScriptFeed
  close(): void
}

export interface BareParts extends ReaderParts {
  readonly reads: readonly Read[]
  readonly logger: Logger
  /** A further face, which answers for unknown paths. */
  readonly pages: (core: Core) => HttpFace
}

const none = () => Promise.reject(new Error('none'))
const NO_DATABASE = { query: none, bytes: none, ping: () => Promise.resolve(false) }

/** A server with the faces of HTTP and neither database nor log, for an empty chain. */
export async function startBare(parts: Partial<BareParts> = {}): Promise<BareServer> {
  const { reads = [], logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' }), pages } = parts
  const state = parts.state ?? new State()
  if (parts.state === undefined) {
    state.adopt(NO_CHAIN)
    state.mempoolLoaded()
  }
  const database = new AvailableDatabase(NO_DATABASE, logger)
  const tables = parts.tables ?? new Tables(database)
  const definitions = parts.definitions ?? new Definitions({}, logger)
  const node = {
    health: () => Promise.reject(new NodeUnavailable('there is none')),
    feeEstimates: () => Promise.resolve([]),
    transaction: () => Promise.reject(new Error('none')),
  }
  const reader = new Reader({ node, history: NO_HISTORY, ...parts, state, tables, definitions })
  const metrics = new Metrics()
  metrics.watch({
    state,
    database,
    tables,
    definitions,
    reader,
    audit: { result: CALM.audit },
    wsClients: () => 0,
    grpcStreams: () => 0,
    electrumClients: () => 0,
    electrumSubscriptions: () => 0,
    consumerLags: () => Promise.resolve([]),
  })
  const feed = new Feed(() => undefined)
  const scripts = new ScriptFeed({ state, tables, logger })
  const core: Core = {
    reads,
    reader,
    feed,
    scripts,
    addresses: new AddressFeed(state, scripts),
    commands: undefined,
    health: () => ({ status: 'ok' }) as Health,
    condition: () => CALM,
    lags: () => Promise.resolve([]),
    nodeGaps: () => [],
    ports: new Map(),
    logger,
    defect: (error, what) => {
      metrics.defect('http')
      logger.error({ err: error, what }, 'read failed')
    },
  }
  const answers = new ReadAnswers(reader)
  const documents = new Documents(reads, () => reader.chain, {
    hasToken: parts.token !== undefined,
    hasBroadcast: false,
  })
  const faces = [
    restFace({ core, answers, documents }),
    ...(pages === undefined ? [] : [pages(core)]),
    graphqlFace(core),
    websocketFace(core),
    statusRoutes(core, () => metrics.text()),
  ]
  const server = new Server()
  attachFaces(server, { faces, reader, answers, metrics, defect: core.defect })
  const port = await server.listen('127.0.0.1', 0)
  const close = (): void => {
    server.close()
    scripts.close()
    metrics.close()
  }
  return { url: `http://127.0.0.1:${String(port)}`, port, server, reader, feed, scripts, close }
}

export interface RawAnswer {
  /** All bytes received. */
  readonly text: string
  /** True if the server closed the connection. */
  readonly closed: boolean
}

/** The headers of a WebSocket upgrade. */
export const SOCKET_REQUEST = [
  'GET /ws HTTP/1.1',
  'Host: x',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  '',
  '',
].join('\r\n')

/**
 * Sends bytes as they are, and waits until the server closes or this number of answers has begun.
 * @param drip sent again every `everyMs` while the connection is open.
 */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  { answers, drip, everyMs = 1_000 }: { answers?: number; drip?: string; everyMs?: number } = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1')
    const end = (closed: boolean): void => {
      clearInterval(dripping)
      socket.destroy()
      resolve({ text: text(), closed })
    }
    const text = (): string => Buffer.concat(chunks).toString('latin1')
    const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), everyMs)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      if (answers !== undefined && (text().match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0) >= answers) end(false)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      end(true)
    })
    socket.write(bytes)
  })
}
