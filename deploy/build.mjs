/** Builds dist/, and the client in dist-client/, from the sources, once for all processes that start a build at the same time. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyAssets } from './copy-assets.mjs'
import { buildPages } from './pages.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const SOURCES = [
  'services',
  'pipelines',
  'proto',
  'deploy/reads-proto.ts',
  'deploy/client-reads.ts',
  'deploy/api-examples.ts',
  'bench',
  'test',
  'tsconfig.json',
  'tsconfig.build.json',
  'package-lock.json',
]
const LOCK = join(ROOT, 'dist', '.lock')
const STAMP = join(ROOT, 'dist', '.built')
const CLIENT = join(ROOT, 'dist-client', 'client.js')
const LOCK_STALE_MS = 180_000

/** Builds unless dist/ is newer than every source. @throws Error if the compiler fails. */
export async function ensureBuilt() {
  if (isFresh()) return
  await holdLock()
  try {
    if (!isFresh()) await build()
  } finally {
    rmSync(LOCK, { recursive: true, force: true })
  }
}

async function build() {
  const began = new Date()
  process.stderr.write('headwater: building dist/\n')
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  for (const project of ['tsconfig.build.json', 'services/client/tsconfig.json']) {
    const options = { cwd: ROOT, stdio: ['ignore', 2, 2] }
    const { status } = spawnSync(process.execPath, [tsc, '-p', project], options)
    if (status !== 0) throw new Error('the build failed: see the lines above')
  }
  copyAssets()
  await buildPages()
  writeFileSync(STAMP, '')
  // A file edited during the compilation is newer than the stamp.
  utimesSync(STAMP, began, began)
}

function isFresh() {
  const built = mtime(STAMP)
  return built > 0 && mtime(CLIENT) > 0 && SOURCES.every((source) => newest(join(ROOT, source)) < built)
}

/** Returns the latest modification time in a tree, folders included: their time changes when files are added or removed. */
function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs)
}

function mtime(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

async function holdLock() {
  mkdirSync(dirname(LOCK), { recursive: true })
  for (;;) {
    try {
      mkdirSync(LOCK)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (Date.now() - mtime(LOCK) > LOCK_STALE_MS) rmSync(LOCK, { recursive: true, force: true })
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
