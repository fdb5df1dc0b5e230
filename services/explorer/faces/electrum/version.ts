import { CODE, Refusal } from './refusal.js'
import { spelled } from './values.js'

/** A version of the protocol as its numbers, highest first. */
export type Version = readonly number[]

/** The versions of the protocol that the server speaks. */
export const PROTOCOL = { least: '1.4', most: '1.6.0' } as const

/** The version of a client that has not negotiated one. */
export const LEAST = parsed(PROTOCOL.least) as Version
const MOST = parsed(PROTOCOL.most) as Version

/** Parses a version, such as `1.4.2`; undefined for another value. */
export function parsed(text: unknown): Version | undefined {
  if (typeof text !== 'string' || !/^\d{1,4}(?:\.\d{1,4}){0,3}$/.test(text)) return undefined
  return text.split('.').map(Number)
}

/** Compares two versions: negative if the first one is lower. */
export function compare(one: Version, other: Version): number {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** Returns the highest version that client and server speak. @param requested a version, or the lowest and highest one. @throws Refusal. */
export function negotiated(requested: unknown = PROTOCOL.least): Version {
  const range: readonly unknown[] = Array.isArray(requested)
    ? requested
    : [requested ?? PROTOCOL.least, requested ?? PROTOCOL.least]
  const [least, most] = range.map(parsed)
  if (range.length === 2 && least !== undefined && most !== undefined && compare(least, most) <= 0) {
    const highest = compare(most, MOST) < 0 ? most : MOST
    const isNamed = compare(most, MOST) === 0
    if (compare(highest, LEAST) >= 0 && compare(highest, least) >= 0) return isNamed ? most : highest
  }
  throw new Refusal(CODE.badRequest, `unsupported protocol version: ${spelled(requested)}`)
}
