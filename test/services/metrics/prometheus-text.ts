/** Returns the value of a series, named as in the text with its labels in their order; undefined if it is absent. */
export function valueOf(exposition: string, series: string): number | undefined {
  const line = exposition.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}
