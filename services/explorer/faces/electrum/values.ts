import { CODE, Refusal } from './refusal.js'

/** The parameters of a request in the order of their declaration; undefined for those that it does not have. */
export type Values = readonly unknown[]

/** The parameters that a method takes. */
export interface Signature {
  /** Their names in their order. */
  readonly params: readonly string[]
  /** The number of the first ones that are required. */
  readonly required: number
  /** True if further parameters are ignored. */
  readonly isOpen?: boolean
}

const MAX_SPELLED = 200

/** Returns a value as error messages spell it: texts as they are, others as JSON. */
export function spelled(value: unknown): string {
  let text: string | undefined
  try {
    text = typeof value === 'string' ? value : JSON.stringify(value)
  } catch {
    // Nested too deep.
  }
  return (text ?? 'null').slice(0, MAX_SPELLED)
}

const plural = (count: number): string => `${String(count)} argument${count === 1 ? '' : 's'}`

/** Returns the parameters of a request, by position or by name. @throws Refusal. */
export function valuesOf(method: string, { params, required, isOpen }: Signature, given: unknown): Values {
  if (given === undefined) return valuesOf(method, { params, required }, [])
  if (Array.isArray(given)) {
    const count = given.length
    if (count > params.length && isOpen !== true)
      throw new Refusal(
        CODE.invalidParams,
        `${plural(count)} passed to method ${method} taking at most ${String(params.length)}`,
      )
    if (count < required)
      throw new Refusal(
        CODE.invalidParams,
        `${plural(count)} passed to method "${method}" but it requires ${String(required)}`,
      )
    return params.map((_, index) => given[index] as unknown)
  }
  if (typeof given !== 'object' || given === null)
    throw new Refusal(CODE.invalidParams, `invalid request arguments: ${spelled(given)}`)
  const named = new Map<string, unknown>(Object.entries(given))
  for (const name of params.slice(0, required))
    if (!named.has(name))
      throw new Refusal(CODE.invalidParams, `method "${method}" requires parameter "${name}"`)
  for (const name of named.keys())
    if (!params.includes(name) && isOpen !== true)
      throw new Refusal(CODE.invalidParams, `method "${method}" does not take parameter "${name}"`)
  return params.map((name) => named.get(name))
}

const refused = (message: string): Refusal => new Refusal(CODE.badRequest, message)

/**
 * Returns a height, an index or a number of items. Clients may send it as a text, and fractions are cut off, as in the reference server.
 * @throws Refusal.
 */
export function numberIn(value: unknown, fallback?: number): number {
  if (value === undefined && fallback !== undefined) return fallback
  const number =
    typeof value === 'number' || typeof value === 'boolean'
      ? Math.trunc(Number(value))
      : typeof value === 'string' && /^\s*[+-]?\d{1,20}\s*$/.test(value)
        ? Number(value)
        : Number.NaN
  if (!(number >= 0)) throw refused(`${spelled(value)} should be a non-negative integer`)
  return number
}

/** Returns a boolean. @param name of the parameter, for the error. @throws Refusal. */
export function booleanIn(value: unknown, name: string): boolean {
  if (value === undefined || value === false || value === 0) return false
  if (value === true || value === 1) return true
  throw refused(`"${name}" must be a boolean`)
}

const isHash = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value)

/** Returns a txid in lower case. @throws Refusal. */
export function txidIn(value: unknown): string {
  if (!isHash(value)) throw refused(`${spelled(value)} should be a transaction hash`)
  return value.toLowerCase()
}

/** Returns a script hash of the protocol in lower case. @throws Refusal. */
export function scriptHashIn(value: unknown): string {
  if (!isHash(value)) throw refused(`${spelled(value)} is not a valid script hash`)
  return value.toLowerCase()
}

/** Returns bytes in hexadecimal. @throws Refusal. */
export function hexIn(value: unknown): string {
  if (typeof value !== 'string' || !/^(?:[0-9a-f]{2})*$/i.test(value))
    throw refused(`${spelled(value)} should be a hex string`)
  return value
}
