/** True in `npm run check:long`, which runs the cases of a test that CI leaves out, too. */
export const IS_WHOLE = process.env['WHOLE_TESTS'] === '1'

/** Returns the first of every `oneIn` items, which CI compares, or all of them in `npm run check:long`. */
export function sampled<T>(items: readonly T[], oneIn: number): T[] {
  return items.filter((_, at) => IS_WHOLE || at % oneIn === 0)
}
