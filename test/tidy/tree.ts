import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')
const SKIPPED = new Set([
  'node_modules',
  'dist',
  'dist-client',
  '.git',
  '.data',
  'coverage',
  'gen',
  'recording',
])
const TEXT =
  /\.(ts|mjs|js|json|md|sql|proto|yaml|yml|xml|conf|service|css)$|^\.ci\/run$|^LICENSE$|Dockerfile$/

/** Paths of the project's text files, from its root; generated and recorded files are not among them. */
export const files: readonly string[] = walk('.').filter((path) => TEXT.test(path))

/** Contents of these files by path. */
export const text: ReadonlyMap<string, string> = new Map(
  files.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]),
)

function walk(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return []
    const path = relative('.', join(folder, entry.name))
    return entry.isDirectory() ? walk(path) : [path]
  })
}
