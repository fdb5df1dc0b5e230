import { hashSet } from '../../../pipelines/tables/keys.js'

/** SQL for a set of `locationPrefix` in a query by keys, for the right side of an IN. */
export const KEYS8 = hashSet('{keys:String}', 8)

const WORDS = [1, 5, 9].map((at) => `reinterpretAsUInt32(substring(key, ${String(at)}, 4))`)

/** SQL for a set of `blockTxKey`, for the right side of `(height, block_tag, tx_index) IN`. */
export const BLOCK_TX_KEYS = `(SELECT ${WORDS.join(', ')} FROM (SELECT unhex(arrayJoin(splitByChar(',', {keys:String}))) AS key))`

/** SQL for a set of `blockKey`, for the right side of `(height, hash) IN`. */
export const BLOCK_KEYS = `(SELECT ${WORDS[0] ?? ''}, toFixedString(substring(key, 5, 32), 32)
  FROM (SELECT unhex(arrayJoin(splitByChar(',', {keys:String}))) AS key))`

/** SQL for a set of `scriptTxKey`, for the right side of `(script_hash, ordinal) IN`. */
export const SCRIPT_TX_KEYS = `(SELECT toFixedString(substring(key, 5, 20), 20), ${WORDS[0] ?? ''}
  FROM (SELECT unhex(arrayJoin(splitByChar(',', {keys:String}))) AS key))`

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

/** Returns the key of a row of `blocks`: its height as a little-endian word, and its hash, in hex. */
export function blockKey(height: number, hash: string): string {
  return word(height) + hash
}

/** Returns the key of a row of `script_txs`: its ordinal as a little-endian word, and the hash of its script, in hex. */
export function scriptTxKey(script: string, ordinal: number): string {
  return word(ordinal) + script
}

function word(value: number): string {
  words.writeUInt32LE(value)
  return words.toString('hex', 0, 4)
}

/** Returns the key of `tx_locations` for a txid. Transactions of other txids may have the same one. */
export function locationPrefix(txid: string): string {
  return txid.slice(0, 16)
}

/** Returns the key of `spends` for the txid of the spent outputs. */
export function outputPrefix(txid: string): string {
  return txid.slice(0, 40)
}
