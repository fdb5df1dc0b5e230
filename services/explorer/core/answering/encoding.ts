import { createHash } from 'node:crypto'
import { WrittenAnswer } from '../reads/written-answer.js'

/** The bytes of an answer. */
export interface Encoded {
  readonly body: Buffer
  /** Identifies the bytes; empty if the transport does not use it. */
  readonly etag: string
}

/** The way in which a browser has to treat an answer that is not data. */
export interface Media {
  /** The header `content-type`. */
  readonly type: string
  /** The header `content-security-policy`. */
  readonly policy: string
  /** Returns whether an answer is for readers with this header `accept-language`. */
  readonly isFor: (acceptLanguage: string) => boolean
}

/** The format of a transport's answers. */
export interface Encoding {
  readonly name: 'json' | 'protobuf' | 'html' | 'csv'
  /** Set for pages and files. */
  readonly media?: Media
  /** Encodes an answer. */
  readonly encode: (answer: unknown) => Encoded
}

/** JSON. The ETag identifies the bytes, so it stays the same while blocks arrive that do not change the answer. */
export const JSON_ENCODING: Encoding = {
  name: 'json',
  encode: (answer) => encodedText(answer instanceof WrittenAnswer ? answer.json : JSON.stringify(answer)),
}

/** Returns the bytes of a text, with their ETag. */
export function encodedText(text: string): Encoded {
  // Not Buffer.from, which cuts small buffers from larger ones: one answer in the cache would keep all of such a one in memory.
  const body = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  body.write(text)
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 16)
  return { body, etag: `"${digest}"` }
}

/** Returns whether an If-None-Match header contains the tag; `*` and weak tags match as RFC 9110 defines. */
export function matchesTag(header: string, etag: string): boolean {
  return header.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tag === etag
  })
}
