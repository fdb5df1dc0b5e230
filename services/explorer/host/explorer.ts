import { StartRefused } from '../../../pipelines/errors.js'
import type { Logger } from '../../../pipelines/logger.js'
import { hostInUrl } from '../../process/ports.js'
import type { Refusal } from '../core/following/head-follower.js'
import type { Listener } from '../faces/face.js'
import { dataOf } from './data.js'
import { Server } from './http/server.js'
import { Metrics } from './metrics.js'
import type { ExplorerOptions } from './options.js'
import { publishingOf } from './publishing.js'
import { readingOf } from './reading.js'
import { servingOf } from './serving.js'
import { TxStoreFollower } from './tx-store.js'

export type { ExplorerOptions } from './options.js'

export interface Explorer {
  readonly url: string
  /** Host and port of gRPC; undefined without gRPC. */
  readonly grpcAddress: string | undefined
  /** The URL of Esplora's HTTP API; undefined if it is off. */
  readonly esploraUrl: string | undefined
  /** Host and port of the Electrum protocol; undefined if it is off. */
  readonly electrumAddress: string | undefined
  /** The same over TLS. */
  readonly electrumTlsAddress: string | undefined
  /** Resolves with the error if the database has the schema of another version, or is of another chain. */
  readonly refused: Promise<Refusal>
  /** Stops listening, disconnects the clients and stops the followers. Database and log stay open. */
  close(): Promise<void>
}

/** The maximum time that the start waits for head and mempool. The explorer then listens, and returns 503 until they are loaded. */
const READY_WAIT_MS = 5_000
/** The interval of publishing the channel `stats` after mempool changes, and the health status to listeners; and of checks. */
const TICK_MS = 250

/** Starts an explorer: follows the log, serves its faces. @throws PortTaken, StartRefused if it cannot listen, SchemaMismatch, WrongChainError. */
export async function startExplorer(options: ExplorerOptions): Promise<Explorer> {
  const { host = '127.0.0.1', port, grpcPort, esploraPort, electrumPort, logger, member, txStore } = options
  const server = new Server(options.basePath)
  const metrics = new Metrics()
  const data = dataOf(options)
  const publishing = publishingOf(data, options, { server, metrics })
  const reading = readingOf(data, publishing, options, { server, metrics })
  const serving = servingOf(reading.core, options, { server, metrics })
  const { state, database, near, history, definitions } = data
  const { writer, heads, mempool } = publishing
  const { core, audit, condition, ownHealth } = reading
  let grpc: Listener | undefined
  let esplora: Listener | undefined
  let electrum: Listener | undefined
  let electrumTls: Listener | undefined
  let isListening = false
  metrics.watch({
    ...data,
    audit,
    reader: core.reader,
    wsClients: () => server.clients,
    grpcStreams: () => grpc?.streams ?? 0,
    electrumClients: () => serving.electrum.clients,
    electrumSubscriptions: () => serving.electrum.subscriptions,
    consumerLags: core.lags,
  })

  await Promise.all([database.start(), definitions.start()])
  const stop = new AbortController()
  const following = [heads.run(stop.signal), mempool.run(stop.signal)]
  for (const each of following) each.catch(logEnd(logger))
  if (txStore !== undefined && near !== undefined)
    following.push(new TxStoreFollower(txStore, { state, near, logger }).run(stop.signal))
  audit.start()
  const timer = setInterval(() => {
    if (state.ready) writer.mempoolChanged()
    condition.check()
    const own = ownHealth()
    grpc?.setServing(own.status === 'ok')
    member?.report(own, isListening)
  }, TICK_MS)
  const close = async (): Promise<void> => {
    clearInterval(timer)
    server.close()
    await Promise.all([grpc?.close(), esplora?.close(), electrum?.close(), electrumTls?.close()])
    serving.electrum.close()
    stop.abort()
    writer.close()
    core.scripts.close()
    database.close()
    reading.close()
    data.connection.close()
    definitions.close()
    await Promise.allSettled([...following, history.close()])
    near?.close()
    metrics.close()
  }
  try {
    await member?.join({ feed: core.feed, metrics })
    if (database.connected) {
      const ready = state.until(() => state.ready, READY_WAIT_MS).then(() => undefined)
      const refusal = await Promise.race([heads.refused, ready])
      if (refusal !== undefined) throw refusal
    }
    // The other processes answer meanwhile: requests that reached this process would get 503.
    while (!state.ready && member?.isServedByOthers === true && !member.signal.aborted)
      await state.until(() => state.ready, TICK_MS, member.signal)
    const isShared = member !== undefined
    if (grpcPort !== undefined) {
      grpc = await serving.grpc.listen({ host, port: grpcPort, isShared })
      grpc.setServing(ownHealth().status === 'ok')
    }
    if (esploraPort !== undefined)
      esplora = await serving.esplora.listen({ host, port: esploraPort, isShared })
    if (electrumPort !== undefined)
      electrum = await serving.electrum.tcp.listen({ host, port: electrumPort, isShared })
    const { electrumTlsPort } = options
    if (electrumTlsPort !== undefined) {
      if (options.electrumCertificate === undefined)
        throw new StartRefused(
          'ELECTRUM_TLS_PORT needs ELECTRUM_TLS_CERT and ELECTRUM_TLS_KEY, or ELECTRUM_TLS_SELF_SIGNED=true',
        )
      electrumTls = await serving.electrum.tls.listen({ host, port: electrumTlsPort, isShared })
    }
    const boundPort = await server.listen(host, port, isShared)
    isListening = true
    member?.report(ownHealth(), isListening)
    const listeners = { gRPC: grpc, Esplora: esplora, Electrum: electrum, 'Electrum (TLS)': electrumTls }
    for (const [name, listener] of Object.entries(listeners))
      if (listener !== undefined) core.ports.set(name, listener.port)
    const at = (number: number): string => `${hostInUrl(host)}:${String(number)}`
    const grpcAddress = grpc === undefined ? undefined : at(grpc.port)
    const esploraUrl = esplora === undefined ? undefined : `http://${at(esplora.port)}`
    const electrumAddress = electrum === undefined ? undefined : at(electrum.port)
    return {
      url: `http://${at(boundPort)}`,
      grpcAddress,
      esploraUrl,
      electrumAddress,
      electrumTlsAddress: electrumTls === undefined ? undefined : at(electrumTls.port),
      refused: heads.refused,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Logs the error of a follower, which must run until it is stopped, and throws it again. */
function logEnd(logger: Logger): (error: unknown) => void {
  return (error) => {
    logger.error({ err: error }, 'stopped following the log')
    throw error
  }
}
