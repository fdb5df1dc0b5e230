import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

const HERE = new URL('./', import.meta.url)
/** The versions of the installed packages, relative to this folder in the sources or in the build. */
const PACKAGES = `../${import.meta.url.endsWith('.ts') ? '' : '../'}node_modules/.package-lock.json`

/**
 * Returns a hash of the code in some folders, and of the versions of all packages. What other code has made is made again, so that
 * no number has to be increased by hand.
 * @param folders relative to `pipelines`, each with a slash at the end.
 */
export function codeVersion(...folders: readonly string[]): string {
  const hash = createHash('sha256')
  const add = (file: URL): void => {
    const text = read(file)
    hash.update(`${String(text.length)}\n`).update(text)
  }
  for (const name of folders) {
    const folder = new URL(name, HERE)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    for (const file of files.filter((each) => /\.[jt]s$/.test(each)).sort()) {
      hash.update(`${name}${file} `)
      add(new URL(file, folder))
    }
  }
  add(new URL(PACKAGES, HERE))
  return hash.digest('hex')
}

/** Returns an empty text for a file that does not exist. */
function read(file: URL): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return Buffer.alloc(0)
  }
}
