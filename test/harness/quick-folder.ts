import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY_FOLDER = '/dev/shm'
const ROOM = 4 * 1024 ** 3

/**
 * Makes a folder for data whose durability no test concerns: in memory if possible, because a third of the time of the shared engine
 * was spent on syncing, and so was nearly half of that of a log's writer.
 * @param prefix the beginning of its name.
 */
export async function quickFolder(prefix: string): Promise<string> {
  const memory = await statfs(MEMORY_FOLDER).catch(() => undefined)
  const isLarge = memory !== undefined && memory.bavail * memory.bsize >= ROOM
  return mkdtemp(join(isLarge ? MEMORY_FOLDER : tmpdir(), prefix))
}
