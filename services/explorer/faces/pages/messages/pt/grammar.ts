/** Returns a count with the form of the noun that it needs. @param count as it is shown. */
export const n = (count: string, one: string, many: string): string =>
  `${count} ${count === '1' ? one : many}`

const alternatives = new Intl.ListFormat('pt', { type: 'disjunction' })

/** Returns alternatives as a list: "a, b ou c". */
export const either = (items: readonly string[]): string => alternatives.format(items)
