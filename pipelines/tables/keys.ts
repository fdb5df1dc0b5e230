import { Defect } from '../errors.js'

/** Keys of one query, 325 kB of its text: a parameter in the URL holds 2,016 of them. */
const MOST_KEYS = 5_000

/** Runs queries: a database, or what stands before one and may refuse. */
export interface Querier {
  query<T>(sql: string, params?: Readonly<Record<string, unknown>>): Promise<T[]>
}

/**
 * Returns a set of 32-byte hashes as the right side of an IN: one literal, for parsing many costs the server more than comparing.
 * @param list SQL of a string: hashes as lower-case hex, joined by commas; one at least.
 */
export function hashSet(list: string): string {
  return `(SELECT toFixedString(unhex(arrayJoin(splitByChar(',', ${list}))), 32))`
}

/** The keys that `queryByKeys` gives, as the right side of an IN. */
export const KEYS = hashSet('{keys:String}')

/** The heights of a parameter `heights`, joined by commas, as the right side of an IN. */
export const HEIGHTS = "(SELECT toUInt32(arrayJoin(splitByChar(',', {heights:String}))))"

/**
 * Asks for rows by any number of keys: the one way, since no parameter may grow with the data.
 * @param sql compares with KEYS; asked once per slice of distinct keys, so it must not add up over different keys.
 * @param keys hex of 32 bytes each.
 * @returns the rows of all slices, each in the query's order; none, without a query, where there are no keys.
 */
export async function queryByKeys<T>(
  db: Querier,
  sql: string,
  keys: Iterable<string>,
  params: Readonly<Record<string, unknown>> = {},
): Promise<T[]> {
  const distinct = [...new Set(keys)]
  const rows: T[] = []
  for (let at = 0; at < distinct.length; at += MOST_KEYS) {
    const slice = distinct.slice(at, at + MOST_KEYS).join(',')
    if (!/^[0-9a-f,]*$/.test(slice)) throw new Defect('a key is not lower-case hex')
    for (const row of await db.query<T>(sql.replaceAll('{keys:String}', `'${slice}'`), params)) rows.push(row)
  }
  return rows
}
