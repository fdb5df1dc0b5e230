import type { Logger } from '../../../pipelines/logger.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import type { Database } from '../../../pipelines/tables/clickhouse.js'
import type { DefinitionPaths } from '../core/definitions/definitions.js'
import type { Hosts } from '../faces/electrum/hosts.js'
import type { TxStoreSettings } from './tx-store-settings.js'
import type { Member } from './processes/member.js'

export interface ExplorerOptions {
  readonly host?: string
  /** The port of HTTP and WebSocket; 0 for a free one. */
  readonly port: number
  /** The port of gRPC; 0 for a free one. Not set: no gRPC. */
  readonly grpcPort?: number
  /** The port of Esplora's HTTP API; 0 for a free one. Not set: no Esplora. */
  readonly esploraPort?: number | undefined
  /** The TCP port of the Electrum protocol; 0 for a free one. Not set: no Electrum. */
  readonly electrumPort?: number | undefined
  /** The port of the Electrum protocol over TLS; 0 for a free one. Not set: no TLS. */
  readonly electrumTlsPort?: number | undefined
  /** The addresses of the Electrum protocol, as clients reach it. */
  readonly electrumHosts?: Hosts
  /** The files of the certificate for TLS and of its key. */
  readonly electrumCertificate?: { readonly cert: string; readonly key: string } | undefined
  readonly db: Database
  readonly log: EventLog
  /** The name of the network that log and database must be of. Not set: any. */
  readonly chain?: string | undefined
  readonly logger: Logger
  /** The maximum time for an answer, in milliseconds. Not set: five seconds. */
  readonly answerDeadlineMs?: number
  /** Requests to /api/v1 per client and minute; 0, the default, for no limit. */
  readonly rateLimitPerMinute?: number
  /** Requests to Esplora's HTTP API per client and minute; 0, the default, for no limit. */
  readonly esploraRateLimitPerMinute?: number
  /** Requests of the Electrum protocol per client and minute; 0, the default, for no limit. */
  readonly electrumRateLimitPerMinute?: number
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
  /** The public URL of the explorer, with which pages and feeds name themselves. Not set: not known. */
  readonly explorerUrl?: string | undefined
  /** The public URL of the documentation, to which pages link. Not set: `docsPort` at the host of each request. */
  readonly docsUrl?: string | undefined
  readonly docsPort?: number
  /** The path below which clients reach the explorer. Not set: the root. */
  readonly basePath?: string | undefined
  /** The transaction store of this machine. Not set: none. */
  readonly txStore?: TxStoreSettings | undefined
  /** False if the tables leave the bodies of transactions to the node. */
  readonly hasBodies?: boolean
  /** Set if this is one of several processes that share the ports. */
  readonly member?: Member | undefined
}

/** The requests for pages that the limit of each client allows for one request to the API: an open page keeps itself up to date. */
export const PAGES_PER_REQUEST = 6
