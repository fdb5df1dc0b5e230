import { createHash, type Hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { scriptKeyOf } from '../../../../../pipelines/chain/script.js'
import { AnswerTooLarge } from '../../../core/reads/answer-size.js'
import type { ReadContext } from '../../../core/reads/read.js'
import type { PlacedTx, ScriptRow } from '../../../core/tables/lookups.js'
import { keyOfScriptHash, lastRowsOfScript, locatedOf, pageOfScript } from '../../../core/reads/script.js'

/** The confirmed part of a history, which later blocks only append to. */
interface Part {
  /** The number of its transactions. */
  readonly count: number
  /** SHA-256 after them, as the status of the protocol has it. Copy it. */
  readonly digest: Hash
  /** The transactions as JSON, without brackets. Undefined if that was not required of a long one. */
  readonly json: string | undefined
}

interface Kept extends Part {
  /** The block of the last transaction: while it is on the chain, so are all of them. */
  readonly height: number
  readonly blockTag: number
  /**
   * The tip at which there were no others, and the writer of the tables: what is read while another one takes over is discarded, and read
   * again from its tables. Empty before that is known.
   */
  readonly state: string
}

/** The confirmed part of the history of a script, and the key of the script in the tables. */
export interface Confirmed extends Part {
  readonly scriptHash: string
}

/** The maximum number of transactions of a history. */
const MAX_HISTORY = 100_000
/** The number of transactions that are looked up at once. */
const AT_ONCE = 1_000
/** The number of transactions up to which a status makes their JSON too: the wallet reads the history next. */
const SHORT = 20
/** About the characters of a transaction. */
export const CHARACTERS = 110
/** About the bytes of a script that is kept, without its JSON, and the maximum of all. */
const [KEPT_BYTES, MAX_KEPT_BYTES] = [600, 40_000_000]

/** By script hash of the protocol: all of them were compared with the script. The least recently used ones are dropped. */
const kept = new LRUCache<string, Kept>({
  maxSize: MAX_KEPT_BYTES,
  sizeCalculation: ({ json = '' }) => KEPT_BYTES + json.length,
})

const EMPTY: Part = { count: 0, digest: createHash('sha256'), json: '' }

function appended({ count, digest: before, json }: Part, txs: readonly PlacedTx[]): Part {
  const digest = before.copy()
  for (const { txid, height } of txs) digest.update(`${txid}:${String(height)}:`)
  const part = { count: count + txs.length, digest }
  if (json === undefined || txs.length === 0) return { ...part, json }
  const lines = txs.map(({ txid, height }) => `{"tx_hash":"${txid}","height":${String(height)}}`)
  return { ...part, json: `${json}${json === '' ? '' : ','}${lines.join(',')}` }
}

/**
 * Returns the confirmed part of the history of a script, and records that the answer depends on the script. It reads nothing if it did so
 * before at this tip, and otherwise continues from what it hashed before, unless a reorganisation has removed the end of that.
 * @param hash of the script as in the protocol. @param needsJson true if the transactions are required.
 * @throws AnswerTooLarge; DatabaseUnavailable.
 */
export async function confirmedOf(
  context: ReadContext,
  hash: string,
  needsJson: boolean,
): Promise<Confirmed> {
  const { chain, size, validity } = context
  const claimed = scriptKeyOf(hash) ?? ''
  validity.dependsOn(claimed)
  const before = kept.get(hash)
  const isEnough = before !== undefined && (before.json !== undefined || !needsJson)
  const state = `${String(chain.fence)} ${chain.tipHash}`
  if (isEnough && before.state === state) return { ...before, scriptHash: claimed }
  const [scriptHash, rows] = await Promise.all([
    before === undefined ? keyOfScriptHash(context, hash) : claimed,
    lastRowsOfScript(context, claimed),
  ])
  const last = rows.at(-1)
  if (scriptHash !== claimed || last === undefined) return { ...EMPTY, scriptHash }
  const { ordinal: count } = last
  // Not shortened: a wallet would take it for the whole history.
  if (count > MAX_HISTORY) throw new AnswerTooLarge('history too large')
  if (needsJson) await size.reserve(CHARACTERS * count)
  const isUsable = isEnough && before.count <= count && chain.blocks.has(before.height, before.blockTag)
  let part: Part = isUsable ? before : needsJson || count <= SHORT ? EMPTY : { ...EMPTY, json: undefined }
  const keep = (at: ScriptRow, readAt: string): void => {
    kept.set(hash, { ...part, height: at.height, blockTag: at.blockTag, state: readAt })
  }
  while (part.count < count) {
    const to = Math.min(count, part.count + AT_ONCE)
    const page = await pageOfScript(context, claimed, { from: part.count + 1, to }, rows)
    part = appended(part, await locatedOf(page, context))
    // Also of a part: a request that takes too long is repeated, and continues here.
    const end = page.at(-1)?.row
    if (end !== undefined) keep(end, '')
  }
  keep(last, state)
  return { ...part, scriptHash }
}
