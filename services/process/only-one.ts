import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FolderInUse } from '../../pipelines/errors.js'
import { holdFile } from '../../pipelines/log/embedded/record-file.js'
import { isAlive } from './discovery.js'

/** The time to wait for the process id of the holder, which writes it as soon as it has the lock. */
const HOLDER_MS = 2_000
const LOOK_AGAIN_MS = 20

/**
 * Locks the folder against other supervisors, because two pollers would keep superseding each other on one log. The operating
 * system grants the lock on a file to one process and releases it when that process exits, for whatever reason.
 * @returns a function that releases the lock. @throws FolderInUse if another supervisor holds it.
 */
export async function holdFolder(dataDir: string): Promise<() => void> {
  const release = holdFile(join(dataDir, 'start.lock'))
  if (release === undefined) throw running(dataDir, await holderOf(dataDir))
  await writeFile(`${pidFile(dataDir)}.new`, String(process.pid))
  await rename(`${pidFile(dataDir)}.new`, pidFile(dataDir))
  return release
}

function running(dataDir: string, pid: number | undefined): FolderInUse {
  const who = pid === undefined ? '' : ` (process ${String(pid)})`
  return new FolderInUse(
    `Headwater is already running in ${dataDir}${who}: stop it, or set DATA_DIR to another folder`,
  )
}

const pidFile = (dataDir: string): string => join(dataDir, 'start.pid')

/** Returns whether a supervisor seems to run in the folder. Its process id may belong to another process by now. */
export async function isSupervised(dataDir: string): Promise<boolean> {
  return isAlive(await lastHolder(dataDir))
}

async function lastHolder(dataDir: string): Promise<number> {
  return Number(await readFile(pidFile(dataDir), 'utf8').catch(() => ''))
}

/** Returns the process id of the holder, undefined if no such process is visible, for example in another container. */
async function holderOf(dataDir: string): Promise<number | undefined> {
  const end = performance.now() + HOLDER_MS
  do {
    const pid = await lastHolder(dataDir)
    // A process that has exited is the previous holder: the new one is about to write the file.
    if (isAlive(pid)) return pid
    await sleep(LOOK_AGAIN_MS)
  } while (performance.now() < end)
  return undefined
}
