/** Returns a count with the form of the noun that it needs. @param count as it is shown. */
export const n = (count: string, one: string, many: string): string =>
  `${count} ${count === '1' ? one : many}`

const alternatives = new Intl.ListFormat('de', { type: 'disjunction' })

/** Returns alternatives as a list: "a, b oder c". */
export const either = (items: readonly string[]): string => alternatives.format(items)
