import { LRUCache } from 'lru-cache'
import { setImmediate as turn } from 'node:timers/promises'
import { internalBytes, reverseHex, sha256d } from '../../../../../pipelines/chain/hash.js'
import type { CanonicalBlocks } from '../../../core/tables/canonical-blocks.js'

/** The hashes of headers under one node of level `LEVEL`. */
const LEVEL = 11
const CHUNK = 2 ** LEVEL

/** The proof that a header belongs to a chain: the Merkle root of the hashes of its headers, and the branch to it, lowest level first. */
export interface HeaderProof {
  readonly root: string
  readonly branch: readonly string[]
}

/** The nodes of level `LEVEL` by the hash of their last block, which commits to all before it: 100 bytes for 2,048 blocks. */
const nodes = new LRUCache<string, Buffer>({ max: 8_192 })

/**
 * Proves the header at a height among the headers up to another height. On a level with an odd count the last hash is paired with itself.
 * @param last at least `height`; the chain must have it.
 */
export async function headerProof(
  blocks: CanonicalBlocks,
  height: number,
  last: number,
): Promise<HeaderProof> {
  const upper: Buffer[] = []
  let branch: Buffer[] = []
  const isSingle = last < CHUNK
  for (let from = 0; from <= last; from += CHUNK) {
    const to = Math.min(from + CHUNK - 1, last)
    const isOwn = height >= from && height <= to
    const isFull = to - from === CHUNK - 1
    const key = isFull ? blocks.hashAt(to) : undefined
    const cached = key === undefined || isOwn ? undefined : nodes.get(key)
    if (cached !== undefined) {
      upper.push(cached)
      continue
    }
    const hashes = Array.from({ length: to - from + 1 }, (_, index) =>
      internalBytes(blocks.hashAt(from + index)),
    )
    const reduced = reduce(hashes, isOwn ? height - from : undefined, isSingle ? undefined : LEVEL)
    if (isOwn) branch = reduced.branch
    if (key !== undefined) nodes.set(key, reduced.root)
    upper.push(reduced.root)
    if (upper.length % 8 === 0) await turn()
  }
  const top = reduce(upper, Math.floor(height / CHUNK), undefined)
  return { root: reverseHex(top.root), branch: [...branch, ...top.branch].map(reverseHex) }
}

/** Returns the node above hashes, and the branch from one of them. @param levels the number of levels; undefined until one hash is left. */
function reduce(
  hashes: readonly Buffer[],
  index: number | undefined,
  levels: number | undefined,
): { readonly root: Buffer; readonly branch: Buffer[] } {
  const branch: Buffer[] = []
  let level = hashes
  let at = index ?? 0
  for (let done = 0; levels === undefined ? level.length > 1 : done < levels; done++) {
    const own = level[at] as Buffer
    if (index !== undefined) branch.push(level[at ^ 1] ?? own)
    const above: Buffer[] = []
    for (let pair = 0; pair < level.length; pair += 2) {
      const left = level[pair] as Buffer
      above.push(sha256d(Buffer.concat([left, level[pair + 1] ?? left])))
    }
    level = above
    at >>= 1
  }
  return { root: level[0] as Buffer, branch }
}
