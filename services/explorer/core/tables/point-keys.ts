/** Returns SQL that selects rows of `block_txs` by `blockTxKey`. The heights name the shards that have them. */
export function blockTxsFilter(keys: readonly string[]): string {
  const locations = keys.map(locationIn)
  const heights = new Set(locations.map(({ height }) => height))
  const tuples = locations.map((each) => `(${[each.height, each.blockTag, each.txIndex].join(', ')})`)
  return `height IN (${[...heights].join(', ')}) AND (height, block_tag, tx_index) IN (${tuples.join(', ')})`
}

/** Returns SQL that selects rows of `blocks` by `blockKey`. The heights name the shards that have them. */
export function blocksFilter(keys: readonly string[]): string {
  const places = keys.map((key) => [Buffer.from(key, 'hex').readUInt32LE(), key.slice(8)] as const)
  const heights = new Set(places.map(([height]) => height))
  const tuples = places.map(([height, hash]) => `(${String(height)}, x'${hash}')`)
  return `height IN (${[...heights].join(', ')}) AND (height, hash) IN (${tuples.join(', ')})`
}

/** Returns SQL that selects rows of `script_txs` by `scriptTxKey`. The scripts name the shards that have them. */
export function scriptTxsFilter(keys: readonly string[]): string {
  const places = keys.map((key) => [Buffer.from(key, 'hex').readUInt32LE(), key.slice(8)] as const)
  const scripts = new Set(places.map(([, script]) => `x'${script}'`))
  const tuples = places.map(([ordinal, script]) => `(x'${script}', ${String(ordinal)})`)
  return `script_hash IN (${[...scripts].join(', ')}) AND (script_hash, ordinal) IN (${tuples.join(', ')})`
}

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

/** Returns the location that a `blockTxKey` is of. */
export function locationIn(key: string): Location {
  const bytes = Buffer.from(key, 'hex')
  return { height: bytes.readUInt32LE(), blockTag: bytes.readUInt32LE(4), txIndex: bytes.readUInt32LE(8) }
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

/** Returns the key of `tx_locations` for a txid. Several txids may have one key. */
export function locationPrefix(txid: string): string {
  return txid.slice(0, 16)
}

/** Returns the key of `spends` for the txid of the spent outputs. */
export function outputPrefix(txid: string): string {
  return txid.slice(0, 40)
}
