import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Where earlier versions kept the log, in LMDB. Now a folder of this name stands there: they cannot open it ("Is a directory"), and
 * so never begin a second log beside this one.
 */
const OLD_FILE = 'data.mdb'
/** The old log once all of it is in the new format. */
const CONVERTED = 'data.mdb.converted'
const LMDB_MAGIC = 0xbe_ef_c0_de
/** After the head of the first page. */
const LMDB_MAGIC_AT = 24
const README = `Headwater keeps the event log of this folder in SQLite (*.sqlite). Versions that kept it in data.mdb cannot read it;
this folder makes them refuse to start. Do not delete it.
`

/** Whether the log in a folder is still in the format of earlier versions. */
export async function isOldFormat(folder: string): Promise<boolean> {
  const found = await stat(join(folder, OLD_FILE)).catch(missing)
  // An empty file is a log that was never written.
  return found !== undefined && found.isFile() && found.size > 0
}

/** Whether the file of the old format begins as LMDB's do. Its driver ends the process where it does not. */
export async function isLmdb(folder: string): Promise<boolean> {
  const file = await open(join(folder, OLD_FILE), 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LMDB_MAGIC_AT + 4))
    return bytesRead === buffer.length && buffer.readUInt32LE(LMDB_MAGIC_AT) === LMDB_MAGIC
  } finally {
    await file.close()
  }
}

/** Puts the mark in the place of the old log, which is gone from then on: what it held must be on disk elsewhere. */
export async function markAsNewFormat(folder: string): Promise<void> {
  const mark = join(folder, OLD_FILE)
  const found = await stat(mark).catch(missing)
  if (found?.isDirectory() !== true) {
    if (found !== undefined) {
      await rename(mark, join(folder, CONVERTED))
      await syncFolder(folder)
    }
    await mkdir(mark, { recursive: true })
    await writeFile(join(mark, 'README'), README)
    await syncFolder(folder)
  }
  await rm(join(folder, CONVERTED), { force: true })
}

/** Resolves when the names in a folder would survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function missing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
