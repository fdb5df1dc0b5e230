import { type Coding, LEAST_COMPRESSED } from '../compression.js'

/** The number of remembered headers: clients send a few different ones. */
const MAX_HEADERS = 64

/** Returns the coding in which a body is sent to a client with this Accept-Encoding header; undefined for the body as it is. */
export const codingFor = (body: { readonly length: number }, header: string): Coding | undefined =>
  body.length < LEAST_COMPRESSED ? undefined : preferredCoding(header)

const codings = new Map<string, Coding | undefined>()

/**
 * Returns the coding with the highest weight in an Accept-Encoding header, Brotli if weights are equal; undefined for the body as
 * it is.
 */
export function preferredCoding(header: string): Coding | undefined {
  if (header === '') return undefined
  if (codings.has(header)) return codings.get(header)
  const coding = choose(header)
  if (codings.size >= MAX_HEADERS) codings.clear()
  codings.set(header, coding)
  return coding
}

function choose(header: string): Coding | undefined {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    weights.set(name === 'x-gzip' ? 'gzip' : name, weightOf(parameters))
  }
  const of = (coding: string): number => weights.get(coding) ?? weights.get('*') ?? 0
  const [br, gzip] = [of('br'), of('gzip')]
  const best = Math.max(br, gzip)
  // Without a mention, the body as it is is acceptable, but less than any coding that is named.
  if (best === 0 || best < (weights.get('identity') ?? 0)) return undefined
  return br >= gzip ? 'br' : 'gzip'
}

/** Returns the weight of a coding from 0 to 1. An invalid one counts as 0: the body as it is can always be sent. */
function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  if (weight === undefined) return 1
  return /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0
}
