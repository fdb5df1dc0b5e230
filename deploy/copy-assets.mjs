/** Copies to dist/ what the compiler does not copy: the migrations, the styles and scripts of the pages, the examples of the API, the list of Kafka's packages. */
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const ASSETS = [
  'pipelines/tables/migrations',
  'services/docs/assets',
  'services/explorer/description/examples.json',
  'services/kafka/pom.xml',
]

export function copyAssets() {
  for (const asset of ASSETS) {
    rmSync(join(ROOT, 'dist', asset), { recursive: true, force: true })
    cpSync(join(ROOT, asset), join(ROOT, 'dist', asset), { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) copyAssets()
