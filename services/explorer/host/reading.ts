import { type Limiter, RateLimit } from '../../access/rate-limit.js'
import { Token } from '../../access/token.js'
import { Reader } from '../core/answering/reader.js'
import { transactionSender } from '../core/commands/send-transaction.js'
import type { Core } from '../core/core.js'
import { AddressFeed } from '../core/feed/address-feed.js'
import { consumerLags } from '../core/following/lags.js'
import { AuditWatch } from '../core/health/audit-watch.js'
import { ConditionWatch } from '../core/health/condition.js'
import { type Health, healthOf } from '../core/health/health.js'
import { Broadcaster } from '../core/node/broadcaster.js'
import { NodeCommands } from '../core/node/node-commands.js'
import { NodeConnection } from '../core/node/node-connection.js'
import { NodeWatch } from '../core/node/node-health.js'
import { READS } from '../core/reads/index.js'
import type { NodeStatus } from '../core/reads/read.js'
import type { Data } from './data.js'
import type { Server } from './http/server.js'
import type { Metrics } from './metrics.js'
import type { ExplorerOptions } from './options.js'
import type { LimitName } from './processes/messages.js'
import type { Publishing } from './publishing.js'

const AUDIT_EVERY_MS = 30_000

/** The core with the watches that belong to it. */
export interface Reading {
  readonly core: Core
  readonly audit: AuditWatch
  readonly condition: ConditionWatch
  /** The health of this process alone. */
  readonly ownHealth: () => Health
  close(): void
}

/** Builds the core that the faces share. */
export function readingOf(
  data: Data,
  { feed, scripts, heads, mempool }: Publishing,
  options: ExplorerOptions,
  { server, metrics }: { readonly server: Server; readonly metrics: Metrics },
): Reading {
  const { state, database, tables } = data
  const { log, logger, member, healthToken, nodeDataDir: dataDir } = options
  const { locateNode: locate = () => Promise.resolve(undefined) } = options
  const { auditEveryMs: everyMs = AUDIT_EVERY_MS * (member?.size ?? 1) } = options
  const audit = new AuditWatch({
    state,
    database,
    locate,
    logger,
    everyMs,
    // A getter, because the database may be replaced: it must be read in the same turn as the state.
    get db() {
      return heads.db
    },
  })
  const watch = new NodeWatch({ locate, dataDir, logger })
  const connection = new NodeConnection({ locate, logger })
  const commands = new NodeCommands(connection)
  const node: NodeStatus = {
    health: () => watch.health(),
    feeEstimates: (targets, mode) => commands.feeEstimates(targets, mode),
    transaction: (txid, blockHash) => commands.transaction(txid, blockHash),
  }
  const condition = new ConditionWatch({ state, database, audit, callNode: () => watch.health() })
  const reader = new Reader({
    ...data,
    node,
    deadlineMs: options.answerDeadlineMs,
    token: healthToken === undefined ? undefined : new Token(healthToken),
    limit: limitOf('requests', options.rateLimitPerMinute, options),
    refreshHeads: () => {
      heads.refresh()
    },
  })
  const ownHealth = (): Health =>
    healthOf({ state, database, audit: audit.result, condition: condition.condition() }, server.clients)
  const core: Core = {
    reads: READS,
    reader,
    feed,
    scripts,
    addresses: new AddressFeed(state, scripts),
    commands:
      options.broadcast === true
        ? {
            sendTransaction: transactionSender(new Broadcaster(connection), { state, tables }),
            node: commands,
            limit: limitOf('broadcasts', options.broadcastRateLimitPerMinute, options),
          }
        : undefined,
    health: () => member?.healthOf(ownHealth()) ?? ownHealth(),
    condition: () => condition.condition(),
    lags: () => consumerLags(log, { committed: heads.next - 1, node: mempool.next - 1 }),
    nodeGaps: () => state.node?.gaps ?? [],
    ports: new Map(),
    logger,
    defect: (error, what) => {
      metrics.defect('http')
      logger.error({ err: error, what }, 'read failed')
    },
  }
  const close = (): void => {
    watch.close()
    connection.close()
    audit.close()
  }
  return { core, audit, condition, ownHealth, close }
}

/** Returns a rate limit, which the processes of an explorer share. @param most requests per client and minute; 0 for no limit. */
export function limitOf(
  name: LimitName,
  most: number | undefined,
  { member, trustedProxyHops: trustedHops = 0 }: ExplorerOptions,
): Limiter | undefined {
  if (most === undefined || most === 0) return undefined
  return member?.limit(name, most, trustedHops) ?? new RateLimit({ name, most, trustedHops })
}
