import { blockTag } from '../../pipelines/chain/block.js'
import { sha256 } from '../../pipelines/chain/hash.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { buildList } from '../../pipelines/tables/lists/unspent.js'
import type { UnspentOutput } from '../../pipelines/tables/lists/unspent.js'

const BLOCKS = 2_000
const PER_BLOCK = 500
const UNSPENT = 10_000
/** The index in its block of the first transaction that pays the script. */
const FIRST_INDEX = 10

const hex = (text: string): string => sha256(Buffer.from(text)).toString('hex')

/**
 * A script with a million outputs, of which 990,000 are spent, in a chain whose block hashes are derived from their
 * heights.
 */
export const BUSY = {
  tip: BLOCKS + 100,
  /** The height of the list, below the tip: the last spends are above it. */
  listedAt: BLOCKS + 90,
  unspent: UNSPENT,
  hashAt: (height: number): string => hex(`block ${String(height)}`),
  /** The number of unspent outputs in the list. */
  listed(): (UnspentOutput & { readonly txid: string })[] {
    const outputs = Array.from({ length: UNSPENT }, (_, index) => index * 100).map((n) => ({
      txid: hex(String(n)),
      vout: 0,
      height: Math.floor(n / PER_BLOCK),
      blockTag: 0,
      txIndex: FIRST_INDEX + (n % PER_BLOCK),
      value: String(1000 + n),
    }))
    return outputs.sort((one, other) => other.height - one.height || (one.txid < other.txid ? -1 : 1))
  },
}

/** Returns SQL for the tag of a block. @param hash SQL of its hash. */
export const tagOf = (hash: string): string => `reinterpretAsUInt32(reverse(substring(${hash}, 29, 4)))`

/** Writes the script's rows, and the list of its unspent outputs. */
export async function writeBusyScript(db: Database, scriptHash: string): Promise<void> {
  const script = `unhex('${scriptHash}')`
  const index = `${String(FIRST_INDEX)} + n % ${String(PER_BLOCK)}`
  const block = (height: string) => tagOf(`SHA256(concat('block ', toString(${height})))`)
  const all = `SELECT number AS n, intDiv(n, ${String(PER_BLOCK)}) AS made, SHA256(toString(n)) AS txid, substring(txid, 1, 16) AS prefix,
    least(made + 1 + n % 100, ${String(BUSY.tip)}) AS gone FROM numbers(${String(BLOCKS * PER_BLOCK)})`
  await db.command(
    `INSERT INTO script_outputs SELECT ${script}, 0, 4294967295 - made, prefix, 0, 0, ${block('made')}, ${index}, 1000 + n FROM (${all})`,
  )
  await db.command(
    `INSERT INTO block_txs (height, block_tag, tx_index, txid) SELECT made, ${block('made')}, ${index}, txid FROM (${all})`,
  )
  // One output of a hundred is unspent; the last thousand were spent above the list.
  const spent = `SELECT *, if(n % 1000 = 1, ${String(BUSY.tip - 5)}, gone) AS at FROM (${all}) WHERE n % 100 != 0`
  await db.command(
    `INSERT INTO script_outputs SELECT ${script}, 1, 4294967295 - at, prefix, 0, at - made, ${block('at')}, 0, 1000 + n FROM (${spent})`,
  )
  const columns = 'script_hash, ordinal, height, block_tag, unspent_count'
  const later = `(SELECT count() FROM script_outputs WHERE spent = 1 AND height > ${String(BUSY.listedAt)})`
  const end = (ordinal: number, height: number, more: string): string =>
    `SELECT ${script}, ${String(ordinal)}, ${String(height)}, ${String(blockTag(BUSY.hashAt(height)))}, ${String(UNSPENT)} + ${more}`
  await db.command(
    `INSERT INTO script_txs (${columns}) ${end(1, BUSY.listedAt, later)}
     UNION ALL ${end(2, BUSY.tip, '0')}`,
  )
  const none = { height: -1, tag: 0, size: 0 }
  const at = { height: BUSY.listedAt, hash: BUSY.hashAt(BUSY.listedAt) }
  await buildList(db, { scriptHash, filter: `height <= ${String(BUSY.listedAt)}` }, none, at, 0n)
}
