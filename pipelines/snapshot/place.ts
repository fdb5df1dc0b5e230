import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { checksumOf, download, type Pinned, WrongContent } from '../download.js'
import { CannotSnapshot } from './manifest.js'

/** A place for the files of a snapshot: a folder, or the URL of a server that stores files. */
export interface Place {
  /** For messages; without credentials. */
  readonly name: string
  /** Returns the content of a small file, undefined if there is none. */
  read(name: string): Promise<string | undefined>
  /** Returns the size of a file in bytes, undefined if there is none. */
  sizeOf(name: string): Promise<number | undefined>
  /** Stores a file: it is complete or not there. @returns its size and checksum. */
  write(name: string, content: Readable): Promise<Pinned>
  /** Stores a small file likewise. */
  writeText(name: string, content: string): Promise<void>
  /** Returns the path of a local file with the verified content of a file. @throws WrongContent. */
  local(name: string, expected: Pinned): Promise<string>
  /** Removes what `local` has made. */
  release(name: string): Promise<void>
}

/**
 * Returns the place that an argument names.
 * @param scratch folder for files on their way to and from a server.
 * @throws CannotSnapshot for a file, and for a URL that is not HTTP.
 */
export async function placeAt(argument: string, scratch: string): Promise<Place> {
  if (/^https?:\/\//i.test(argument)) {
    if (!URL.canParse(argument)) throw new CannotSnapshot('the URL is not valid')
    return new Server(argument, scratch)
  }
  if (/^[a-z][a-z\d+.-]+:\/\//i.test(argument))
    throw new CannotSnapshot('a snapshot is in a folder, or at an http or https URL')
  const folder = resolve(argument)
  const isFile = (await stat(folder).catch(() => undefined))?.isDirectory() === false
  if (isFile)
    throw new CannotSnapshot(
      `${folder} is a file: a snapshot is a folder of files, so that an interrupted one continues; name a folder`,
    )
  return new Folder(folder)
}

class Folder implements Place {
  constructor(readonly name: string) {}

  async read(name: string): Promise<string | undefined> {
    return readFile(join(this.name, name), 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    })
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return (await stat(join(this.name, name)).catch(() => undefined))?.size
  }

  async write(name: string, content: Readable): Promise<Pinned> {
    return writeWhole(join(this.name, name), content)
  }

  async writeText(name: string, content: string): Promise<void> {
    await writeWhole(join(this.name, name), [Buffer.from(content)])
  }

  async local(name: string, expected: Pinned): Promise<string> {
    const path = join(this.name, name)
    if ((await this.sizeOf(name)) === undefined) throw new WrongContent(`${path} is missing`)
    const sum = await checksumOf(path)
    if (sum !== expected.sha256)
      throw new WrongContent(`${path} is damaged: its checksum is ${sum}, not ${expected.sha256}`)
    return path
  }

  release(): Promise<void> {
    return Promise.resolve()
  }
}

/** The number of attempts of a request without any progress, and the pause before the second one. */
const ATTEMPTS = 5
const PAUSE_MS = 500
/** The time without an answer after which a small request fails. */
const ANSWER_MS = 60_000

/** The content of a request; the body is made for each attempt. */
interface Sent {
  readonly body: () => string | ReadableStream
  readonly headers?: Readonly<Record<string, string>>
}

/** A server with files: PUT stores one, GET with Range returns one or the rest of one. */
class Server implements Place {
  readonly name: string
  readonly #base: URL
  readonly #headers: Readonly<Record<string, string>>

  constructor(
    url: string,
    private readonly scratch: string,
  ) {
    const base = new URL(url)
    const login = `${decodeURIComponent(base.username)}:${decodeURIComponent(base.password)}`
    this.#headers = login === ':' ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` }
    base.username = ''
    base.password = ''
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    this.#base = base
    this.name = `${base.origin}${base.pathname}`
  }

