const alternatives = new Intl.ListFormat('zh', { type: 'disjunction' })

/** Returns alternatives as a list: "a、b或c". */
export const either = (items: readonly string[]): string => alternatives.format(items)
