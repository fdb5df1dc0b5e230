/** True in `npm run check:long`, which runs the cases of a test that CI leaves out, too. */
export const IS_WHOLE = process.env['WHOLE_TESTS'] === '1'

/** Returns the first of every `oneIn` items, which CI compares, or all of them in `npm run check:long`. */
export function sampled<T>(items: readonly T[], oneIn: number): T[] {
  return items.filter((_, at) => IS_WHOLE || at % oneIn === 0)
}

/** Returns the first of every `oneIn` items of each kind in CI, and so at least one of each; all in `npm run check:long`. */
export function sampledByKind<T>(items: readonly T[], oneIn: number, kindOf: (item: T) => string): T[] {
  const seen = new Map<string, number>()
  return items.filter((item) => {
    const kind = kindOf(item)
    const at = seen.get(kind) ?? 0
    seen.set(kind, at + 1)
    return IS_WHOLE || at % oneIn === 0
  })
}
