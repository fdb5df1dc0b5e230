/** Returns a count with the form of the noun that it needs. @param count as it is shown. */
export const n = (count: number | string, one: string, many: string): string =>
  `${String(count)} ${String(count) === '1' ? one : many}`

const alternatives = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** Returns alternatives as a list: "a, b or c". */
export const either = (items: readonly string[]): string => alternatives.format(items)
