import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** The versions of the installed packages, relative to the folder in the sources or in the build. */
const PACKAGES = `../../${import.meta.url.endsWith('.ts') ? '' : '../'}node_modules/.package-lock.json`

/**
 * Returns a hash of the code that parses pages: of the folder `pipelines/content`, and of the versions of all packages. Pages that
 * were parsed by other code are parsed again, so that nobody has to remember to increase a number.
 */
export function parserVersion(): string {
  const folder = new URL('../', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.[jt]s$/.test(name),
  )
  const hash = createHash('sha256')
  for (const name of [...files.sort(), PACKAGES]) {
    const text = read(new URL(name, folder))
    hash.update(`${name} ${String(text.length)}\n`).update(text)
  }
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
