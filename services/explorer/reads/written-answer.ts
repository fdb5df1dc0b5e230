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

/** Returns a written list: the items, which are written already, and the other fields of the answer. */
export function writtenList<T>(
  items: readonly string[],
  fields: Readonly<Record<string, number>>,
): WrittenAnswer<T> {
  return new WrittenAnswer(`{"items":[${items.join(',')}],${JSON.stringify(fields).slice(1)}`)
}
