/** The maximum number of items of a chunk. A change copies a chunk and the list of chunks: both have some hundred items. */
const MAX_CHUNK = 512

type Chunk<T> = readonly T[]

/** Returns a negative number if the first item precedes the second, 0 if both are versions of one item. */
export type Compare<T> = (one: T, other: T) => number

/**
 * A sorted list without duplicates. Immutable: a change makes a new version, which shares with this one the chunks in which they do
 * not differ. Lookups take the logarithm of the size, a change about a microsecond, whatever the size.
 */
export class SortedList<T> implements Iterable<T> {
  private constructor(
    private readonly compare: Compare<T>,
    private readonly chunks: readonly Chunk<T>[],
    readonly size: number,
  ) {}

  static empty<T>(compare: Compare<T>): SortedList<T> {
    return new SortedList(compare, [], 0)
  }

  /** Returns the list of items that are sorted by `compare` already, none of them twice. */
  static of<T>(sorted: readonly T[], compare: Compare<T>): SortedList<T> {
    const chunks: T[][] = []
    // Half full, so that the first insertions split none.
    for (let at = 0; at < sorted.length; at += MAX_CHUNK / 2)
      chunks.push(sorted.slice(at, at + MAX_CHUNK / 2))
    return new SortedList(compare, chunks, sorted.length)
  }

  *[Symbol.iterator](): Generator<T> {
    for (const chunk of this.chunks) yield* chunk
  }

  /** Returns the item that a probe returns 0 for. @param probe compares an item with the wanted one, as `Compare`. */
  find(probe: (item: T) => number): T | undefined {
    const chunk = this.chunks[lastAtMost(this.chunks, (each) => probe(each[0] as T))]
    const item = chunk?.[lastAtMost(chunk, probe)]
    return item !== undefined && probe(item) === 0 ? item : undefined
  }

  /** Yields the items from the first one on that a probe does not return a negative number for. @param probe as for `find`. */
  *from(probe: (item: T) => number): Generator<T> {
    const isBefore = (item: T): number => (probe(item) < 0 ? -1 : 1)
    const first = Math.max(
      0,
      lastAtMost(this.chunks, (each) => isBefore(each[0] as T)),
    )
    for (let index = first; index < this.chunks.length; index++) {
      const chunk = this.chunks[index] as Chunk<T>
      for (let at = index > first ? 0 : lastAtMost(chunk, isBefore) + 1; at < chunk.length; at++)
        yield chunk[at] as T
    }
  }

  /** Returns the first items, at most `count`. */
  first(count: number): T[] {
    const items: T[] = []
    for (const chunk of this.chunks) {
      if (items.length >= count) break
      items.push(...chunk.slice(0, count - items.length))
    }
    return items
  }

  /**
   * Returns the list in parts, each with a summary of its items.
   * @param summarise one function for all calls, so that summaries are kept for all versions that share a part.
   */
  *parts<S>(
    summarise: (items: readonly T[]) => S,
  ): Generator<{ readonly items: readonly T[]; readonly summary: S }> {
    const summaries = summariesOf(summarise)
    for (const items of this.chunks) {
      let summary = summaries.get(items)
      if (summary === undefined) summaries.set(items, (summary = summarise(items)))
      yield { items, summary }
    }
  }

  /**
   * Returns the number of the first items that a probe returns a negative number for, and their sum.
   * @param sumOf one function for all calls, so that sums are kept for all versions that share a part.
   */
  before(
    probe: (item: T) => number,
    sumOf: (items: readonly T[]) => number,
  ): { readonly count: number; readonly sum: number } {
    let [count, sum] = [0, 0]
    for (const { items, summary } of this.parts(sumOf)) {
      if (probe(items.at(-1) as T) >= 0) {
        const length = lastAtMost(items, (item) => (probe(item) < 0 ? -1 : 1)) + 1
        return { count: count + length, sum: sum + sumOf(items.slice(0, length)) }
      }
      count += items.length
      sum += summary
    }
    return { count, sum }
  }

  /** Returns the list without the items `removed` and with the items `added`, which replace items that are equal by `Compare`. */
  changed(removed: Iterable<T>, added: Iterable<T>): SortedList<T> {
    const { compare } = this
    const chunks = [...this.chunks] as T[][]
    const own = new Set<Chunk<T>>()
    let { size } = this
    const chunkOf = (item: T): number => lastAtMost(chunks, (each) => compare(each[0] as T, item))
    const ownAt = (index: number): T[] => {
      const chunk = chunks[index] as T[]
      if (own.has(chunk)) return chunk
      const copy = chunk.slice()
      own.add(copy)
      return (chunks[index] = copy)
    }
    for (const item of removed) {
      const index = chunkOf(item)
      const items = chunks[index]
      const at = items === undefined ? -1 : lastAtMost(items, (each) => compare(each, item))
      if (items === undefined || at < 0 || compare(items[at] as T, item) !== 0) continue
      const chunk = ownAt(index)
      chunk.splice(at, 1)
      size--
      const next = chunks[index + 1]
      if (chunk.length === 0) chunks.splice(index, 1)
      else if (next !== undefined && chunk.length + next.length < MAX_CHUNK / 2) {
        chunk.push(...next)
        chunks.splice(index + 1, 1)
      }
    }
    for (const item of added) {
      const index = Math.max(0, chunkOf(item))
      if (chunks.length === 0) {
        const first = [item]
        own.add(first)
        chunks.push(first)
        size++
        continue
      }
      const chunk = ownAt(index)
      const at = lastAtMost(chunk, (each) => compare(each, item))
      if (at >= 0 && compare(chunk[at] as T, item) === 0) {
        chunk[at] = item
        continue
      }
      chunk.splice(at + 1, 0, item)
      size++
      if (chunk.length <= MAX_CHUNK) continue
      const half = chunk.splice(MAX_CHUNK / 2)
      own.add(half)
      chunks.splice(index + 1, 0, half)
    }
    return new SortedList(compare, chunks, size)
  }

  /** Calls back with each item whose object is not in the other list. Skips the chunks that both lists share. */
  forEachNotIn(other: SortedList<T>, callback: (item: T) => void): void {
    let [at, index] = [0, 0]
    for (const chunk of this.chunks) {
      let from = 0
      while (from < chunk.length) {
        const theirs = other.chunks[at]
        if (theirs === undefined) {
          for (const item of chunk.slice(from)) callback(item)
          break
        }
        if (index === 0 && from === 0 && theirs === chunk) {
          at++
          break
        }
        const item = chunk[from] as T
        const order = item === theirs[index] ? 0 : this.compare(theirs[index] as T, item)
        if (order < 0) {
          if (++index === theirs.length) [at, index] = [at + 1, 0]
          continue
        }
        if (order > 0 || item !== theirs[index]) callback(item)
        from++
      }
    }
  }
}

/** The summaries of chunks, which never change, by the function that makes them. */
const SUMMARIES = new WeakMap<object, WeakMap<object, unknown>>()

function summariesOf<T, S>(summarise: (items: readonly T[]) => S): WeakMap<Chunk<T>, S> {
  let summaries = SUMMARIES.get(summarise)
  if (summaries === undefined) SUMMARIES.set(summarise, (summaries = new WeakMap()))
  return summaries as WeakMap<Chunk<T>, S>
}

/** Returns the last index of a sorted array whose item is not after the wanted one; -1 for none. @param probe as `Compare`. */
function lastAtMost<T>(sorted: readonly T[], probe: (item: T) => number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (probe(sorted[middle] as T) <= 0) low = middle + 1
    else high = middle
  }
  return low - 1
}
