import type { ErrorCode } from '../../../pipelines/errors.js'
import type { AvailableDatabase } from '../tables/availability.js'
import type { AuditResult } from './audit-watch.js'
import type { Upgrade } from '../../../pipelines/tables/migrate.js'
import { DATABASE_UNAVAILABLE, NOT_READY, upgrading } from '../answering/failure.js'
import type { State } from '../state/state.js'

/** The body of `/health`. `error` and `code` are present only while the service is degraded. */
export interface Health {
  readonly status: 'ok' | 'degraded'
  readonly service: 'headwater-explorer'
  readonly database: 'connected' | 'disconnected'
  readonly wsClients: number
  readonly indexerStatus: string
  readonly tipHeight: number
  readonly nodeHeight: number
  readonly tipMatch: boolean
  readonly lastReconciledAt: string
  /** The result of the continuous audit; `npm run audit` runs a complete one. */
  readonly audit: AuditResult
  /** The reason why the materializer has stopped. The served data is correct but grows old. */
  readonly indexerError?: string
  /** True if the reason is damage in the log, which the poller repairs. */
  readonly indexerHealing?: true
  /** Present while the database is being upgraded to this version's schema. */
  readonly upgrade?: Upgrade
  /** The processes of the explorer, if there are several: those that listen and can answer, of all. */
  readonly processes?: { readonly configured: number; readonly serving: number }
  readonly error?: string
  readonly code?: ErrorCode
}

interface HealthParts {
  readonly state: State
  readonly database: AvailableDatabase
  readonly audit: AuditResult
}

export function healthOf({ state, database, audit }: HealthParts, wsClients: number): Health {
  const connected = database.connected
  const ok = connected && state.ready
  const upgrade = connected ? state.upgrade : undefined
  const why = upgrade === undefined ? NOT_READY : upgrading({ ...upgrade })
  const { message: error, code } = connected ? why : DATABASE_UNAVAILABLE
  return {
    status: ok ? 'ok' : 'degraded',
    service: 'headwater-explorer',
    database: connected ? 'connected' : 'disconnected',
    wsClients,
    tipHeight: state.chain.height,
    ...state.indexer(),
    audit,
    ...(state.alert === undefined ? {} : { indexerError: state.alert }),
    ...(state.logDamage === 'healing' ? { indexerHealing: true as const } : {}),
    ...(upgrade === undefined ? {} : { upgrade }),
    ...(ok ? {} : { error, code }),
  }
}
