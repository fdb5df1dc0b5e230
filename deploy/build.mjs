/** Builds dist/, and the client in dist-client/, from the sources, once for all processes that start a build at the same time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyAssets } from './copy-assets.mjs'
import { buildPages } from './pages.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const FOLDERS = ['services', 'pipelines', 'proto', 'deploy', 'bench', 'test']
const SOURCES = [...FOLDERS, 'tsconfig.json', 'package-lock.json']
/** Compiled by deploy/pages.mjs, for browsers. */
const ISLANDS = join('services', 'explorer', 'faces', 'pages', 'islands')
const LOCK = join(ROOT, 'dist', '.lock')
const STAMP = join(ROOT, 'dist', '.built')
const CLIENT = join(ROOT, 'dist-client')
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
  await Promise.all([compile(), buildClient(), buildPages()])
  copyAssets()
  writeFileSync(STAMP, '')
  // A file edited during the compilation is newer than the stamp.
  utimesSync(STAMP, began, began)
}

/** Removes the types of every file by itself, which takes a twentieth of the compiler's time; `npm run check` checks them. */
async function compile() {
  const { transformWithOxc } = await import('vite')
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(folder, name)),
  ).filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.startsWith(ISLANDS))
  const options = { target: 'es2023', sourcemap: true, tsconfig: false }
  await Promise.all(
    files.map(async (file) => {
      const path = join(ROOT, file)
      const { code, map, helpersUsed } = await transformWithOxc(readFileSync(path, 'utf8'), path, options)
      const [helper] = Object.values(helpersUsed)
      if (helper !== undefined)
        throw new Error(
          `${file} would import ${helper}, which is not installed: write it in JavaScript of 2023`,
        )
      const target = join(ROOT, 'dist', file.replace(/\.ts$/, '.js'))
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, `${code}\n//# sourceMappingURL=${basename(target)}.map\n`)
      writeFileSync(`${target}.map`, JSON.stringify(map))
    }),
  )
}

/** Builds the client as a package to publish. It is for others, who need its declarations: only the compiler writes them. */
async function buildClient() {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = { cwd: ROOT, stdio: ['ignore', 2, 2] }
  const [status] = await once(spawn(process.execPath, [tsc, '-p', 'services/client'], options), 'exit')
  if (status !== 0) throw new Error('the build failed: see the lines above')
  const { name, ...rest } = readJson('services/client/package.json')
  const { version } = readJson('package.json')
  writeFileSync(join(CLIENT, 'package.json'), `${JSON.stringify({ name, version, ...rest }, null, 2)}\n`)
  copyFileSync(join(ROOT, 'services', 'client', 'README.md'), join(CLIENT, 'README.md'))
  copyFileSync(join(ROOT, 'LICENSE'), join(CLIENT, 'LICENSE'))
}

function readJson(path) {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
}

function isFresh() {
  const built = mtime(STAMP)
  return (
    built > 0 &&
    mtime(join(CLIENT, 'LICENSE')) > 0 &&
    SOURCES.every((source) => newest(join(ROOT, source)) < built)
  )
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

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureBuilt()
