import { createHash } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FolderInUse } from '../../pipelines/errors.js'
import { holdFile } from '../../pipelines/log/embedded/record-file.js'
import { isAlive } from '../discovery.js'
import { isOpen } from '../ports.js'

/** How long the holder's number is waited for: it writes it as soon as it has the lock. */
const HOLDER_MS = 2_000
const LOOK_AGAIN_MS = 20

/**
 * Makes sure that no other supervisor works on the folder: two pollers on one log would fight. A lock on a file in it, which
 * the operating system lets one process have and takes back when that ends, however it ends.
 * @returns what lets the folder go. @throws FolderInUse where another one holds it.
 */
export async function holdFolder(dataDir: string): Promise<() => void> {
  const letGo = holdFile(join(dataDir, 'start.lock'))
  if (letGo === undefined) throw running(dataDir, await holderOf(dataDir))
  if (await isHeldByOlderVersion(dataDir)) {
    letGo()
    throw running(dataDir, undefined)
  }
  await writeFile(`${pidFile(dataDir)}.new`, String(process.pid))
  await rename(`${pidFile(dataDir)}.new`, pidFile(dataDir))
  return letGo
}

function running(dataDir: string, pid: number | undefined): FolderInUse {
  const who = pid === undefined ? '' : ` (process ${String(pid)})`
  return new FolderInUse(
    `Headwater is already running in ${dataDir}${who}: stop it, or set DATA_DIR to another folder`,
  )
}

const pidFile = (dataDir: string): string => join(dataDir, 'start.pid')

/** Who holds the folder; undefined where that is no process that can be seen from here. */
async function holderOf(dataDir: string): Promise<number | undefined> {
  const end = performance.now() + HOLDER_MS
  do {
    const pid = Number(await readFile(pidFile(dataDir), 'utf8').catch(() => ''))
    // One that is gone held it before, and the file is about to be written again.
    if (isAlive(pid)) return pid
    await sleep(LOOK_AGAIN_MS)
  } while (performance.now() < end)
  return undefined
}

/** Versions up to 0.1 held a folder by listening on a socket. */
function isHeldByOlderVersion(dataDir: string): Promise<boolean> {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  return isOpen({ path: join(tmpdir(), `headwater-${name}.sock`) })
}
