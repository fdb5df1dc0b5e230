import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that stores files in memory: PUT, HEAD and GET with Range. */
export class FileServer {
  readonly files = new Map<string, Buffer>()
  /** The requests so far, as method, name and the first byte that was requested. */
  readonly requests: string[] = []
  /** Called before each request: true breaks its connection, in the middle of the bytes for one that has some. */
  breaks: (request: string) => boolean = () => false
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://user:secret@127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/backup`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    const name = url.replace('/backup/', '')
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0)
    const what = `${method} ${name} ${String(from)}`
    this.requests.push(what)
    const isBroken = this.breaks(what)
    if (headers.authorization !== `Basic ${Buffer.from('user:secret').toString('base64')}`)
      return void response.writeHead(401).end()
    if (method === 'PUT') {
      const chunks: Buffer[] = []
      for await (const chunk of request as AsyncIterable<Buffer>) {
        if (isBroken) return void request.destroy()
        chunks.push(chunk)
      }
      const content = Buffer.concat(chunks)
      if (content.length !== Number(headers['content-length'])) return void response.writeHead(411).end()
      this.files.set(name, content)
      return void response.writeHead(201).end()
    }
    const content = this.files.get(name)
    if (content === undefined) return void response.writeHead(404).end()
    const rest = content.subarray(from)
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length })
    if (method === 'HEAD') return void response.end()
    if (!isBroken) return void response.end(rest)
    // The client must have received the first half by then.
    response.write(rest.subarray(0, Math.ceil(rest.length / 2)), () =>
      setTimeout(() => response.destroy(), 100),
    )
  }
}
