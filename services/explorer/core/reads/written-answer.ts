/**
 * An answer that its resolver has written as JSON, without objects for its fields: most clients get these bytes. It is never empty
 * (`emptyFrom`).
 */
export class WrittenAnswer<T> {
  /** @param json as `JSON.stringify` would write the answer. */
  constructor(readonly json: string) {}

  /** Returns the answer as an object, for other encodings. */
  parse(): T {
    return JSON.parse(this.json) as T
  }
}

/** Returns a list of items that are JSON already, with the other fields of the answer. An empty list is an object, for `emptyFrom`. */
export function writtenList<T, F extends Readonly<Record<string, number>>>(
  items: readonly string[],
  fields: F,
): WrittenAnswer<T> | (F & { items: [] }) {
  if (items.length === 0) return { items: [], ...fields }
  return new WrittenAnswer(`{"items":[${items.join(',')}],${JSON.stringify(fields).slice(1)}`)
}
