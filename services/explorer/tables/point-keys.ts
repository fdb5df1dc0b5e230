import { hashSet } from '../../../pipelines/tables/keys.js'

/** SQL for a set of `locationPrefix` in a query by keys, for the right side of an IN. */
export const KEYS8 = hashSet('{keys:String}', 8)

const WORDS = [1, 5, 9].map((at) => `reinterpretAsUInt32(substring(key, ${String(at)}, 4))`)

/** SQL for a set of `blockTxKey`, for the right side of `(height, block_tag, tx_index) IN`. */
export const BLOCK_TX_KEYS = `(SELECT ${WORDS.join(', ')} FROM (SELECT unhex(arrayJoin(splitByChar(',', {keys:String}))) AS key))`

const words = Buffer.alloc(12)

interface Location {
  readonly height: number
  readonly blockTag: number
  readonly txIndex: number
}

/** Returns the key of a transaction in a block: its location as three little-endian words in hex. */
export function blockTxKey({ height, blockTag, txIndex }: Location): string {
  words.writeUInt32LE(height)
  words.writeUInt32LE(blockTag, 4)
  words.writeUInt32LE(txIndex, 8)
  return words.toString('hex')
}

/** Returns the key of `tx_locations` for a txid. Transactions of other txids may have the same one. */
export function locationPrefix(txid: string): string {
  return txid.slice(0, 16)
}

/** Returns the key of `spends` for the txid of the spent outputs. */
export function outputPrefix(txid: string): string {
  return txid.slice(0, 40)
}
