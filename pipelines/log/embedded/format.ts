import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The file in which earlier versions kept the log, in LMDB. A folder of this name replaces it: earlier versions cannot open it
 * ("Is a directory"), so they never start a second log next to this one.
 */
const OLD_FILE = 'data.mdb'
/** The name of the old log after its conversion. */
const CONVERTED = 'data.mdb.converted'
const LMDB_MAGIC = 0xbe_ef_c0_de
/** The offset of the magic number: it follows the header of the first page. */
const LMDB_MAGIC_AT = 24
const README = `Headwater keeps the event log of this folder in SQLite (*.sqlite). Versions that kept it in data.mdb cannot read it;
this folder makes them refuse to start. Do not delete it.
`

/** Returns whether the log in a folder is still in the format of earlier versions. */
export async function isOldFormat(folder: string): Promise<boolean> {
  const found = await stat(join(folder, OLD_FILE)).catch(missing)
  // An empty file is a log without records.
  return found !== undefined && found.isFile() && found.size > 0
}

/** Returns whether the file of the old format has LMDB's magic number. LMDB's driver ends the process if it has not. */
export async function isLmdb(folder: string): Promise<boolean> {
  const file = await open(join(folder, OLD_FILE), 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LMDB_MAGIC_AT + 4))
    return bytesRead === buffer.length && buffer.readUInt32LE(LMDB_MAGIC_AT) === LMDB_MAGIC
  } finally {
    await file.close()
  }
}

/** Replaces the old log with the mark of the new format. This deletes the old log, so its records must be durable elsewhere. */
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

/** Makes the names in a folder durable, even across a power failure. */
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
