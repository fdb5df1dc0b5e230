import type { Read } from '../reads/read.js'

export const API = '/api/v1'

/** What answers a path besides the reads. */
export type Service = 'health' | 'metrics' | 'socket'

export interface Route {
  /** As declared, with `:name` for parameters: what metrics name. */
  readonly pattern: string
  readonly target: Read | Service
}

export interface Matched {
  readonly route: Route
  /** Still percent-encoded. */
  readonly params: Readonly<Record<string, string>>
}

interface Entry {
  readonly segments: readonly string[]
  readonly route: Route
}

const SERVICES: readonly Route[] = [
  { pattern: '/health', target: 'health' },
  { pattern: '/metrics', target: 'metrics' },
  { pattern: '/ws', target: 'socket' },
  { pattern: `${API}/ws`, target: 'socket' },
]

/** Finds the route of a path: those without parameters first, so that /blocks/tip is no /blocks/:x. */
export class Router {
  readonly #fixed = new Map<string, Matched>()
  readonly #bySize = new Map<number, Entry[]>()
  /** The path asked last, which is asked again when its answer is observed. */
  #last: { readonly path: string; readonly matched: Matched | undefined } | undefined

  constructor(reads: readonly Read[]) {
    const routes = [...SERVICES, ...reads.map((read) => ({ pattern: API + read.path, target: read }))]
    for (const route of routes) {
      const segments = route.pattern.split('/')
      if (!route.pattern.includes(':')) this.#fixed.set(route.pattern, { route, params: {} })
      else
        this.#bySize.set(segments.length, [...(this.#bySize.get(segments.length) ?? []), { segments, route }])
    }
  }

  match(path: string): Matched | undefined {
    if (this.#last?.path !== path) this.#last = { path, matched: this.#find(path) }
    return this.#last.matched
  }

  #find(path: string): Matched | undefined {
    const fixed = this.#fixed.get(path)
    if (fixed !== undefined) return fixed
    const given = path.split('/')
    for (const { segments, route } of this.#bySize.get(given.length) ?? []) {
      const params = matchSegments(segments, given)
      if (params !== undefined) return { route, params }
    }
    return undefined
  }
}

function matchSegments(
  declared: readonly string[],
  given: readonly string[],
): Record<string, string> | undefined {
  const fits = declared.every((segment, index) =>
    segment.startsWith(':') ? given[index] !== '' : segment === given[index],
  )
  if (!fits) return undefined
  const params: Record<string, string> = {}
  declared.forEach((segment, index) => {
    if (segment.startsWith(':')) params[segment.slice(1)] = given[index] ?? ''
  })
  return params
}
