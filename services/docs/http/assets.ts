import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { coded, StartRefused } from '../../../pipelines/errors.js'
import { Refusal, etagOf } from './reply.js'
import type { Endpoint } from './server.js'

interface Asset {
  readonly body: Buffer
  readonly type: string
  readonly etag: string
}

export interface Assets {
  /** Returns the URL of a file in `assets/`, which changes with its content. */
  url(name: string): string
  get(name: string): Asset | undefined
  /** The name of the site's own logo; undefined if it has none. */
  readonly logo: string | undefined
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webp: 'image/webp',
}

/** The files of the documentation, and the files that it shares with the explorer's pages. */
const FOLDERS = [new URL('../assets/', import.meta.url), new URL('../../design/assets/', import.meta.url)]

/** Thrown if the file of SITE_LOGO cannot be served. */
export class LogoUnusable extends coded('HW_CONFIG_INVALID', StartRefused) {}

/**
 * Reads all assets into memory, so that no request can access the disk.
 * @param logo path of the site's own logo.
 * @throws LogoUnusable if it cannot be read, or is no SVG, PNG or WebP.
 */
export async function loadAssets(logo?: string): Promise<Assets> {
  const assets = new Map<string, Asset>()
  for (const folder of FOLDERS)
    for (const name of await readdir(folder)) {
      const type = TYPES[name.split('.').at(-1) ?? '']
      if (type === undefined) continue
      const body = await readFile(new URL(name, folder))
      assets.set(name, { body, type, etag: etagOf(body) })
    }
  const logoName = logo === undefined ? undefined : `logo${extname(logo).toLowerCase()}`
  if (logo !== undefined && logoName !== undefined) assets.set(logoName, await logoOf(logo))
  return {
    logo: logoName,
    get: (name) => assets.get(name),
    url: (name) => `/_docs/${name}?v=${assets.get(name)?.etag.replaceAll('"', '').slice(0, 8) ?? ''}`,
  }
}

async function logoOf(path: string): Promise<Asset> {
  const type = TYPES[extname(path).slice(1).toLowerCase()]
  if (type?.startsWith('image/') !== true)
    throw new LogoUnusable(`SITE_LOGO must be an SVG, PNG or WebP file, got '${path}'`)
  try {
    const body = await readFile(path)
    return { body, type, etag: etagOf(body) }
  } catch (error) {
    throw new LogoUnusable(`SITE_LOGO cannot be read: ${String(error)}`)
  }
}

/** Returns the endpoint of the styles and scripts of the pages. */
export function assetEndpoint(assets: Assets): Endpoint {
  return {
    pattern: '/_docs/*',
    methods: {
      GET: ({ segments, query }) => {
        const asset = assets.get(segments[1] ?? '')
        if (asset === undefined || segments.length !== 2) throw new Refusal('HW_NOT_FOUND', 'Not Found')
        const { body, type, etag } = asset
        const cacheHeaders = query.has('v') ? { 'cache-control': 'public, max-age=31536000, immutable' } : {}
        return { status: 200, type, body, headers: { etag, ...cacheHeaders } }
      },
    },
  }
}
