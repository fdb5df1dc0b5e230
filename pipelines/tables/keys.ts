import { Defect } from '../errors.js'

/** The number of keys per query: 325 kB of its text. A parameter in the URL could contain 2,016. */
const MAX_KEYS = 5_000

/** Runs queries: a database, or a wrapper that may refuse them. */
export interface Querier {
  query<T>(sql: string, params?: Readonly<Record<string, unknown>>): Promise<T[]>
}

/**
 * Returns SQL for a set of hashes, for the right side of an IN. It is a single literal, because parsing many literals takes the
 * server longer than comparing.
 * @param list SQL of a string: hashes as lower-case hex, joined by commas, at least one.
 * @param bytes the length of each hash.
 */
export function hashSet(list: string, bytes = 32): string {
  return `(SELECT toFixedString(unhex(arrayJoin(splitByChar(',', ${list}))), ${String(bytes)}))`
}

/** Returns SQL for a set of unsigned integers, at least one, for the right side of an IN: a single literal, as in `hashSet`. */
export function integerSet(integers: readonly (number | bigint)[]): string {
  return `(SELECT toUInt64(arrayJoin(splitByChar(',', '${integers.join(',')}'))))`
}

/** SQL for the keys that `queryByKeys` passes, for the right side of an IN. */
export const KEYS = hashSet('{keys:String}')

/** The same for keys of 20 bytes: script hashes, and the first bytes of the txids of spent outputs. */
export const KEYS20 = hashSet('{keys:String}', 20)

/** SQL for the heights in the parameter `heights`, which are joined by commas, for the right side of an IN. */
export const HEIGHTS = "(SELECT toUInt32(arrayJoin(splitByChar(',', {heights:String}))))"

/** Runs queries whose rows are returned as the bytes of RowBinary. */
export interface ByteQuerier {
  bytes(sql: string, params?: Readonly<Record<string, unknown>>): Promise<Buffer>
}

/**
 * Returns rows by any number of keys. Other queries must not have parameters that grow with the data.
 * @param sql contains KEYS or KEYS20. It runs once per slice of distinct keys, so it must not aggregate over different keys.
 * @param keys as lower-case hex, of the length that the SQL expects.
 * @returns the rows of all slices, each slice in the order of the query. No query runs if there are no keys.
 * @throws Defect for an invalid key; as `db.query`.
 */
export async function queryByKeys<T>(
  db: Querier,
  sql: string,
  keys: Iterable<string>,
  params: Readonly<Record<string, unknown>> = {},
): Promise<T[]> {
  const rows: T[] = []
  for (const slice of keySlices(keys))
    for (const row of await db.query<T>(sql.replaceAll('{keys:String}', `'${slice}'`), params)) rows.push(row)
  return rows
}

/** Returns distinct keys as the texts that replace the parameter in `KEYS`, one for each query. @throws Defect for an invalid key. */
export function keySlices(keys: Iterable<string>): string[] {
  const distinct = [...new Set(keys)]
  const slices: string[] = []
  for (let at = 0; at < distinct.length; at += MAX_KEYS) {
    const slice = distinct.slice(at, at + MAX_KEYS).join(',')
    if (!/^[0-9a-f,]*$/.test(slice)) throw new Defect('a key is not lower-case hex')
    slices.push(slice)
  }
  return slices
}
