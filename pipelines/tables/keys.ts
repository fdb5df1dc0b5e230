import { Defect } from '../errors.js'

/** The number of keys per query: 325 kB of its text. A parameter in the URL could contain 2,016. */
const MAX_KEYS = 5_000
/**
 * The number of keys up to which a set is a list of literals, and above which it is one literal (see `hashSet`). A single server
 * compares a few literals faster, but 5,000 literals at two thirds of the speed of `hashSet`.
 */
const MAX_LITERALS = 256

/** Runs queries: a database, or a wrapper that may refuse them. */
export interface Querier {
  /** True if the tables are known to be distributed over shards, which receive only their own keys of a list of literals. */
  readonly isSharded?: boolean
  query<T>(sql: string, params?: Readonly<Record<string, unknown>>): Promise<T[]>
}

/**
 * Returns SQL for a set of hashes, for the right side of an IN. It is a single literal, because parsing many literals takes the
 * server longer than comparing. All shards receive the whole set.
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

/** Stands for the keys that `queryByKeys` passes, on the right side of an IN. */
export const KEYS = '{keys:32}'

/** The same for keys of 20 bytes: script hashes, and the first bytes of the txids of spent outputs. */
export const KEYS20 = '{keys:20}'

/** The same for keys of 8 bytes: the first bytes of txids. */
export const KEYS8 = '{keys:8}'

/** SQL for the heights in the parameter `heights`, which are joined by commas, for the right side of an IN. */
export const HEIGHTS = "(SELECT toUInt32(arrayJoin(splitByChar(',', {heights:String}))))"

/** Runs queries whose rows are returned as the bytes of RowBinary. */
export interface ByteQuerier {
  readonly isSharded?: boolean
  bytes(sql: string, params?: Readonly<Record<string, unknown>>): Promise<Buffer>
}

/**
 * Returns rows by any number of keys. Other queries must not have parameters that grow with the data.
 * @param sql contains KEYS, KEYS20 or KEYS8. It runs once per slice of distinct keys, so it must not aggregate over different keys.
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
    for (const row of await db.query<T>(withKeys(sql, slice, db.isSharded), params)) rows.push(row)
  return rows
}

/** Divides distinct keys into the keys of one query each. @throws Defect for an invalid key. */
export function keySlices(keys: Iterable<string>): string[][] {
  const distinct = [...new Set(keys)]
  const slices: string[][] = []
  for (let at = 0; at < distinct.length; at += MAX_KEYS) {
    const slice = distinct.slice(at, at + MAX_KEYS)
    if (!slice.every((key) => /^[0-9a-f]*$/.test(key))) throw new Defect('a key is not lower-case hex')
    slices.push(slice)
  }
  return slices
}

/** Returns SQL in which some keys, as of `keySlices`, replace KEYS, KEYS20 and KEYS8. */
export function withKeys(sql: string, keys: readonly string[], isSharded = false): string {
  const set = (bytes: number): string =>
    isSharded || keys.length <= MAX_LITERALS
      ? `(${keys.map((key) => `x'${key}'`).join(', ')})`
      : hashSet(`'${keys.join(',')}'`, bytes)
  return sql.replaceAll(/\{keys:(\d+)\}/g, (_, bytes: string) => set(Number(bytes)))
}
