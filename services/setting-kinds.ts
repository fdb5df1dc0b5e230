import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { UsageError } from '../pipelines/errors.js'
import { parseLogUrl } from '../pipelines/log/address.js'

/** The single definition of a setting: its parser, its line in the README and its redaction are derived from it. */
export interface Setting<T> {
  readonly env: string
  readonly type: string
  readonly fallback: string
  readonly secret: boolean
  readonly doc: string
  /**
   * Parses the value of the variable.
   * @param text undefined if the variable is not set or empty.
   * @throws UsageError that says what is allowed; it never contains the value of a secret.
   */
  parse(text: string | undefined): T
}

/** Declares an integer within a range (both inclusive). */
export function integer(
  env: string,
  range: { least: number; most: number; fallback: number },
  doc: string,
): Setting<number> {
  const { least, most, fallback } = range
  const type = `integer ${String(least)} to ${String(most)}`
  const parse = (text: string | undefined): number => {
    if (text === undefined) return fallback
    const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= most)) throw new UsageError(`must be an ${type}, got '${text}'`)
    return value
  }
  return { env, type, fallback: String(fallback), secret: false, doc, parse }
}

/** Declares a port. */
export const port = (env: string, fallback: number, doc: string): Setting<number> =>
  integer(env, { least: 0, most: 65_535, fallback }, doc)

/** Declares a port that is not listened on unless it is set. */
export const optionalPort = (env: string, doc: string): Setting<number | undefined> =>
  unlessUnset(port(env, 0, doc))

/** Declares a number without a default. */
export function unlessUnset(setting: Setting<number>): Setting<number | undefined> {
  const parse = (value: string | undefined): number | undefined =>
    value === undefined ? undefined : setting.parse(value)
  return { ...setting, fallback: '', parse }
}

/** Declares a text that matches a pattern. */
export function text(
  env: string,
  shape: { matches: RegExp; type: string; fallback: string },
  doc: string,
): Setting<string> {
  const parse = (value: string | undefined): string => {
    if (value === undefined) return shape.fallback
    if (!shape.matches.test(value)) throw new UsageError(`must be a ${shape.type}, got '${value}'`)
    return value
  }
  return { env, type: shape.type, fallback: shape.fallback, secret: false, doc, parse }
}

/** Declares a path, which is relative to the working directory. */
export function path(env: string, fallback: string, doc: string): Setting<string> {
  return { env, type: 'path', fallback, secret: false, doc, parse: (value) => resolve(value ?? fallback) }
}

/** Declares a setting without a default. @param read converts the text; it throws UsageError as `parse` does. */
export function optional(
  { env, type, secret = false }: { env: string; type: string; secret?: boolean },
  doc: string,
  read: (value: string) => string = (value) => value,
): Setting<string | undefined> {
  const parse = (raw: string | undefined): string | undefined => (raw === undefined ? undefined : read(raw))
  return { env, type, fallback: '', secret, doc, parse }
}

/** Declares a path without a default. */
export const optionalPath = (env: string, doc: string): Setting<string | undefined> =>
  optional({ env, type: 'path' }, doc, (value) => resolve(value))

/** Declares a list of languages as BCP 47 tags, separated by commas. */
export function languages(env: string, doc: string): Setting<readonly string[] | undefined> {
  const parse = (value: string | undefined): readonly string[] | undefined => {
    try {
      return value === undefined
        ? undefined
        : Intl.getCanonicalLocales(value.split(',').map((tag) => tag.trim()))
    } catch {
      throw new UsageError(`must be languages, such as en,de,pt-BR, got '${value ?? ''}'`)
    }
  }
  return { env, type: 'languages', fallback: '', secret: false, doc, parse }
}

/** Declares a secret, which is never shown. */
export const secret = (env: string, doc: string): Setting<string | undefined> =>
  optional({ env, type: 'secret', secret: true }, doc)

/** Declares a secret that clients send in a header: only printable ASCII has an encoding that both sides agree on. */
export function headerSecret(env: string, doc: string): Setting<string | undefined> {
  const type = 'secret (printable ASCII)'
  return optional({ env, type, secret: true }, doc, (value) => {
    if (!/^[ -~]+$/.test(value)) throw new UsageError(`must be a ${type}`)
    return value
  })
}

/** Declares a URL. It may contain credentials, so errors never contain its value, and `describe` redacts them. */
export function url(env: string, protocols: readonly string[], doc: string): Setting<string | undefined> {
  const type = `URL (${protocols.join(', ')})`
  return optional({ env, type }, doc, (value) => {
    if (!hasProtocol(value, protocols)) throw new UsageError(`must be a ${type}`)
    return value
  })
}

/** Declares one or several URLs, separated by commas, like `url`. */
export function urls(env: string, protocols: readonly string[], doc: string): Setting<string | undefined> {
  const type = `URLs (${protocols.join(', ')})`
  return optional({ env, type }, doc, (value) => {
    if (!value.split(',').every((each) => hasProtocol(each.trim(), protocols)))
      throw new UsageError(`must be ${type}, separated by commas`)
    return value
  })
}

function hasProtocol(url: string, protocols: readonly string[]): boolean {
  return URL.canParse(url) && protocols.includes(new URL(url).protocol.slice(0, -1))
}

/** Declares a list of networks in CIDR notation, separated by commas. */
export function networks(env: string, doc: string): Setting<readonly string[]> {
  const type = 'networks (address/bits)'
  const parse = (value: string | undefined): readonly string[] => {
    const list = (value ?? '').split(',').map((each) => each.trim())
    const isNetwork = (each: string): boolean => {
      const [address = '', bits = '', ...rest] = each.split('/')
      const most = isIP(address) === 4 ? 32 : 128
      return isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most && rest.length === 0
    }
    if (value === undefined) return []
    const invalid = list.find((each) => !isNetwork(each))
    if (invalid !== undefined) throw new UsageError(`must be ${type}, separated by commas, got '${invalid}'`)
    return list
  }
  return { env, type, fallback: '', secret: false, doc, parse }
}

export function logUrl(env: string, doc: string): Setting<string | undefined> {
  return optional({ env, type: 'URL (sqlite, kafka)' }, doc, (value) => {
    try {
      parseLogUrl(value)
    } catch (error) {
      throw new UsageError(error instanceof Error ? error.message : String(error))
    }
    return value
  })
}

/** Declares one of several values. */
export function choice<T extends string>(
  env: string,
  values: readonly T[],
  doc: string,
): Setting<T | undefined>
export function choice<T extends string>(
  env: string,
  values: readonly T[],
  doc: string,
  fallback: T,
): Setting<T>
export function choice<T extends string>(
  env: string,
  values: readonly T[],
  doc: string,
  fallback?: T,
): Setting<T | undefined> {
  const type = values.join(', ')
  const parse = (value: string | undefined): T | undefined => {
    if (value === undefined) return fallback
    const match = values.find((one) => one === value)
    if (match === undefined) throw new UsageError(`must be one of ${type}, got '${value}'`)
    return match
  }
  return { env, type, fallback: fallback ?? '', secret: false, doc, parse }
}
