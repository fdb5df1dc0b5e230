import { createHash, randomBytes } from 'node:crypto'
import { appendFile, mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DIMENSIONS } from '../model/embedding-messages.js'
import { isUnit } from '../model/vector.js'
import { PROCESS_ID } from './artefact.js'
import { CHUNKING_VERSION } from '../index/chunk.js'

const HASH_BYTES = 32
const VECTOR_BYTES = 4 * DIMENSIONS
const CHECKSUM_BYTES = 8
const RECORD_BYTES = HASH_BYTES + VECTOR_BYTES + CHECKSUM_BYTES

/**
 * A file of vectors that no index on disk contains yet, so that a process that is killed while it embeds thousands of passages
 * continues where it was. Each process writes its own; `writeArtefact` removes it. A record is the hash of a text, its vector, and a
 * checksum of both.
 */
export class Journal {
  readonly #folder: string
  readonly #path: string

  /** @param folder of the index. @param model checksum of the model. */
  constructor(folder: string, model: string) {
    this.#folder = folder
    this.#path = join(folder, `journal-${PROCESS_ID}-${randomBytes(4).toString('hex')}-${nameOf(model)}`)
  }

  /** Appends vectors by the hash of their text, in hex. Not synced: records that a crash leaves incomplete are not read. */
  async append(vectors: readonly (readonly [hash: string, vector: Float32Array])[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    await appendFile(this.#path, Buffer.concat(vectors.map((each) => recordOf(...each))))
  }
}

function recordOf(hash: string, vector: Float32Array): Buffer {
  const record = Buffer.concat([
    Buffer.from(hash, 'hex'),
    Buffer.from(vector.buffer, vector.byteOffset, VECTOR_BYTES),
  ])
  return Buffer.concat([record, checksum(record)])
}

/** Returns the vectors of a model from the journals of all processes. Each journal is read to its first invalid record. */
export async function readJournals(folder: string, model: string): Promise<Map<string, Float32Array>> {
  const vectors = new Map<string, Float32Array>()
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    if (!name.startsWith('journal-') || !name.endsWith(`-${nameOf(model)}`)) continue
    const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0))
    for (let at = 0; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
      const record = bytes.subarray(at, at + HASH_BYTES + VECTOR_BYTES)
      if (!checksum(record).equals(bytes.subarray(at + HASH_BYTES + VECTOR_BYTES, at + RECORD_BYTES))) break
      const vector = new Float32Array(Uint8Array.from(record.subarray(HASH_BYTES)).buffer)
      if (isUnit(vector)) vectors.set(record.toString('hex', 0, HASH_BYTES), vector)
    }
  }
  return vectors
}

const checksum = (bytes: Buffer): Buffer =>
  createHash('sha256').update(bytes).digest().subarray(0, CHECKSUM_BYTES)

/** Identifies the way in which vectors are made. */
const nameOf = (model: string): string =>
  createHash('sha256')
    .update(`${model} ${String(CHUNKING_VERSION)}`)
    .digest('hex')
    .slice(0, 16)
