import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { WrongContent } from '../download.js'
import type { EventLog, Topic } from '../log/port.js'
import { recordsOf } from '../log/records.js'
import { CannotSnapshot } from './manifest.js'
import { contentOf } from './place.js'

/** The topics of a snapshot: the chain, and which of its events are skipped. */
export const SNAPSHOT_TOPICS = ['chain', 'dead-letters'] as const satisfies readonly Topic[]

/** Records are small, or blocks: so many are in memory at once. */
const READ_AT_ONCE = 64
const APPENDED_BYTES = 8 * 2 ** 20
/** Signatures and keys, most of a block, do not become smaller at any level. */
const GZIP_LEVEL = 1
/** The size of chunks of decompressed bytes: a block is put together from few of them. */
const CHUNK_BYTES = 2 ** 20

/** A file with records of a topic, each as its length in four bytes (little-endian) and its bytes, compressed with gzip. */
export interface RecordsFile {
  readonly content: Readable
  /** The number of its records and the position of the last one; valid when the content was read. */
  readonly written: { rows: number; last: number }
}

/**
 * Returns a file with the records of a topic from one position to another, both inclusive; it ends after the record with which it
 * reaches its size.
 * @param fileBytes its size before it is compressed.
 */
export function recordsFile(
  log: EventLog,
  topic: Topic,
  { from, to, fileBytes }: { readonly from: number; readonly to: number; readonly fileBytes: number },
): RecordsFile {
  const written = { rows: 0, last: from - 1 }
  async function* framed(): AsyncGenerator<Buffer> {
    let bytes = 0
    for await (const { position, value } of recordsOf(log, topic, from, to, READ_AT_ONCE)) {
      if (position !== written.last + 1)
        throw new CannotSnapshot(
          `topic ${topic} has lost record ${String(written.last + 1)} meanwhile: start over`,
        )
      const length = Buffer.alloc(4)
      length.writeUInt32LE(value.length)
      yield Buffer.concat([length, value])
      written.rows++
      written.last = position
      bytes += value.length
      if (bytes >= fileBytes) return
    }
  }
  const content = createGzip({ level: GZIP_LEVEL })
  // Its error ends the reading of the content.
  pipeline(Readable.from(framed()), content).catch(() => undefined)
  return { content, written }
}

/**
 * Appends the records of a file to a topic, except those that it has already.
 * @param first the position of the first record of the file.
 * @throws WrongContent if the topic does not end where the file continues it, or the file is not one of records.
 */
export async function appendRecords(log: EventLog, topic: Topic, path: string, first: number): Promise<void> {
  let next = first
  let last = await log.last(topic)
  if (last < first - 1) throw new WrongContent(`topic ${topic} has no record ${String(first - 1)}`)
  let batch: Uint8Array[] = []
  let bytes = 0
  const append = async (): Promise<void> => {
    if (batch.length > 0) last = await log.append(topic, batch)
    if (last !== next - 1)
      throw new WrongContent(`topic ${topic} ends at ${String(last)}: another process has written to it`)
    batch = []
    bytes = 0
  }
  const isHeld = (): boolean => next <= last && batch.length === 0
  for await (const value of valuesIn(path)) {
    if (!isHeld()) {
      batch.push(value)
      bytes += value.length
    }
    next++
    if (bytes >= APPENDED_BYTES) await append()
  }
  if (batch.length > 0) await append()
}

async function* valuesIn(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  const content = contentOf(path)
  for await (const chunk of content.pipe(createGunzip({ chunkSize: CHUNK_BYTES })) as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const length = rest.length < 4 ? Number.POSITIVE_INFINITY : rest.readUInt32LE()
      if (rest.length < 4 + length) break
      yield rest.subarray(4, 4 + length)
      rest = rest.subarray(4 + length)
    }
  }
  if (rest.length > 0) throw new WrongContent(`${path} ends within a record`)
}
