import { extname } from 'node:path'
import { readFileIn } from '../../../pipelines/content/files.js'
import type { Page } from '../../../pipelines/content/page.js'
import type { Content } from '../../../pipelines/content/store.js'
import { etagOf, Refusal } from '../http/reply.js'
import type { Endpoint } from '../http/server.js'
import { heroOf } from './hero.js'

const TYPES: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  avif: 'image/avif',
}

/** The picture of the front page. */
export interface Picture {
  readonly url: string
  readonly alt: string
  readonly type: string
  readonly body: Buffer
  readonly etag: string
}

/** Returns the picture that a root page names in its hero; undefined if it names none, or no picture of the content folder. */
export async function pictureOf(folder: string, page: Page): Promise<Picture | undefined> {
  const { picture } = heroOf(page)
  const type =
    TYPES[
      extname(picture?.path ?? '')
        .slice(1)
        .toLowerCase()
    ]
  if (picture === undefined || type === undefined) return undefined
  const body = await readFileIn(folder, picture.path)
  if (body === undefined) return undefined
  const etag = etagOf(body)
  const url = `/_files/${picture.path.split('/').map(encodeURIComponent).join('/')}?v=${etag.slice(1, 9)}`
  return { url, alt: picture.alt, type, body, etag }
}

/**
 * Returns the endpoint of the picture of the front page. No other file of the folder can be requested. The policy lets an SVG have
 * styles of its own, and nothing else.
 */
export function pictureEndpoint(content: Content, folder: string): Endpoint {
  return {
    pattern: '/_files/*',
    methods: {
      GET: async ({ segments, query }) => {
        const root = content.page('/')
        const picture = root && (await pictureOf(folder, root))
        if (picture?.url.split('?')[0] !== `/${segments.map(encodeURIComponent).join('/')}`)
          throw new Refusal('HW_NOT_FOUND', 'Not Found')
        const { body, type, etag } = picture
        const isCurrent = query.get('v') === etag.slice(1, 9)
        const headers = {
          etag,
          'content-security-policy':
            "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'",
          ...(isCurrent ? { 'cache-control': 'public, max-age=31536000, immutable' } : {}),
        }
        return { status: 200, type, body, headers }
      },
    },
  }
}
