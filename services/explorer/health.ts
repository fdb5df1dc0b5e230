import type { AvailableDatabase } from './availability.js'
import type { State } from './state.js'

/** What /health tells; `error` stands there only where the service is degraded. */
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
  readonly error?: string
}

export function healthOf(
  { state, database }: { readonly state: State; readonly database: AvailableDatabase },
  wsClients: number,
): Health {
  const connected = database.connected
  const ok = connected && state.ready
  return {
    status: ok ? 'ok' : 'degraded',
    service: 'headwater-explorer',
    database: connected ? 'connected' : 'disconnected',
    wsClients,
    tipHeight: state.chain.height,
    ...state.indexer(),
    ...(ok ? {} : { error: connected ? 'Not ready yet' : 'Database unavailable' }),
  }
}
