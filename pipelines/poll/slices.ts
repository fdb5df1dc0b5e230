/** Splits things into slices of at most a total size. A single larger thing is a slice of its own. Yields at least one slice. */
export function* slicesOf<T>(
  things: Iterable<T>,
  sizeOf: (thing: T) => number,
  most: number,
): Generator<T[]> {
  let slice: T[] = []
  let size = 0
  for (const thing of things) {
    const more = sizeOf(thing)
    if (slice.length > 0 && size + more > most) {
      yield slice
      slice = []
      size = 0
    }
    slice.push(thing)
    size += more
  }
  yield slice
}
