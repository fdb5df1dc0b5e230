import cluster from 'node:cluster'
import { join } from 'node:path'
import { Database } from '../../../pipelines/tables/clickhouse.js'
import { engineUrl, presentNodeUrl } from '../../process/discovery.js'
import { openEventLog } from '../../process/event-log.js'
import { type ServiceContext, untilAborted } from '../../process/lifecycle.js'
import type { CertificateFiles } from '../faces/electrum/transports/certificate.js'
import { hostsOf } from '../faces/electrum/hosts.js'
import { selfSignedCertificate } from '../faces/electrum/transports/self-signed.js'
import { startExplorer } from './explorer.js'
import { Member } from './processes/member.js'
import type { FromPrimary, ToPrimary } from './processes/messages.js'
import { Outbox } from './processes/outbox.js'
import { txStorePath } from './tx-store.js'
import type { TxStoreSettings } from './tx-store-settings.js'

/** Runs an explorer, or one of its processes, until the signal aborts. */
export async function serve(context: ServiceContext): Promise<void> {
  const { config, logger, signal } = context
  const url = await engineUrl(config, { signal, logger })
  const onMove = (server: string): void => {
    logger.warn({ server }, 'moved to another database server')
  }
  const silentMs = 1_000
  const db = new Database({ url, database: config.clickhouseDatabase, silentMs, onMove })
  const { explorerPort: port, explorerGrpcPort: grpcPort, esploraPort, electrumPort, host } = config
  const member = cluster.isWorker ? memberOf(context) : undefined
  const log = await openEventLog(config, logger)
  const {
    answerDeadlineMs,
    rateLimitPerMinute,
    esploraRateLimitPerMinute,
    electrumRateLimitPerMinute,
    broadcastRateLimitPerMinute,
    trustedProxyHops,
    whaleMinValue,
  } = config
  const definitions = { labels: config.labelsFile, pools: config.poolsFile }
  const electrumHosts = hostsOf(config.electrumHosts)
  const explorer = await startExplorer({
    host,
    port,
    grpcPort,
    esploraPort,
    electrumPort,
    electrumTlsPort: config.electrumTlsPort,
    electrumHosts,
    electrumCertificate: await certificateOf(config, Object.keys(electrumHosts)),
    db,
    log,
    chain: config.chain,
    logger,
    answerDeadlineMs,
    rateLimitPerMinute,
    esploraRateLimitPerMinute,
    electrumRateLimitPerMinute,
    trustedProxyHops,
    definitions,
    member,
    broadcast: config.broadcast === 'true',
    broadcastRateLimitPerMinute,
    whaleMinValue: BigInt(whaleMinValue),
    locateNode: () => presentNodeUrl(config),
    nodeDataDir: config.nodeDataDir,
    healthToken: config.healthApiToken,
    explorerUrl: config.explorerUrl,
    docsUrl: config.siteUrl,
    docsPort: config.docsPort,
    basePath: config.basePath,
    txStore: txStoreOf(config),
    hasBodies: config.txBodies === 'tables',
  })
  const { url: explorerUrl, grpcAddress: grpc, esploraUrl: esplora } = explorer
  const { electrumAddress: electrum, electrumTlsAddress: electrumTls } = explorer
  logger.info({ url: explorerUrl, grpc, esplora, electrum, electrumTls }, 'explorer listening')
  const refused = await Promise.race([explorer.refused, untilAborted(signal).then(() => undefined)])
  if (refused === undefined) await untilAborted(signal)
  await explorer.close()
  await Promise.all([db.close(), log.close()])
  if (refused !== undefined) throw refused
}

/** Returns the settings of the transaction store; undefined if it is off. */
function txStoreOf(config: ServiceContext['config']): TxStoreSettings | undefined {
  const { txStoreBytes: maxBytes, dataDir, logUrl, logLevel } = config
  const { kafkaSsl, kafkaSaslMechanism, kafkaUsername, kafkaPassword } = config
  if (maxBytes === 0) return undefined
  const kafka = { kafkaSsl, kafkaSaslMechanism, kafkaUsername, kafkaPassword }
  return { path: txStorePath(dataDir), maxBytes, settings: { dataDir, logUrl, logLevel, ...kafka } }
}

/** Returns the certificate of the Electrum protocol over TLS; undefined if there is none. */
function certificateOf(
  config: ServiceContext['config'],
  hosts: readonly string[],
): Promise<CertificateFiles> | CertificateFiles | undefined {
  const { electrumTlsPort, electrumTlsCert: cert, electrumTlsKey: key, dataDir } = config
  if (electrumTlsPort === undefined) return undefined
  if (cert !== undefined || key !== undefined)
    return cert === undefined || key === undefined ? undefined : { cert, key }
  if (config.electrumTlsSelfSigned !== 'true') return undefined
  return selfSignedCertificate(join(dataDir, 'electrum-tls.pem'), hosts)
}

/** Connects this process with the primary. */
function memberOf({ config, logger, signal }: ServiceContext): Member {
  const outbox = new Outbox<ToPrimary>((messages) => {
    // The callback receives the error of a primary that has just exited; this process then exits too.
    if (process.connected) process.send?.(messages, undefined, undefined, () => undefined)
  })
  const send = (message: ToPrimary): void => {
    outbox.add(message)
  }
  const member = new Member({ size: config.explorerProcesses, send, logger, signal })
  process.on('message', (messages: readonly FromPrimary[]) => {
    for (const message of messages) member.receive(message)
  })
  return member
}
