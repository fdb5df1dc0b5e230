import { createHash } from 'node:crypto'
import { WrittenAnswer } from '../reads/written-answer.js'

/** The bytes of an answer. */
export interface Encoded {
  readonly body: Buffer
  /** Identifies the bytes; empty if the transport does not use it. */
  readonly etag: string
}

/** The format of a transport's answers. */
export interface Encoding {
  readonly name:
    | 'json'
    | 'protobuf'
    | 'html'
    | 'csv'
    | 'atom'
    | 'png'
    | 'esplora-json'
    | 'esplora-text'
    | 'esplora-bytes'
    | 'electrum'
  /** Properties of answers in this encoding that the face needs beside their bytes. Not set for data. */
  readonly media?: object
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
  // Not Buffer.from, which cuts small buffers from a larger block: one answer in the cache would keep the whole block in memory.
  const body = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  body.write(text)
  return encodedBytes(body)
}

/** Returns bytes with their ETag. */
export function encodedBytes(body: Buffer): Encoded {
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 16)
  return { body, etag: `"${digest}"` }
}
