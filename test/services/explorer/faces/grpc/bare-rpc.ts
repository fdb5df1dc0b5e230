import { NodeUnavailable } from '../../../../../pipelines/node/errors.js'
import { pino } from 'pino'
import { ReadsService } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { Definitions } from '../../../../../services/explorer/core/definitions/definitions.js'
import { AddressFeed } from '../../../../../services/explorer/core/feed/address-feed.js'
import { ScriptFeed } from '../../../../../services/explorer/core/feed/script-feed.js'
import { Feed } from '../../../../../services/explorer/core/feed/feed.js'
import { Reader, type ReaderParts } from '../../../../../services/explorer/core/answering/reader.js'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import type { Read } from '../../../../../services/explorer/core/reads/read.js'
import { readsService } from '../../../../../services/explorer/faces/grpc/reads-service.js'
import { NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { type RpcClient, rpcClient } from '../../../../../services/rpc/client.js'
import { startRpcServer } from '../../../../../services/rpc/server.js'
import { NO_HISTORY } from '../../../../harness/no-history.js'

export interface BareRpc {
  readonly address: string
  readonly client: RpcClient<typeof ReadsService>
  readonly feed: Feed
  readonly state: State
  close(): Promise<void>
}

const none = () => Promise.reject(new Error('none'))
const NO_DATABASE = { query: none, bytes: none, ping: () => Promise.resolve(false) }

/**
 * The reads over gRPC with neither database nor log, for an empty chain.
 * @param resolvers by the name of a read: replace its declared resolver.
 */
export async function startBareRpc(
  parts: Partial<ReaderParts> = {},
  resolvers: Readonly<Record<string, Read['resolve']>> = {},
): Promise<BareRpc> {
  const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  const state = new State()
  state.adopt(NO_CHAIN)
  state.mempoolLoaded()
  const tables = new Tables(new AvailableDatabase(NO_DATABASE, logger))
  const reader = new Reader({
    state,
    tables,
    history: NO_HISTORY,
    definitions: new Definitions({}, logger),
    node: {
      health: () => Promise.reject(new NodeUnavailable('there is none')),
      feeEstimates: () => Promise.resolve([]),
      transaction: () => Promise.reject(new Error('none')),
    },
    ...parts,
  })
  const feed = new Feed(() => undefined)
  const reads = READS.map((read) => ({ ...read, resolve: resolvers[read.name] ?? read.resolve }))
  const addresses = new AddressFeed(state, new ScriptFeed({ state, tables, logger }))
  const services = [readsService(reader, { feed, addresses }, reads)]
  const server = await startRpcServer({ host: '127.0.0.1', port: 0, services, logger })
  const address = `127.0.0.1:${String(server.port)}`
  const client = rpcClient(ReadsService, address)
  const close = async (): Promise<void> => {
    client.close()
    await server.close()
  }
  return { address, client, feed, state, close }
}

/** Returns the error with which a call fails. */
export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  const answer = await call.catch((error: unknown) => ({ error }))
  if (typeof answer === 'object' && answer !== null && 'error' in answer) return answer.error
  throw new Error('it did not fail')
}
