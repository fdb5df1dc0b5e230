import { connect } from 'node:net'
import { pino } from 'pino'
import { AvailableDatabase } from '../../../services/explorer/core/tables/availability.js'
import type { Reader } from '../../../services/explorer/core/answering/reader.js'
import type { Endpoint } from '../../../services/explorer/http/answer.js'
import { Dispatcher, type DispatcherParts } from '../../../services/explorer/host/http/dispatch.js'
import { AddressFeed } from '../../../services/explorer/core/feed/address-feed.js'
import { Feed } from '../../../services/explorer/core/feed/feed.js'
import { GraphqlEndpoint } from '../../../services/explorer/faces/graphql/endpoint.js'
import { assets } from '../../../services/explorer/faces/graphql/graphiql.js'
import { Operations } from '../../../services/explorer/faces/graphql/operation.js'
import { schemaOf } from '../../../services/explorer/faces/graphql/schema.js'
import { subscriptionProtocol } from '../../../services/explorer/faces/graphql/sockets.js'
import { Definitions } from '../../../services/explorer/core/definitions/definitions.js'
import type { Health } from '../../../services/explorer/core/health/health.js'
import { Metrics } from '../../../services/explorer/host/metrics.js'
import { NodeUnavailable } from '../../../services/explorer/core/node/node-health.js'
import { Server } from '../../../services/explorer/host/http/server.js'
import { NO_CHAIN, State } from '../../../services/explorer/core/state/state.js'
import { Tables } from '../../../services/explorer/core/tables/tables.js'

export interface BareServer {
  readonly url: string
  readonly port: number
  readonly server: Server
  /** Answers the reads. */
  readonly reader: Reader
  /** The events of subscriptions. */
  readonly feed: Feed
  readonly addresses: AddressFeed
  close(): void
}

const none = () => Promise.reject(new Error('none'))
const NO_DATABASE = { query: none, bytes: none, ping: () => Promise.resolve(false) }

/** A server with a dispatcher and neither database nor log, for an empty chain. */
export async function startBare(parts: Partial<DispatcherParts> = {}): Promise<BareServer> {
  const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  const state = parts.state ?? new State()
  if (parts.state === undefined) {
    state.adopt(NO_CHAIN)
    state.mempoolLoaded()
  }
  const database = new AvailableDatabase(NO_DATABASE, logger)
  const tables = parts.tables ?? new Tables(database)
  const definitions = parts.definitions ?? new Definitions({}, logger)
  const metrics: Metrics = new Metrics({
    ...{ state, database, tables, definitions },
    audit: { result: { checkedAt: null, checks: 0, differences: 0 } },
    wsClients: () => 0,
    grpcStreams: () => 0,
    answersUnderWay: () => dispatcher.reader.answersUnderWay,
    answerCache: () => dispatcher.reader.cache,
    consumerLags: () => Promise.resolve([]),
  })
  const operations = new Operations(schemaOf(parts.reads ?? []))
  const endpoints: Record<string, Endpoint> = assets()
  const feed = new Feed(() => undefined)
  const addresses = new AddressFeed({ state, tables, logger })
  const dispatcher: Dispatcher = new Dispatcher({
    endpoints,
    ...{ reads: [], state, tables, definitions },
    node: { health: () => Promise.reject(new NodeUnavailable('there is none')) },
    health: () => ({ status: 'ok' }) as Health,
    metrics,
    logger,
    ...parts,
  })
  endpoints['/graphql'] = new GraphqlEndpoint(operations, dispatcher.reader)
  const server = new Server({
    answer: (request) => dispatcher.answer(request),
    ready: (url, head) => dispatcher.ready(url, head),
    refusal: (request) => dispatcher.socketRefusal(request),
    observe: (path, answer, seconds) => {
      metrics.observe(answer.route ?? dispatcher.patternOf(path), answer, seconds)
    },
    react: () => ({ replies: [] }),
    protocol: subscriptionProtocol({
      ...{ operations, feed, addresses, logger },
      onDefect: () => {
        metrics.defect('http')
      },
    }),
  })
  const port = await server.listen('127.0.0.1', 0)
  const close = (): void => {
    server.close()
    addresses.close()
    metrics.close()
  }
  const { reader } = dispatcher
  return { url: `http://127.0.0.1:${String(port)}`, port, server, reader, feed, addresses, close }
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
  ...['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
  ...['Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', '', ''],
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
