import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import type { ReadableStream } from 'node:stream/web'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { coded } from './errors.js'

/** Thrown if a server does not have the file, or has another content: a retry does not help. */
export class WrongContent extends coded('HW_FILE_DAMAGED') {}

/** The expected size and content of a file. */
export interface Pinned {
  readonly bytes: number
  /** SHA-256 in hex. */
  readonly sha256: string
}

export interface DownloadOptions extends Pinned {
  readonly signal: AbortSignal
  /** Called with the number of bytes received so far, including bytes of earlier attempts. */
  readonly onProgress?: (bytes: number) => void
  /** Additional headers of the request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The time without data after which a download fails. */
const SILENT_MS = 30_000

/**
 * Downloads a file over HTTP. It resumes an earlier attempt (`file.part`) if the server supports that. The file appears only when
 * its checksum is correct.
 * @throws WrongContent; Error with the reason. The bytes received so far are kept, unless their checksum is wrong.
 */
export async function download(url: string, file: string, options: DownloadOptions): Promise<void> {
  const part = `${file}.part`
  const have = await sizeOf(part)
  if (have < options.bytes) await fetchRest(url, part, have, options)
  const sum = await checksumOf(part)
  if (sum !== options.sha256) {
    await rm(part, { force: true })
    throw new WrongContent(`${url} has the checksum ${sum}, not ${options.sha256}`)
  }
  await rename(part, file)
}

async function fetchRest(url: string, part: string, have: number, options: DownloadOptions): Promise<void> {
  const silence = new AbortController()
  const signal = AbortSignal.any([options.signal, silence.signal])
  const timer = setTimeout(
    () => silence.abort(new Error(`${url} sent nothing for ${String(SILENT_MS / 1000)} s`)),
    SILENT_MS,
  )
  try {
    const response = await fetch(url, {
      signal,
      headers: { ...options.headers, ...(have > 0 ? { range: `bytes=${String(have)}-` } : {}) },
    })
    if (response.status === 404 || response.status === 410) throw new WrongContent(`${url} does not exist`)
    if (!response.ok || response.body === null) throw new Error(`${url} answered ${String(response.status)}`)
    const resumed = response.status === 206
    let bytes = resumed ? have : 0
    const count = new Transform({
      transform(chunk: Buffer, _, done) {
        timer.refresh()
        bytes += chunk.length
        options.onProgress?.(bytes)
        // More bytes than the file has: it is another file.
        done(
          bytes > options.bytes
            ? new WrongContent(`${url} is longer than ${String(options.bytes)} bytes`)
            : null,
          chunk,
        )
      },
    })
    await pipeline(
      // fetch and node:stream/web declare the class ReadableStream separately.
      Readable.fromWeb(response.body as ReadableStream),
      count,
      createWriteStream(part, { flags: resumed ? 'a' : 'w' }),
      { signal },
    )
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the SHA-256 of a file's content, in hex. */
export async function checksumOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0
}
