import { MAX_TX_BYTES } from '../core/commands/send-transaction.js'
import type { RawArgument } from '../core/reads/arguments.js'

/** The maximum size of a body: a transaction to send, in hex, with the JSON around it. Proxies must let it pass. */
export const MAX_BODY = 2 * MAX_TX_BYTES + 1_024
/** The maximum size of the body of a read: far more than its arguments need. */
export const MAX_READ_BODY = 256 * 1024
export const BAD_BODY = 'body must be a JSON object'
export const BAD_TX_BODY = `${BAD_BODY}, or the transaction in hexadecimal`

/** Returns the members of a JSON object as arguments; undefined for another body. Null counts as not given. */
export function argumentsOf(body: Buffer): ((name: string) => RawArgument) | undefined {
  const object = objectIn(body)
  if (object === undefined) return undefined
  return (name) => {
    const value = Object.hasOwn(object, name) ? object[name] : undefined
    if (value === undefined || value === null) return undefined
    return typeof value === 'string' || Array.isArray(value) ? value : JSON.stringify(value)
  }
}

/** Returns a body of hexadecimal digits as an argument; undefined for another body. */
export function hexArgument(body: Buffer): ((name: string) => RawArgument) | undefined {
  const text = body.toString('latin1').trim()
  return /^[0-9a-f]+$/i.test(text) ? (name) => (name === 'hex' ? text : undefined) : undefined
}

function objectIn(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString())
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    return isObject ? (parsed as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}
