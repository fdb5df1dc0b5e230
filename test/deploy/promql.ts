import { parser } from '@prometheus-io/lezer-promql'

/**
 * Returns the metrics that a query names, parsed by Prometheus's own grammar.
 * @throws Error for invalid PromQL.
 */
export function metricsIn(query: string): string[] {
  const names: string[] = []
  parser.parse(query).iterate({
    enter: (node) => {
      if (node.type.isError) throw new Error(`not PromQL at character ${String(node.from)}: ${query}`)
      // Only in a selector: a label in `by (le)` is an identifier too.
      if (node.name === 'VectorSelector') {
        const name = node.node.getChild('Identifier')
        if (name === null) throw new Error(`a selector without a metric's name: ${query}`)
        names.push(query.slice(name.from, name.to))
      }
    },
  })
  return names
}

/** Returns the names of the series that `/metrics` declares by its TYPE lines: a histogram has three. */
export function seriesIn(exposition: string): Set<string> {
  const declared = [...exposition.matchAll(/^# TYPE (\S+) (\w+)$/gm)]
  return new Set(
    declared.flatMap(([, name = '', type]) => {
      if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`]
      if (type === 'summary') return [name, `${name}_sum`, `${name}_count`]
      return [name]
    }),
  )
}
