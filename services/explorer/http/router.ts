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

const SERVICES: readonly Route[] = [
  { pattern: '/health', target: 'health' },
  { pattern: '/metrics', target: 'metrics' },
  { pattern: '/ws', target: 'socket' },
  { pattern: `${API}/ws`, target: 'socket' },
]

/** Finds the route of a path: those without parameters first, so that /blocks/tip is no /blocks/:x. */
export class Router {
  readonly #fixed = new Map<string, Matched>()
  readonly #patterns: (readonly [RegExp, Route])[] = []
  /** The path asked last, which is asked again when its answer is observed. */
  #last: { readonly path: string; readonly matched: Matched | undefined } | undefined

  constructor(reads: readonly Read[]) {
    const routes = [...SERVICES, ...reads.map((read) => ({ pattern: API + read.path, target: read }))]
    for (const route of routes) {
      const { pattern } = route
      if (!pattern.includes(':')) this.#fixed.set(pattern, { route, params: {} })
      else this.#patterns.push([new RegExp(`^${pattern.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`, 's'), route])
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
