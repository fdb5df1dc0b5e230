import type { Content } from '../../../pipelines/content/store.js'
import {
  StatusResponse_Semantic as Semantic,
  type StatusResponse,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'

/** What /health tells; `error` stands there only where the service is degraded. */
export interface Health {
  readonly status: 'ok' | 'degraded'
  readonly service: 'headwater-docs'
  readonly pages: number
  readonly chunks: number
  readonly semantic: 'ready' | 'loading' | 'unavailable'
  readonly semantic_reason?: string
  readonly index: { readonly built_at: string | null; readonly stale: boolean }
  /** Who answers questions. */
  readonly answers: string
  /** Files that could not be read as they are now. */
  readonly faults: readonly { readonly file: string; readonly line: number; readonly message: string }[]
  readonly error?: string
}

const SEMANTIC = {
  [Semantic.UNSPECIFIED]: 'unavailable',
  [Semantic.LOADING]: 'loading',
  [Semantic.READY]: 'ready',
  [Semantic.UNAVAILABLE]: 'unavailable',
} as const

/** @param status undefined where the retrieval worker is unreachable. */
export function healthOf(content: Content, status: StatusResponse | undefined, answers: string): Health {
  const errors = content.errors()
  const reason = status?.semanticReason ?? 'the retrieval worker is unreachable'
  const error = [
    ...(status === undefined ? ['Retrieval unavailable: search and answers do not work'] : []),
    ...(errors.length === 0 ? [] : [`${String(errors.length)} file(s) with errors`]),
  ].join('; ')
  return {
    status: error === '' ? 'ok' : 'degraded',
    service: 'headwater-docs',
    pages: content.pages().length,
    chunks: status?.chunks ?? 0,
    semantic: SEMANTIC[status?.semantic ?? Semantic.UNAVAILABLE],
    ...(reason === '' ? {} : { semantic_reason: reason }),
    index: { built_at: builtAt(status), stale: status?.indexStale ?? true },
    answers,
    faults: errors,
    ...(error === '' ? {} : { error }),
  }
}

function builtAt(status: StatusResponse | undefined): string | null {
  const ms = Number(status?.indexBuiltMs ?? 0)
  return ms === 0 ? null : new Date(ms).toISOString()
}
