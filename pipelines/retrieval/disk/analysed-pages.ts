import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { codeVersion } from '../../code-version.js'
import { PROCESS_ID, WORDS } from './artefact.js'
import type { AnalysedPages } from '../index/snapshot.js'

const DIGEST_BYTES = 32

/** Writes analysed pages into the folder of the index, replacing its earlier file. Not synced: the checksum detects an incomplete file. */
export async function writeAnalysed(folder: string, analysed: AnalysedPages): Promise<void> {
  const body = serialize(analysed)
  const part = join(folder, `${WORDS}-${PROCESS_ID}-${randomBytes(4).toString('hex')}`)
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(part, Buffer.concat([digest(version()), digest(body), body]))
    await rename(part, join(folder, WORDS))
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined)
    throw error
  }
}

/** Returns the analysed pages on disk; undefined if there are none, if they are damaged, or if other code has made them. */
export async function readAnalysed(folder: string): Promise<AnalysedPages | undefined> {
  const bytes = await readFile(join(folder, WORDS)).catch(() => Buffer.alloc(0))
  const body = bytes.subarray(2 * DIGEST_BYTES)
  const head = Buffer.concat([digest(version()), digest(body)])
  return head.equals(bytes.subarray(0, 2 * DIGEST_BYTES)) ? (deserialize(body) as AnalysedPages) : undefined
}

const digest = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest()

/** Identifies the code that analyses pages, and the format in which V8 serialises the result. */
const version = (): string => `${codeVersion('retrieval/')} ${process.versions.v8}`
