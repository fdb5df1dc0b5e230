/** Puts next to the compiled code what the compiler does not copy: the SQL of the migrations. */
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const FOLDERS = ['pipelines/tables/migrations']

export function copyAssets() {
  for (const folder of FOLDERS) {
    rmSync(join(ROOT, 'dist', folder), { recursive: true, force: true })
    cpSync(join(ROOT, folder), join(ROOT, 'dist', folder), { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) copyAssets()
