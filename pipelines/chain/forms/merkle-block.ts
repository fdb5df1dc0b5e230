import { ByteWriter } from '../bytes.js'
import { internalBytes, sha256d } from '../hash.js'

/**
 * Returns the message `merkleblock` (BIP 37) that proves that a block contains a transaction: the header, the number of transactions,
 * the hashes of the parts of the tree that do not lead to the transaction, and the bits that say which parts lead to it.
 * @param txids of all transactions, in the order of the block.
 * @throws RangeError for an index that the block does not have.
 */
export function merkleBlock(header: Uint8Array, txids: readonly string[], index: number): Buffer {
  if (txids[index] === undefined) throw new RangeError(`the block has no transaction ${String(index)}`)
  const levels = levelsOf(txids.map(internalBytes))
  const hashes: Buffer[] = []
  const bits: boolean[] = []
  const add = (level: number, at: number): void => {
    const leads = index >> level === at
    bits.push(leads)
    if (level === 0 || !leads) {
      hashes.push(levels[level]?.[at] as Buffer)
      return
    }
    add(level - 1, at * 2)
    if (at * 2 + 1 < (levels[level - 1]?.length ?? 0)) add(level - 1, at * 2 + 1)
  }
  add(levels.length - 1, 0)
  const writer = new ByteWriter().bytes(header).u32(txids.length).compactSize(hashes.length)
  for (const each of hashes) writer.bytes(each)
  return writer.sized(packed(bits)).finish()
}

/** Returns the hashes of a merkle tree by level, lowest first. */
function levelsOf(leaves: readonly Buffer[]): (readonly Buffer[])[] {
  const levels = [leaves]
  for (let level = leaves; level.length > 1;) {
    const below = level
    level = Array.from({ length: Math.ceil(below.length / 2) }, (_, at) => {
      const left = below[at * 2] as Buffer
      return sha256d(Buffer.concat([left, below[at * 2 + 1] ?? left]))
    })
    levels.push(level)
  }
  return levels
}

/** Packs bits into bytes, the first one into the lowest bit. */
function packed(bits: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8))
  for (const [at, bit] of bits.entries()) if (bit) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7))
  return bytes
}
