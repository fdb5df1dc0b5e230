import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { lstat, readdir, realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { includePaths } from './includes.js'
import { isOrderFile, orderingOf, type Ordering } from './site/order-file.js'
import { ContentError, type Included } from './page.js'

/** A file of the content, with a stamp that detects changes. */
export interface Listed {
  /** Relative to the folder, with forward slashes. */
  readonly file: string
  /** Path without symbolic links, inside the folder. */
  readonly path: string
  /** Modification and change time, size, inode and path. */
  readonly stamp: string
}

const PAGE = /\.mdx?$/
/** The maximum size of a file. Larger files are not pages for people, and in memory a page takes about five times its file. */
const MAX_BYTES = 1024 * 1024

/**
 * Returns all Markdown and MDX files of a folder and the files that order them, sorted by name. Hidden files and `node_modules` are left out, and so are links
 * to files outside the folder. A link to a file inside it counts as that file, as in mounted volumes; links to folders are not
 * followed.
 * @throws if the folder itself cannot be read.
 */
export async function listFiles(folder: string): Promise<readonly Listed[]> {
  const root = await realpath(folder)
  const files: Listed[] = []
  const walk = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true })
    const inspected = entries.map(async (entry) => {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') return
      const at = join(path, entry.name)
      if (entry.isDirectory()) await walk(at).catch(vanished)
      else if (PAGE.test(entry.name) || isOrderFile(entry.name)) {
        const listed = await inspect(root, at, entry.isFile() ? at : undefined).catch(vanished)
        if (listed !== undefined) files.push(listed)
      }
    })
    await Promise.all(inspected)
  }
  await walk(root)
  return files.sort((a, b) => (a.file < b.file ? -1 : 1))
}

/** @param real the path without symbolic links, if it is known. */
async function inspect(root: string, at: string, real?: string): Promise<Listed | undefined> {
  const path = real ?? (await realpath(at))
  if (!path.startsWith(root + sep)) return undefined
  const stats = await lstat(path, { bigint: true })
  if (!stats.isFile()) return undefined
  const stamp = [stats.mtimeNs, stats.ctimeNs, stats.size, stats.ino, path].join(' ')
  return { file: relative(root, at).split(sep).join('/'), path, stamp }
}

/** Ignores a system error of a single entry, such as a file that was just deleted: only that entry is left out. @throws any other error. */
function vanished(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error)) throw error
}

/**
 * Returns whether a file is a partial: it is included by pages, and is none itself (`_x.mdx`, `_parts/x.md`, `x.shared.mdx`). Hugo's
 * `_index.md` is the page of its folder.
 */
export const isPartial = (file: string): boolean =>
  /(^|\/)_|\.shared\.mdx?$/.test(file.replace(/(^|\/)_index\.mdx?$/, ''))

/** The maximum size of a file that orders pages. It is parsed in the process that serves, so it must not take long. */
const MAX_ORDER_BYTES = 128 * 1024

/**
 * Reads a file that orders pages.
 * @throws ContentError if it is not valid; a system error if it no longer exists.
 */
export function readOrdering(listed: Listed): Ordering {
  const text = readListed(listed)
  if (text.length > MAX_ORDER_BYTES)
    throw new ContentError(1, `it is larger than ${String(MAX_ORDER_BYTES)} characters`)
  try {
    return orderingOf(listed.file, text)
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new ContentError(1, `the order of pages cannot be read: ${reason}`)
  }
}

/** Everything that determines the draft of a page. */
export interface Source {
  readonly text: string
  /** The files that it may include, directly or through others, in the order in which they are named. */
  readonly included: readonly Included[]
  /** Stamp of the included files, as `includedStamp` returns it. */
  readonly includedStamp: string
}

/** The maximum number of files that a page includes. */
const MAX_INCLUDED = 100

/**
 * Reads a listed file and all files that it includes.
 * @throws ContentError if the file itself is not UTF-8 text or too large; a system error if it no longer exists.
 */
export async function readSource(folder: string, listed: Listed): Promise<Source> {
  const text = readListed(listed)
  const included = new Map<string, Included>()
  const waiting = includePaths(text, listed.file)
  // Before they are read: a change in between is then noticed by the next scan.
  const stamps: string[] = []
  for (
    let path = waiting.shift();
    path !== undefined && included.size < MAX_INCLUDED;
    path = waiting.shift()
  ) {
    if (included.has(path)) continue
    stamps.push(await stampOf(folder, path))
    const read = await readIncluded(folder, path)
    included.set(path, read)
    if (read.text !== undefined && PAGE.test(path)) waiting.push(...includePaths(read.text, path))
  }
  return { text, included: [...included.values()], includedStamp: stamps.join('\n') }
}

/** Returns a stamp of included files, which changes when any of them does. @param paths in the order of `Source.included`. */
export async function includedStamp(folder: string, paths: readonly string[]): Promise<string> {
  const stamps: string[] = []
  for (const path of paths) stamps.push(await stampOf(folder, path))
  return stamps.join('\n')
}

async function stampOf(folder: string, path: string): Promise<string> {
  const listed = await find(folder, path).catch(() => undefined)
  return `${path} ${listed?.stamp ?? ''}`
}

/** Returns an includable file: inside the folder, also after symbolic links, and not hidden. */
async function find(folder: string, path: string): Promise<Listed | undefined> {
  if (path.split('/').some((name) => name.startsWith('.') || name === 'node_modules')) return undefined
  const root = await realpath(folder)
  return inspect(root, join(root, path))
}

/**
 * Returns the bytes of a file of the folder, such as a picture.
 * @param path relative to the folder, with forward slashes.
 * @returns undefined if there is no such file inside the folder, or if it is hidden or larger than a page may be.
 */
export async function readFileIn(folder: string, path: string): Promise<Buffer | undefined> {
  try {
    const listed = await find(folder, path)
    return listed && bytesOf(listed)
  } catch {
    return undefined
  }
}

async function readIncluded(folder: string, path: string): Promise<Included> {
  try {
    const listed = await find(folder, path)
    if (listed === undefined) return { path, error: 'only files of the content folder can be included' }
    return { path, text: readListed(listed) }
  } catch (error) {
    if (error instanceof ContentError) return { path, error: error.message }
    vanished(error)
    return { path, error: 'it does not exist' }
  }
}

/**
 * Reads the text of a listed file. It does so at once, because a start reads thousands of files, and each asynchronous call takes longer
 * than the file; other work is done between files.
 * @throws ContentError if it is not UTF-8 text or too large; a system error if it no longer exists.
 */
function readListed(listed: Listed): string {
  return decode(bytesOf(listed))
}

/** Returns the bytes of a listed file. @throws as `readListed` does. */
function bytesOf({ path }: Listed): Buffer {
  // The file may have been replaced since it was listed: O_NOFOLLOW does not follow a link, O_NONBLOCK does not wait for a pipe.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new ContentError(1, 'it is not a file')
    if (stats.size > MAX_BYTES) throw new ContentError(1, `it is larger than ${String(MAX_BYTES)} bytes`)
    return readFileSync(file)
  } finally {
    closeSync(file)
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
