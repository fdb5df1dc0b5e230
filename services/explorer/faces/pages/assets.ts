import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Coding } from '../../../compression.js'

/** A file of styles or scripts, with its compressed forms. */
export interface Asset {
  readonly type: string
  readonly body: Buffer
  readonly coded: Readonly<Record<Coding, Buffer>>
}

/** The built files of the pages. */
export interface Assets {
  /** Returns the URL of a file by the name of its source, such as `main.js`. The URL changes with the content. */
  url(source: string): string
  /** Returns a file by its built name. */
  get(name: string): Asset | undefined
  /** Returns the path under which clients reach a path of this explorer: below BASE_PATH. */
  readonly at: (path: string) => string
  /** Scheme and host of the explorer for all readers; empty if they are not known. */
  readonly origin: string
  /** True if pages have pictures for links to them. */
  readonly hasPictures: boolean
}

/** The path of the files. */
export const ASSETS = '/_explorer/'

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
}

/** The files are built into `dist/`, also for the sources when they run without a build, as in tests. */
const FOLDERS = [
  new URL('assets/', import.meta.url),
  new URL('../../../../dist/services/explorer/faces/pages/assets/', import.meta.url),
]

type Files = Pick<Assets, 'url' | 'get'>

let cachedFiles: Files | undefined

/**
 * Reads all files into memory, once.
 * @param basePath without a slash at its end.
 * @param explorerUrl the public URL of the explorer. Not set: not known; a host that a request names is not trusted.
 * @param hasPictures whether pictures can be drawn.
 * @throws Error if they have not been built.
 */
export function loadAssets(basePath = '', explorerUrl?: string, hasPictures = false): Assets {
  const files = (cachedFiles ??= readAssets())
  const at = (path: string): string => basePath + path
  const origin = explorerUrl === undefined ? '' : new URL(explorerUrl).origin
  return { get: files.get, url: (source) => at(files.url(source)), at, origin, hasPictures }
}

function readAssets(): Files {
  const folder = FOLDERS.find((each) => existsSync(new URL('manifest.json', each)))
  if (folder === undefined) throw new Error('the assets of the pages are not built: run npm run build')
  const urls = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8')) as Record<string, string>
  const names = readdirSync(folder)
  const files = new Map<string, Asset>()
  for (const name of names) {
    const type = TYPES[name.split('.').at(-1) ?? '']
    if (type === undefined) continue
    const read = (suffix: string): Buffer => readFileSync(new URL(name + suffix, folder))
    files.set(name, { type, body: read(''), coded: { br: read('.br'), gzip: read('.gz') } })
  }
  return {
    url: (source) => ASSETS + (urls[source] ?? source),
    get: (name) => files.get(name),
  }
}
