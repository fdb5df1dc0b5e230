/** The weights that a client gives to the forms of an answer, from 0 to 1. */
interface Weights {
  readonly html: number
  readonly json: number
  /** True if HTML is named, and not only included in a range of types. */
  readonly namesHtml: boolean
  readonly namesJson: boolean
}

/** The number of remembered headers: clients send a few different headers. */
const MAX_HEADERS = 64
const cache = new Map<string, Weights>()

/**
 * Returns whether an Accept header prefers JSON to HTML, by the weights of RFC 9110. Of equal weights the type that is named decides:
 * libraries of programs send `application/json, text/plain, *\/*`. Most clients accept anything: they do not prefer JSON.
 */
export function prefersJson(accept: string): boolean {
  const { html, json, namesHtml, namesJson } = weightsOf(accept)
  return json > html || (json === html && json > 0 && namesJson && !namesHtml)
}

/** Returns whether an Accept header asks for HTML by its name, and does not prefer JSON, as browsers do. */
export function asksForHtml(accept: string): boolean {
  const { html, json, namesHtml } = weightsOf(accept)
  return namesHtml && html > 0 && html >= json
}

function weightsOf(accept: string): Weights {
  const before = cache.get(accept)
  if (before !== undefined) return before
  const weights = parse(accept)
  if (cache.size >= MAX_HEADERS) cache.clear()
  cache.set(accept, weights)
  return weights
}

function parse(accept: string): Weights {
  const ranges = new Map<string, number>()
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    // A range with an invalid weight is ignored.
    if (weight === undefined || /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight))
      ranges.set(type, Math.max(ranges.get(type) ?? 0, Number(weight ?? 1)))
  }
  // The most specific range decides. Without the header, a client accepts anything.
  const of = (...types: readonly string[]): number =>
    accept.trim() === '' ? 1 : (types.map((type) => ranges.get(type)).find((each) => each !== undefined) ?? 0)
  return {
    html: of('text/html', 'text/*', '*/*'),
    json: of('application/json', 'application/*', '*/*'),
    namesHtml: ranges.has('text/html'),
    namesJson: ranges.has('application/json'),
  }
}
