import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartRefused } from '../lifecycle.js'

/**
 * Makes sure that no other supervisor works on the folder: two pollers on one log would fight. A socket that is listened on
 * is the lock, for it ends with its process; its path is short, as sockets want, whatever the folder's is.
 * @returns what lets the folder go. @throws StartRefused where another one holds it.
 */
export async function holdFolder(dataDir: string): Promise<() => Promise<void>> {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  const path = join(tmpdir(), `headwater-${name}.sock`)
  if (await isHeld(path)) {
    throw new StartRefused(
      `Headwater is running on ${dataDir} already: stop it, or set DATA_DIR to another folder`,
    )
  }
  await rm(path, { force: true })
  const server = await listen(path)
  return () =>
    new Promise((resolve) => {
      server.close(() => {
        resolve()
      })
    })
}

function isHeld(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => {
      resolve(false)
    })
  })
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', reject)
    server.listen(path, () => {
      resolve(server.unref())
    })
  })
}
