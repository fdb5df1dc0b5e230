/** A route with the parameters of a path. */
export interface Matched<Route> {
  readonly route: Route
  /** Percent-encoded. */
  readonly params: Readonly<Record<string, string>>
}

/**
 * Finds the route of a path. Routes without parameters take precedence, so that /blocks/tip does not match /blocks/:x; otherwise the
 * first route does.
 */
export class Router<Route extends { readonly pattern: string }> {
  readonly #fixed = new Map<string, Matched<Route>>()
  readonly #patterns: (readonly [RegExp, Route])[] = []
  /** The last result: each path is matched again when the duration of its answer is recorded. */
  #last: { readonly path: string; readonly match: Matched<Route> | undefined } | undefined

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const { pattern } = route
      if (!pattern.includes(':')) {
        if (!this.#fixed.has(pattern)) this.#fixed.set(pattern, { route, params: {} })
      } else
        this.#patterns.push([
          new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`, 's'),
          route,
        ])
    }
  }

  match(path: string): Matched<Route> | undefined {
    if (this.#last?.path !== path) this.#last = { path, match: this.#find(path) }
    return this.#last.match
  }

  #find(path: string): Matched<Route> | undefined {
    const fixed = this.#fixed.get(path)
    if (fixed !== undefined) return fixed
    for (const [pattern, route] of this.#patterns) {
      const result = pattern.exec(path)
      if (result !== null) return { route, params: result.groups ?? {} }
    }
    return undefined
  }
}
