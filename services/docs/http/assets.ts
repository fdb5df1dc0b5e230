import { readdir, readFile } from 'node:fs/promises'
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
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The files of the documentation, and the files that it shares with the explorer's pages. */
const FOLDERS = [new URL('../assets/', import.meta.url), new URL('../../design/assets/', import.meta.url)]

/** Reads all assets into memory, so that no request can access the disk. */
export async function loadAssets(): Promise<Assets> {
  const assets = new Map<string, Asset>()
  for (const folder of FOLDERS)
    for (const name of await readdir(folder)) {
      const type = TYPES[name.split('.').at(-1) ?? '']
      if (type === undefined) continue
      const body = await readFile(new URL(name, folder))
      assets.set(name, { body, type, etag: etagOf(body) })
    }
  return {
    get: (name) => assets.get(name),
    url: (name) => `/_docs/${name}?v=${assets.get(name)?.etag.replaceAll('"', '').slice(0, 8) ?? ''}`,
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
