import { createHash, type Hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { ReadContext } from '../../../core/reads/read.js'
import { lastOfScript, locatedOf, pageOfScript } from '../../../core/reads/script.js'

/** The confirmed part of a history, which later blocks only append to. */
interface Digested {
  /** The number of its transactions. */
  readonly count: number
  /** The block of the last one: while it is on the chain, so are all of them. */
  readonly height: number
  readonly blockTag: number
  /** SHA-256 after them. */
  readonly digest: Hash
}

/** The number of scripts whose state is kept, the least recently used ones are dropped: about half a kilobyte each. */
const MAX_SCRIPTS = 50_000
/** The number of transactions that are looked up at once. */
const AT_ONCE = 1_000

const kept = new LRUCache<string, Digested>({ max: MAX_SCRIPTS })

/**
 * Returns SHA-256 after the confirmed part of the history of a script as the status of the protocol has it, and the number of its
 * transactions. It continues from the part that was hashed before, unless a reorganisation has removed the end of that.
 * @param most the maximum number of transactions. @param tooLong returns the error for more.
 * @throws the error for too many; DatabaseUnavailable.
 */
export async function confirmedDigest(
  context: ReadContext,
  scriptHash: string,
  { most, tooLong }: { readonly most: number; readonly tooLong: () => Error },
): Promise<{ readonly digest: Hash; readonly count: number }> {
  const last = await lastOfScript(context, scriptHash)
  const count = last?.ordinal ?? 0
  if (count > most) throw tooLong()
  const before = kept.get(scriptHash)
  const isUsable =
    before !== undefined && before.count <= count && context.chain.blocks.has(before.height, before.blockTag)
  const digest = isUsable ? before.digest.copy() : createHash('sha256')
  const done = isUsable ? before.count : 0
  for (let from = done + 1; from <= count; from += AT_ONCE) {
    const to = Math.min(count, from + AT_ONCE - 1)
    const rows = await pageOfScript(context, scriptHash, { from, to }, last === undefined ? [] : [last])
    for (const { txid, height } of await locatedOf(rows, context)) digest.update(`${txid}:${String(height)}:`)
  }
  if (last !== undefined && count > done) {
    const { height, blockTag } = last
    kept.set(scriptHash, { count, height, blockTag, digest: digest.copy() })
  }
  return { digest, count }
}
