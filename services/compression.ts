import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** The formats in which answers are compressed, by their names in HTTP. */
export type Coding = 'br' | 'gzip'

/** Shorter bodies fit into one or two packets anyway. */
export const LEAST_COMPRESSED = 1_024
/** Brotli's default is made for files that are compressed once and served for years; this one takes as long as gzip. */
const BROTLI_QUALITY = 5

const brotliAsync = promisify(brotliCompress)
const gzipAsync = promisify(gzip)

/** Compresses a body outside the event loop. */
export function compress(body: Buffer, coding: Coding): Promise<Buffer> {
  if (coding === 'gzip') return gzipAsync(body)
  const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_SIZE_HINT: size } = constants
  return brotliAsync(body, { params: { [quality]: BROTLI_QUALITY, [size]: body.length } })
}
