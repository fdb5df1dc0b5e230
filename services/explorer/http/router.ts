import { addressHistoryCsv } from '../faces/rest/history-csv.js'
import type { Read } from '../core/reads/read.js'

export const API = '/api/v1'

/** The endpoints that are not reads. */
export type Service = 'health' | 'metrics' | 'openapi' | 'asyncapi' | 'socket' | 'broadcast' | 'history'

export interface Route {
  /** The declared path, with `:name` for parameters. Also the route label of metrics. */
  readonly pattern: string
  readonly target: Read | Service
  /** The methods of the route, as in the header `allow`. */
  readonly methods: typeof GET | typeof POST
}

export const GET = 'GET, HEAD, OPTIONS'
export const POST = 'POST, OPTIONS'

export interface Matched {
  readonly route: Route
  /** Percent-encoded. */
  readonly params: Readonly<Record<string, string>>
}

const SERVICES: readonly Route[] = [
  { pattern: '/health', target: 'health', methods: GET },
  { pattern: '/metrics', target: 'metrics', methods: GET },
  { pattern: '/openapi.json', target: 'openapi', methods: GET },
  { pattern: '/asyncapi.json', target: 'asyncapi', methods: GET },
  { pattern: '/ws', target: 'socket', methods: GET },
  { pattern: `${API}/ws`, target: 'socket', methods: GET },
  { pattern: API + addressHistoryCsv.path, target: 'history', methods: GET },
]

/** Returns the routes of the API and of the services around it. */
export const apiRoutes = (reads: readonly Read[]): readonly Route[] => [...SERVICES, ...reads.map(routeOf)]

const routeOf = (read: Read): Route => {
  return { pattern: API + read.path, target: read, methods: read.method === 'POST' ? POST : GET }
}

/** Finds the route of a path. Routes without parameters take precedence, so that /blocks/tip does not match /blocks/:x. */
export class Router {
  readonly #fixed = new Map<string, Matched>()
  readonly #patterns: (readonly [RegExp, Route])[] = []
  /** The last result: each path is matched again when the duration of its answer is recorded. */
  #last: { readonly path: string; readonly matched: Matched | undefined } | undefined

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const { pattern } = route
      if (!pattern.includes(':')) this.#fixed.set(pattern, { route, params: {} })
      else
        this.#patterns.push([
          new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`, 's'),
          route,
        ])
    }
  }

  match(path: string): Matched | undefined {
    if (this.#last?.path !== path) this.#last = { path, matched: this.#find(path) }
    return this.#last.matched
  }

  #find(path: string): Matched | undefined {
    const fixed = this.#fixed.get(path)
    if (fixed !== undefined) return fixed
    for (const [pattern, route] of this.#patterns) {
      const found = pattern.exec(path)
      if (found !== null) return { route, params: found.groups ?? {} }
    }
    return undefined
  }
}
