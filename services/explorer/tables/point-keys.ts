/** Returns SQL that selects rows of `block_txs` by `blockTxKey`. The heights name the shards that have them. */
export function blockTxsFilter(keys: readonly string[]): string {
  const locations = keys.map((key) => {
    const bytes = Buffer.from(key, 'hex')
    return [0, 4, 8].map((at) => bytes.readUInt32LE(at))
  })
  const heights = new Set(locations.map(([height]) => height))
  const tuples = locations.map((each) => `(${each.join(', ')})`)
  return `height IN (${[...heights].join(', ')}) AND (height, block_tag, tx_index) IN (${tuples.join(', ')})`
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

/** Returns the key of `tx_locations` for a txid. Transactions of other txids may have the same one. */
export function locationPrefix(txid: string): string {
  return txid.slice(0, 16)
}

/** Returns the key of `spends` for the txid of the spent outputs. */
export function outputPrefix(txid: string): string {
  return txid.slice(0, 40)
}
