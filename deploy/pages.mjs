/** Bundles the scripts and styles of the explorer's pages into dist/, with hashed names and compressed copies. */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const ISLANDS = join(ROOT, 'services/explorer/faces/pages/islands')
const DESIGN = join(ROOT, 'services/design/assets')
const TARGET = join(ROOT, 'dist/services/explorer/faces/pages/assets')
const MANIFEST = join(TARGET, 'manifest.json')
const SOURCES = [ISLANDS, DESIGN, join(ROOT, 'package-lock.json'), fileURLToPath(import.meta.url)]

/** The files that pages refer to, by the names that they use. */
const ENTRIES = {
  'main.js': join(ISLANDS, 'main.ts'),
  'pages.css': join(ISLANDS, 'pages.css'),
  'theme.js': join(DESIGN, 'theme.js'),
}

const ICONS = ['icon.svg', 'favicon.ico', 'apple-touch-icon.png']

/** Bundles unless the result is newer than all sources. @throws Error if a source is invalid. */
export async function buildPages() {
  const built = statSync(MANIFEST, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (SOURCES.every((source) => newest(source) < built)) return
  rmSync(TARGET, { recursive: true, force: true })
  mkdirSync(TARGET, { recursive: true })
  const { build } = await import('vite')
  const result = await build({
    configFile: false,
    root: ISLANDS,
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      // The smallest images are not inlined either: the policy of the pages allows no data URLs.
      assetsInlineLimit: 0,
      rolldownOptions: {
        input: Object.values(ENTRIES),
        output: {
          entryFileNames: '[name]-[hash].js',
          chunkFileNames: '[name]-[hash].js',
          assetFileNames: '[name]-[hash][extname]',
        },
      },
    },
  })
  const manifest = {}
  for (const item of result.output) {
    const content = Buffer.from(item.type === 'chunk' ? item.code : item.source)
    const source = item.type === 'chunk' ? item.facadeModuleId : item.originalFileNames?.[0]
    const name = Object.keys(ENTRIES).find((each) => source?.endsWith(ENTRIES[each].split('/').at(-1) ?? ''))
    if (name?.endsWith('.css') && item.type === 'chunk') continue
    if (name !== undefined) manifest[name] = item.fileName
    write(item.fileName, content)
  }
  for (const name of ICONS) {
    const content = readFileSync(join(DESIGN, name))
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 8)
    manifest[name] = name.replace('.', `-${hash}.`)
    write(manifest[name], content)
  }
  writeFileSync(MANIFEST, JSON.stringify(manifest))
}

function write(name, content) {
  const { BROTLI_PARAM_QUALITY: quality } = constants
  writeFileSync(join(TARGET, name), content)
  writeFileSync(join(TARGET, `${name}.br`), brotliCompressSync(content, { params: { [quality]: 11 } }))
  writeFileSync(join(TARGET, `${name}.gz`), gzipSync(content, { level: 9 }))
}

function newest(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs)
}
