const alternatives = new Intl.ListFormat('ja', { type: 'disjunction' })

/** Returns alternatives as a list: "a、b、またはc". */
export const either = (items: readonly string[]): string => alternatives.format(items)
