import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { download } from '../../pipelines/download.js'
import { until } from '../harness/until.js'
import { fetchedModel, fetchFiles, fetchModel, type Route } from '../../pipelines/retrieval/model/routes.js'

const CONTENT = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 256))
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const PINNED = { bytes: CONTENT.length, sha256: sha256(CONTENT) }

let folder: string
let server: Server | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-download-'))
})

afterEach(async () => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
  await rm(folder, { recursive: true, force: true })
})

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/file`
}

const options = { ...PINNED, signal: new AbortController().signal }

/** A server that supports ranges and records its requests; it closes the connection in the middle if `cut` is set. */
function ranges(requested: string[], cut?: Promise<unknown>): RequestListener {
  return (request, response) => {
    const range = request.headers.range ?? ''
    requested.push(range)
    const from = Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0)
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': CONTENT.length - from })
    if (cut === undefined) response.end(CONTENT.subarray(from))
    else {
      response.write(CONTENT.subarray(from, 100_000))
      void cut.then(() => response.destroy())
    }
  }
}

describe('download', () => {
  it('resumes where it was interrupted', async () => {
    const file = join(folder, 'file')
    const requested: string[] = []
    const some = until('some of it is there', async () => (await stat(`${file}.part`)).size > 0)
    const cutting = ranges(requested, some)
    const whole = ranges(requested)
    const url = await serve((request, response) =>
      (requested.length === 0 ? cutting : whole)(request, response),
    )
    await expect(download(url, file, options)).rejects.toThrow()
    const { size } = await stat(`${file}.part`)
    expect(size).toBeGreaterThan(0)
    await expect(stat(file)).rejects.toThrow('ENOENT')
    const seen: number[] = []
    await download(url, file, { ...options, onProgress: (bytes) => seen.push(bytes) })
    expect(requested).toEqual(['', `bytes=${String(size)}-`])
    expect(seen.at(-1)).toBe(CONTENT.length)
    expect(sha256(await readFile(file))).toBe(PINNED.sha256)
  })

  it('starts over if the server does not support ranges', async () => {
    const file = join(folder, 'file')
    await writeFile(`${file}.part`, CONTENT.subarray(0, 1000))
    await download(await serve((_, response) => response.end(CONTENT)), file, options)
    expect(sha256(await readFile(file))).toBe(PINNED.sha256)
  })

  it('rejects a file with another checksum, and keeps nothing of it', async () => {
    const file = join(folder, 'file')
    const url = await serve((_, response) => response.end(Buffer.alloc(CONTENT.length)))
    await expect(download(url, file, options)).rejects.toThrow('checksum')
    await expect(stat(file)).rejects.toThrow('ENOENT')
    await expect(stat(`${file}.part`)).rejects.toThrow('ENOENT')
  })

  it('stops if the answer is longer than the file', async () => {
    const url = await serve((_, response) => response.end(Buffer.concat([CONTENT, CONTENT])))
    await expect(download(url, join(folder, 'file'), options)).rejects.toThrow('longer')
  })

  it('reports the status of a refusal', async () => {
    const url = await serve((_, response) => response.writeHead(503).end())
    await expect(download(url, join(folder, 'file'), options)).rejects.toThrow('503')
  })
})

describe('fetchModel', () => {
  const files = { 'model.onnx': PINNED, 'tokenizer.json': PINNED }
  const quiet = (): void => undefined
  const context = { logger: { debug: quiet, info: quiet, warn: quiet, error: quiet }, signal: options.signal }
  const failing: Route = { name: 'first', files, fetch: () => Promise.reject(new Error('not to be had')) }

  it('uses the next source if one fails, and then finds the existing files', async () => {
    const url = await serve(ranges([]))
    const urls = { 'model.onnx': url, 'tokenizer.json': url }
    const second: Route = {
      name: 'second one',
      files,
      fetch: (target, reported) => fetchFiles(urls, files, target, reported),
    }
    const routes = [failing, second]
    expect(await fetchedModel(routes, folder)).toBeUndefined()
    const there = await fetchModel(routes, folder, context)
    expect(there).toBe(join(folder, 'second-one'))
    expect(await fetchedModel(routes, folder)).toBe(there)
    await writeFile(join(there, 'model.onnx'), 'something else')
    expect(await fetchedModel(routes, folder)).toBeUndefined()
  })

  it('reports the error of each source', async () => {
    const wrong: Route = {
      name: 'second',
      files,
      fetch: (target) => writeFile(join(target, 'model.onnx'), 'x'),
    }
    await expect(fetchModel([failing, wrong], folder, context)).rejects.toThrow(
      'first: not to be had; second: model.onnx has an unexpected checksum',
    )
  })
})
