import { constants } from 'node:fs'
import { lstat, open, readdir, realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { ContentError } from './page.js'

/** A file of the content, and what tells that it is still the same. */
export interface Listed {
  /** Relative to the folder, with forward slashes. */
  readonly file: string
  /** Where it really is: inside the folder, without links. */
  readonly path: string
  readonly stamp: string
}

const PAGE = /\.mdx?$/
/** A page is read by people: what is larger is not one. A page in memory takes some five times its file. */
const MOST_BYTES = 1024 * 1024

/**
 * All Markdown and MDX files of a folder, in the order of their names. Hidden ones and `node_modules` are left out, and so are links to what
 * is outside of the folder; a link to a file inside is that file (as mounted volumes have them), one to a folder is not followed.
 * @throws where the folder itself cannot be read.
 */
export async function listFiles(folder: string): Promise<readonly Listed[]> {
  const root = await realpath(folder)
  const found: Listed[] = []
  const walk = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true })
    for (const entry of entries) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
      const at = join(path, entry.name)
      if (entry.isDirectory()) await walk(at).catch(vanished)
      else if (PAGE.test(entry.name)) {
        const listed = await look(root, at).catch(vanished)
        if (listed !== undefined) found.push(listed)
      }
    }
  }
  await walk(root)
  return found.sort((a, b) => (a.file < b.file ? -1 : 1))
}

async function look(root: string, at: string): Promise<Listed | undefined> {
  const path = await realpath(at)
  if (!path.startsWith(root + sep)) return undefined
  const stats = await lstat(path, { bigint: true })
  if (!stats.isFile()) return undefined
  const stamp = [stats.mtimeNs, stats.ctimeNs, stats.size, stats.ino, path].join(' ')
  return { file: relative(root, at).split(sep).join('/'), path, stamp }
}

/** What is removed while we look is not there; any other fault of a single entry hides that entry only. */
function vanished(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error)) throw error
}

/**
 * The text of a listed file.
 * @throws ContentError where it is no UTF-8 text or too large; a system error where it is gone.
 */
export async function readListed({ path }: Listed): Promise<string> {
  // It may have become a link or a pipe since it was listed: neither is followed or waited for.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new ContentError(1, 'it is not a file')
    if (stats.size > MOST_BYTES) throw new ContentError(1, `it is larger than ${String(MOST_BYTES)} bytes`)
    return decode(await handle.readFile())
  } finally {
    await handle.close()
  }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ContentError(firstBrokenLine(bytes), 'it is not UTF-8')
  }
}

function firstBrokenLine(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split('\n')
  const broken = lines.findIndex(
    (line) => Buffer.from(Buffer.from(line, 'latin1').toString('utf8')).toString('latin1') !== line,
  )
  return broken + 1
}
