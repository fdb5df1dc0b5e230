import { type Static, Type } from '@sinclair/typebox'
import type { ErrorCode } from '../../../../pipelines/errors.js'
import type { AvailableDatabase } from '../tables/availability.js'
import type { AuditResult } from './audit-watch.js'
import type { Condition } from './condition.js'
import { DATABASE_UNAVAILABLE, NOT_READY } from '../answering/failure.js'
import type { State } from '../state/state.js'

const flag = (description: string) => Type.Boolean({ description })
const count = (description: string) => Type.Integer({ description })
const text = (description: string) => Type.String({ description })

/** The body of `/health`. `error` and `code` are present only while the service is degraded. */
export const Health = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')], {
    description: 'whether the explorer can answer',
  }),
  service: Type.Literal('headwater-explorer'),
  database: Type.Union([Type.Literal('connected'), Type.Literal('disconnected')]),
  wsClients: count('connected WebSocket clients'),
  indexerStatus: text('live, syncing, node_syncing or stalled'),
  tipHeight: count('height of the newest block; -1 before the first one'),
  nodeHeight: count('height of the node at its last heartbeat; -1 before any'),
  nodeHeaders: count(
    'height of the best header that the node has, above nodeHeight while it downloads blocks; -1 if unknown',
  ),
  tipMatch: flag('whether the newest block is that of the node'),
  lastReconciledAt: text('time of the last heartbeat of the node'),
  audit: Type.Object(
    {
      checkedAt: Type.Union([text('time of the last round'), Type.Null()]),
      checks: count('checks since the start'),
      differences: count('differences that were found'),
      error: Type.Optional(text('the reason why the last round failed')),
    },
    { description: 'the result of the continuous audit; `npm run audit` runs a complete one' },
  ),
  trouble: Type.Optional(
    text(
      'why the explorer is not up to date or not equal to the node: starting, syncing, node_syncing, mismatch, differences, or the stage that is stuck: database, materializer, log, node, poller, or source if it is not known which of these two',
    ),
  ),
  indexerError: Type.Optional(
    text('the reason why the materializer has stopped: the served data is correct but grows old'),
  ),
  indexerHealing: Type.Optional(
    Type.Literal(true, { description: 'true if the reason is damage in the log, which the poller repairs' }),
  ),
  processes: Type.Optional(
    Type.Object(
      {
        configured: count('processes of the explorer'),
        serving: count('processes that listen and can answer'),
      },
      { description: 'present if the explorer has several processes' },
    ),
  ),
  error: Type.Optional(text('why the service is degraded')),
  code: Type.Optional(Type.Unsafe<ErrorCode>(text('code of that error'))),
})
export type Health = Readonly<Static<typeof Health>>

interface HealthParts {
  readonly state: State
  readonly database: Pick<AvailableDatabase, 'connected'>
  readonly audit: AuditResult
  readonly condition: Pick<Condition, 'trouble'>
}

export function healthOf(
  { state, database, audit, condition: { trouble } }: HealthParts,
  wsClients: number,
): Health {
  const connected = database.connected
  const ok = connected && state.ready
  const { message: error, code } = connected ? NOT_READY : DATABASE_UNAVAILABLE
  return {
    status: ok ? 'ok' : 'degraded',
    service: 'headwater-explorer',
    database: connected ? 'connected' : 'disconnected',
    wsClients,
    tipHeight: state.chain.height,
    ...state.indexer(),
    audit,
    ...(trouble === undefined ? {} : { trouble }),
    ...(state.alert === undefined ? {} : { indexerError: state.alert }),
    ...(state.logDamage === 'healing' ? { indexerHealing: true as const } : {}),
    ...(ok ? {} : { error, code }),
  }
}
