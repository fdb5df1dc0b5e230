import type { Content } from '../../../pipelines/content/store.js'
import type { ClientError, ErrorCode } from '../../../pipelines/errors.js'
import type { JobProgress } from '../../../pipelines/pace.js'
import {
  StatusResponse_Semantic as Semantic,
  type StatusResponse,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'

interface ProgressJson {
  readonly done: number
  readonly total: number
  /** Null until it can be estimated. */
  readonly seconds_left: number | null
}

/** The body of /health. It has an `error` only if the service is degraded. */
export interface Health {
  readonly status: 'ok' | 'degraded'
  readonly service: 'headwater-docs'
  readonly pages: number
  /** Only while the pages are being read, in files. */
  readonly reading?: ProgressJson
  readonly chunks: number
  readonly semantic: 'ready' | 'loading' | 'unavailable'
  readonly semantic_reason?: string
  /** Only while passages are being embedded. */
  readonly embedding?: ProgressJson
  readonly index: { readonly built_at: string | null; readonly stale: boolean }
  /** Name of the answerer of questions. */
  readonly answers: string
  /** Files whose current version cannot be served. */
  readonly faults: readonly { readonly file: string; readonly line: number; readonly message: string }[]
  /** Number of links that lead to no page or to no heading. `npm run docs:check` lists them. */
  readonly broken_links: number
  /** Number of files that pages name, but that cannot be included. */
  readonly broken_includes: number
  /** Components with an expression that is left out, because it would have to be evaluated. */
  readonly left_out: readonly string[]
  /** Files that are included by pages, and are none themselves. */
  readonly partials: readonly string[]
  readonly error?: string
  /** The code of the first error. */
  readonly code?: ErrorCode | ClientError
}

const SEMANTIC = {
  [Semantic.UNSPECIFIED]: 'unavailable',
  [Semantic.LOADING]: 'loading',
  [Semantic.READY]: 'ready',
  [Semantic.UNAVAILABLE]: 'unavailable',
} as const

/** Returns the body of /health. @param status undefined if the retrieval worker is unreachable. */
export function healthOf(content: Content, status: StatusResponse | undefined, answers: string): Health {
  const errors = content.errors()
  const { embedding } = status ?? {}
  const reason = status?.semanticReason ?? 'the retrieval worker is unreachable'
  const error = [
    ...(status === undefined ? ['Retrieval unavailable: search and answers do not work'] : []),
    ...(errors.length === 0 ? [] : [`${String(errors.length)} file(s) with errors`]),
  ].join('; ')
  return {
    status: error === '' ? 'ok' : 'degraded',
    service: 'headwater-docs',
    pages: content.pages().length,
    ...(content.isComplete ? {} : { reading: progressJson(content.progress) }),
    chunks: status?.chunks ?? 0,
    semantic: SEMANTIC[status?.semantic ?? Semantic.UNAVAILABLE],
    ...(reason === '' ? {} : { semantic_reason: reason }),
    ...(embedding === undefined ? {} : { embedding: progressJson(embedding) }),
    index: { built_at: builtAt(status), stale: status?.indexStale ?? true },
    answers,
    faults: errors,
    ...reportOf(content),
    ...(error === ''
      ? {}
      : { error, code: status === undefined ? 'HW_RETRIEVAL_UNAVAILABLE' : 'HW_CONTENT_INVALID' }),
  }
}

type SentProgress = Pick<JobProgress, 'done' | 'total'> & Partial<Pick<JobProgress, 'secondsLeft'>>

const progressJson = ({ done, total, secondsLeft }: SentProgress): ProgressJson => ({
  done,
  total,
  seconds_left: secondsLeft ?? null,
})

function reportOf(
  content: Content,
): Pick<Health, 'broken_links' | 'broken_includes' | 'left_out' | 'partials'> {
  const findings = content.findings()
  const components = findings.flatMap(({ component }) => component ?? [])
  return {
    broken_links: findings.filter(({ kind }) => kind === 'link').length,
    broken_includes: findings.filter(({ kind }) => kind === 'include').length,
    left_out: [...new Set(components)].sort(),
    partials: content.partials(),
  }
}

function builtAt(status: StatusResponse | undefined): string | null {
  const ms = Number(status?.indexBuiltMs ?? 0)
  return ms === 0 ? null : new Date(ms).toISOString()
}
