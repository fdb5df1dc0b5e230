import { ByteReader, ByteWriter } from './bytes.js'
import { digest, hexOf, internalBytes, reverseHex, sha256d } from './hash.js'
import type { Network } from './networks.js'
import { readTx, type SerializedTx, type Tx, weightOf } from './transaction.js'

export const HEADER_SIZE = 80

export interface BlockHeader {
  /** Unsigned, like every 32-bit field; the node prints this one signed. */
  readonly version: number
  readonly prevHash: string
  readonly merkleRoot: string
  /** Unix seconds. */
  readonly time: number
  readonly bits: number
  readonly nonce: number
}

/** Identifies a block. */
export interface BlockId {
  readonly height: number
  readonly hash: string
}

/**
 * Returns the tag of a block: the last four bytes of its hash in display order. Rows of the tables name their block by height and
 * tag. The other end of a hash is no choice, because proof of work makes it zero.
 */
export function blockTag(hash: string): number {
  return Number.parseInt(hash.slice(56), 16)
}

export interface Block {
  readonly header: BlockHeader
  readonly hash: string
  readonly txs: readonly SerializedTx[]
  readonly size: number
  readonly strippedSize: number
  readonly weight: number
}

export function parseHeader(bytes: Uint8Array): BlockHeader {
  const reader = new ByteReader(bytes.subarray(0, HEADER_SIZE))
  return {
    version: reader.u32(),
    prevHash: reverseHex(reader.bytes(32)),
    merkleRoot: reverseHex(reader.bytes(32)),
    time: reader.u32(),
    bits: reader.u32(),
    nonce: reader.u32(),
  }
}

export function serializeHeader(header: BlockHeader): Buffer {
  return new ByteWriter(HEADER_SIZE)
    .u32(header.version)
    .bytes(internalBytes(header.prevHash))
    .bytes(internalBytes(header.merkleRoot))
    .u32(header.time)
    .u32(header.bits)
    .u32(header.nonce)
    .finish()
}

/** Serialises a block from the bytes of its header and of its transactions. */
export function serializeBlock(header: Uint8Array, txs: readonly Uint8Array[]): Buffer {
  return Buffer.concat([header, new ByteWriter(9).compactSize(txs.length).finish(), ...txs])
}

/** Returns the hash of a header in display order. @param header may be a complete block: only its first 80 bytes are used. */
export function blockHash(header: Uint8Array, { blockHash: digests }: Network): string {
  return reverseHex(digest(header.subarray(0, HEADER_SIZE), digests))
}

/** Returns whether the header of a raw block has the given hash and parent, which are in display order. */
export function isBlock(
  { raw, hash, prevHash }: Readonly<Record<'raw' | 'hash' | 'prevHash', Uint8Array>>,
  network: Network,
): boolean {
  if (raw.length < HEADER_SIZE || blockHash(raw, network) !== hexOf(hash)) return false
  return parseHeader(raw).prevHash === hexOf(prevHash)
}

/** Parses the part of a block that does not depend on the network. @throws RangeError for bytes that are not exactly one block. */
export function readBlock(raw: Uint8Array): Omit<Block, 'hash' | 'weight'> {
  const reader = new ByteReader(raw)
  const header = parseHeader(reader.bytes(HEADER_SIZE))
  const count = reader.compactSize()
  const overhead = reader.offset
  const txs: SerializedTx[] = []
  let strippedSize = overhead
  for (let index = 0; index < count; index++) {
    const tx = readTx(reader)
    strippedSize += tx.strippedSize
    txs.push(tx)
  }
  if (reader.remaining > 0) throw new RangeError(`${String(reader.remaining)} bytes after the block`)
  return { header, txs, size: raw.length, strippedSize }
}

/** Parses a block. @throws RangeError for bytes that are not exactly one block. */
export function parseBlock(raw: Uint8Array, network: Network): Block {
  const block = readBlock(raw)
  return { ...block, hash: blockHash(raw, network), weight: weightOf(block, network) }
}

/**
 * Returns the merkle root of txids (or wtxids) in the order of the block. On a level with an odd count the last hash is paired with
 * itself.
 * @throws RangeError without transactions.
 */
export function merkleRoot(txids: readonly string[]): string {
  if (txids.length === 0) throw new RangeError('a block without transactions has no merkle root')
  let level = txids.map(internalBytes)
  while (level.length > 1) level = levelAbove(level)
  return reverseHex(level[0] as Buffer)
}

function levelAbove(level: readonly Buffer[]): Buffer[] {
  const above: Buffer[] = []
  for (let index = 0; index < level.length; index += 2) {
    const left = level[index] as Buffer
    above.push(sha256d(Buffer.concat([left, level[index + 1] ?? left])))
  }
  return above
}

/**
 * Returns the hashes with which a transaction is hashed up to the merkle root, lowest level first, in display order.
 * @param txids of all transactions, in the order of the block.
 * @throws RangeError for an index that the block does not have.
 */
export function merkleBranch(txids: readonly string[], index: number): string[] {
  if (txids[index] === undefined) throw new RangeError(`the block has no transaction ${String(index)}`)
  const branch: string[] = []
  let level = txids.map(internalBytes)
  for (let at = index; level.length > 1; at >>= 1) {
    branch.push(reverseHex(level[at ^ 1] ?? (level[at] as Buffer)))
    level = levelAbove(level)
  }
  return branch
}

/**
 * Returns the instruction that pushes a height. Since BIP 34, the script of a coinbase begins with the height of its block, so that no
 * two blocks of a chain have the same coinbase.
 */
export function heightPush(height: number): Buffer {
  if (height <= 16) return Buffer.from([height === 0 ? 0 : 0x50 + height])
  const bytes: number[] = []
  for (let rest = height; rest > 0; rest = Math.floor(rest / 256)) bytes.push(rest % 256)
  // The top bit of a script number is its sign.
  if ((bytes.at(-1) ?? 0) >= 0x80) bytes.push(0)
  return Buffer.from([bytes.length, ...bytes])
}

/** Returns whether a lower block of a chain may have the same coinbase as a block: unless its script begins with the height. */
export function isRepeatable({ inputs: [input] }: Pick<Tx, 'inputs'>, height: number): boolean {
  const push = heightPush(height)
  return input !== undefined && !push.equals(input.scriptSig.subarray(0, push.length))
}
