import { KEYS, type Queried, queryByKeys } from './keys.js'

/** What a txid fixes. */
export interface Body {
  /** Serialised without witnesses. */
  readonly body: Buffer
  /** What it spends; see `decodePrevouts`. */
  readonly prevouts: Buffer
}

/** Reads transactions by their txids, those that are there. */
export async function readBodies(db: Queried, txids: Iterable<string>): Promise<Map<string, Body>> {
  const sql = `SELECT lower(hex(txid)) AS id, base64Encode(body) AS bytes, base64Encode(prevouts) AS coins
    FROM tx_bodies WHERE txid IN ${KEYS}`
  const rows = await queryByKeys<Record<'id' | 'bytes' | 'coins', string>>(db, sql, txids)
  return new Map(
    rows.map(({ id, bytes, coins }) => {
      return [id, { body: Buffer.from(bytes, 'base64'), prevouts: Buffer.from(coins, 'base64') }]
    }),
  )
}
