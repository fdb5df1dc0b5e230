import type { Database } from './clickhouse.js'
import { EncodedRows, table } from './rowbinary.js'
import { Selection } from './selection.js'
import { SHOWN_HEADS, whileNewest } from './writers.js'

export const HEADS = table('heads', {
  position: 'i64',
  previous: 'i64',
  chain: 'text',
  tip_height: 'i64',
  tip_hash: 'hash',
  final_height: 'i64',
  epoch: 'u32',
  sequence: 'u64',
  disconnected: 'hashes',
  connected: 'hashes',
  blocks_before: 'count',
  reorgs_before: 'count',
  written_at: 'ms',
  writer: 'u64',
  reached: 'bool',
})

/** A published state: one row of `heads`. */
export interface Head {
  /** Position in topic `chain` of the last event that was applied to this state. */
  readonly position: number
  /** Position of the previous head, -1 for none. */
  readonly previous: number
  /** Name of the network. */
  readonly chain: string
  /** -1 for a chain without blocks. */
  readonly tipHeight: number
  readonly tipHash: string
  /** Height at and below which readers exclude only stale blocks. */
  readonly finalHeight: number
  readonly epoch: number
  readonly sequence: bigint
  /** Hashes of disconnected blocks, highest first. */
  readonly disconnected: readonly string[]
  /** Hashes of connected blocks, lowest first. */
  readonly connected: readonly string[]
  /** Number of blocks that all previous heads connected: numbers the events of the feed. */
  readonly blocksBefore: number
  /** Number of reorganisations in all previous heads. */
  readonly reorgsBefore: number
  /** Unix milliseconds; of two heads with the same position, the later head is valid. */
  readonly writtenAt: number
  /** Number of the materializer that wrote it; see `writers.ts`. */
  readonly writer: bigint
  /** True if the index was as high as the node at this head or an earlier one. */
  readonly reached: boolean
}

const HEAD = new Selection(HEADS.columns)

/** Returns the newest head, undefined before the first. */
export async function latestHead(db: Database): Promise<Head | undefined> {
  const newest = `FROM heads WHERE ${SHOWN_HEADS} ORDER BY heads.position DESC, written_at DESC LIMIT 1`
  return noteHeads(db, await HEAD.query(db, newest))[0]
}

/** Remembers the newest head that this process has read, so that it never goes back to an older one. */
function noteHeads(db: Database, heads: Head[]): Head[] {
  for (const { position } of heads) db.noteHead(position)
  return heads
}

/** The number of heads that `headsAfter` returns at most. */
export const MAX_HEADS = 1_000

/**
 * Returns heads after a position, oldest first, at most `MAX_HEADS`.
 * @param writtenAt includes heads at the position itself that were written later than this: a head may be replaced by one with
 *   a lower final height.
 */
export async function headsAfter(
  db: Database,
  position: number,
  writtenAt = Number.MAX_SAFE_INTEGER,
): Promise<Head[]> {
  const later = `FROM heads WHERE (heads.position > {position:Int64}
      OR (heads.position = {position:Int64} AND toUnixTimestamp64Milli(written_at) > {writtenAt:Int64})) AND ${SHOWN_HEADS}
    ORDER BY heads.position, written_at LIMIT 1 BY heads.position, written_at LIMIT ${String(MAX_HEADS)}`
  return noteHeads(db, await HEAD.query(db, later, { position, writtenAt }))
}

/**
 * Publishes a head.
 * @throws DatabaseUnavailable also if another writer has taken over, or rows were lost: the head is then not visible.
 */
export async function writeHead(db: Database, head: Head): Promise<void> {
  const tipHash = head.tipHash === '' ? '00'.repeat(32) : head.tipHash
  const rows = new EncodedRows(HEADS, [HEAD.write({ ...head, tipHash })])
  await db.guarded(whileNewest(head.writer), (condition) => db.insert(rows, condition))
  db.noteHead(head.position)
}

/** Identifies a head within a database. */
type HeadId = Pick<Head, 'position' | 'writtenAt'>

/**
 * Copies a range of heads to another database, which already contains the rows of their blocks.
 * @param span `after` is excluded, `to` is included; `writer` is the writer of the other database: nothing is copied if it was
 *   superseded there.
 * @throws DatabaseUnavailable, QueryRefused.
 */
export async function copyHeads(
  from: Database,
  to: Database,
  span: { readonly after: HeadId; readonly to: HeadId; readonly writer: bigint },
): Promise<void> {
  const columns = Object.keys(HEADS.columns)
  const values = columns.map((name) => (name === 'writer' ? String(span.writer) : `heads.${name}`))
  const idOf = (each: HeadId): string => `(${String(each.position)}, ${String(each.writtenAt)})`
  const isNewest = `(SELECT max(writer) FROM ${to.name}.writers) = ${String(span.writer)}`
  await to.guarded(isNewest, (condition) =>
    from.command(`INSERT INTO ${to.name}.heads (${columns.join(', ')}) SELECT ${values.join(', ')} FROM heads
     WHERE (heads.position, toUnixTimestamp64Milli(heads.written_at)) > ${idOf(span.after)}
       AND (heads.position, toUnixTimestamp64Milli(heads.written_at)) <= ${idOf(span.to)} AND ${SHOWN_HEADS}
       AND ${condition}
     LIMIT 1 BY heads.position, heads.written_at`),
  )
}