  async read(name: string): Promise<string | undefined> {
    const response = await this.#request('GET', name)
    return response === undefined ? undefined : response.text()
  }

  async sizeOf(name: string): Promise<number | undefined> {
    const length = (await this.#request('HEAD', name))?.headers.get('content-length')
    return length === null || length === undefined ? undefined : Number(length)
  }

  async write(name: string, content: Readable): Promise<Pinned> {
    const path = await this.#scratchFile(name)
    const pinned = await writeWhole(path, content)
    // The request names the length of a file, which many servers require.
    await this.#request('PUT', name, {
      body: () => Readable.toWeb(createReadStream(path)) as ReadableStream,
      headers: { 'content-length': String(pinned.bytes) },
    })
    await rm(path)
    return pinned
  }

  async writeText(name: string, content: string): Promise<void> {
    await this.#request('PUT', name, { body: () => content })
  }

  async local(name: string, expected: Pinned): Promise<string> {
    const path = await this.#scratchFile(name)
    const { signal } = new AbortController()
    let received = 0
    for (let attempt = 1; ; attempt++) {
      let most = 0
      const onProgress = (bytes: number): void => void (most = bytes)
      const options = { ...expected, signal, onProgress, headers: this.#headers }
      try {
        await download(this.#urlOf(name), path, options)
        return path
      } catch (error) {
        if (error instanceof WrongContent || attempt >= ATTEMPTS) throw error
        if (most > received) attempt = 0
        received = Math.max(received, most)
      }
      await sleep(PAUSE_MS * attempt)
    }
  }

  async release(name: string): Promise<void> {
    await rm(await this.#scratchFile(name), { force: true })
  }

  #urlOf(name: string): string {
    return new URL(name, this.#base).href
  }

  async #scratchFile(name: string): Promise<string> {
    await mkdir(this.scratch, { recursive: true })
    return join(this.scratch, name)
  }

  /** Sends a request, again after a failure. @returns undefined if there is no such file. @throws CannotSnapshot if it is refused. */
  async #request(method: 'GET' | 'HEAD' | 'PUT', name: string, sent?: Sent): Promise<Response | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await fetch(this.#urlOf(name), {
          method,
          ...(sent === undefined
            ? { signal: AbortSignal.timeout(ANSWER_MS) }
            : { body: sent.body(), duplex: 'half' }),
          headers: { ...sent?.headers, ...this.#headers },
        })
        if (response.ok) return response
        await response.body?.cancel()
        const { status } = response
        if (method !== 'PUT' && (status === 404 || status === 410)) return undefined
        if (status < 500 && status !== 429)
          throw new CannotSnapshot(`${this.name} refuses ${method} ${name} with status ${String(status)}`)
        if (attempt >= ATTEMPTS) throw new Error(`${method} ${name} was answered with ${String(status)}`)
      } catch (error) {
        if (error instanceof CannotSnapshot) throw error
        if (attempt >= ATTEMPTS)
          throw new CannotSnapshot(`${this.name} is unreachable: ${reasonOf(error)}; run this again`, {
            cause: error,
          })
      }
      await sleep(PAUSE_MS * attempt)
    }
  }
}

/** Returns the reason of a failed `fetch`, which is the cause of its error. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message} (${cause.message})` : message
}

/** Writes a file that appears under its name when it is complete, also after a power failure. */
async function writeWhole(path: string, content: Readable | Iterable<Buffer>): Promise<Pinned> {
  await mkdir(join(path, '..'), { recursive: true })
  const part = `${path}.part`
  const hash = createHash('sha256')
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  await pipeline(content, count, createWriteStream(part, { flush: true }))
  await rename(part, path)
  const folder = await open(join(path, '..'), 'r')
  await folder.sync().finally(() => folder.close())
  return { bytes, sha256: hash.digest('hex') }
}

/** Returns the content of a local file. */
export const contentOf = (path: string): Readable => createReadStream(path)
