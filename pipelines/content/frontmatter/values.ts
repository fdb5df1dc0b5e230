/** The fields of a frontmatter, or of a value in it. */
export type Fields = Readonly<Record<string, unknown>>

/** Returns a value that has fields; undefined for other values. */
export const fieldsIn = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
    ? (value as Fields)
    : undefined

/** Returns the records of a list; other elements are left out. */
export const recordsIn = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? (value as unknown[]).map(fieldsIn).filter((each) => each !== undefined) : []

/** Returns a field that is a text, on one line; undefined if it is empty or has another type. */
export function textIn(fields: Fields | undefined, name: string): string | undefined {
  const value = fields?.[name]
  return typeof value === 'string' && value.trim() !== '' ? value.trim().replace(/\s+/g, ' ') : undefined
}

/** Returns a field that is a finite number. */
export function numberIn(fields: Fields | undefined, name: string): number | undefined {
  const value = fields?.[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
