import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface GeminiRequest {
  readonly path: string
  readonly key: string
  readonly body: {
    readonly contents: { role: string; parts: { text: string }[] }[]
    readonly systemInstruction: { parts: { text: string }[] }
  }
}

export type GeminiMode =
  | 'answers'
  | 'stays silent'
  | 'is over its quota'
  | 'is overloaded'
  | 'cuts off'
  | 'breaks in the middle'
  | 'blocks the prompt'
  | 'blocks the answer'
  | 'has nothing'
  | 'talks nonsense'
  | 'reaches its limit'
  | 'never stops streaming'

/** Text that no client may receive. */
export const SECRET = 'provider-internal-text'

const PIECES: readonly string[] = ['Run `npm ', 'start` [1].']

/** A server of Gemini's wire protocol: generateContent, and streamGenerateContent as server-sent events. */
export class FakeGemini {
  mode: GeminiMode = 'answers'
  pieces = PIECES
  readonly requests: GeminiRequest[] = []
  /** The number of streams that the client disconnected before their end. */
  left = 0
  readonly #server: Server = createServer((req, res) => void this.#answer(req, res))

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`
  }

  /** Resets the server to its initial state. */
  forget(): void {
    this.mode = 'answers'
    this.pieces = PIECES
    this.requests.length = 0
    this.left = 0
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.once('close', () => {
      if (!res.writableFinished) this.left++
    })
    const chunks: Buffer[] = []
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as GeminiRequest['body']
    this.requests.push({ path: req.url ?? '', key: String(req.headers['x-goog-api-key']), body })
    if (this.mode === 'stays silent') return
    if (this.mode === 'is over its quota') return fail(res, 429, 'RESOURCE_EXHAUSTED')
    if (this.mode === 'is overloaded') return fail(res, 503, 'UNAVAILABLE')
    if (this.mode === 'talks nonsense') {
      res.writeHead(200, { 'content-type': 'application/json' }).end(`<html>${SECRET}`)
      return
    }
    if (req.url?.includes(':streamGenerateContent?alt=sse') === true) await this.#stream(res)
    else if (this.mode === 'breaks in the middle') cut(res, '{"candidates": [')
    else res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.#whole()))
  }

  async #stream(res: ServerResponse): Promise<void> {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (value: unknown) => res.write(`data: ${JSON.stringify(value)}\r\n\r\n`)
    if (this.mode === 'blocks the prompt') send(this.#whole())
    else if (this.mode === 'never stops streaming') {
      while (!res.destroyed) {
        send(candidate('more '))
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    } else {
      for (const piece of this.mode === 'has nothing' ? [] : this.pieces) send(candidate(piece))
      if (this.mode === 'breaks in the middle') {
        // The data must arrive before the connection breaks.
        await new Promise((resolve) => setTimeout(resolve, 50))
        res.destroy()
        return
      }
      if (this.mode === 'blocks the answer') send(candidate(SECRET, 'SAFETY'))
      else if (this.mode !== 'cuts off') send(candidate('', this.#end))
    }
    res.end()
  }

  #whole(): unknown {
    if (this.mode === 'blocks the prompt')
      return { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: SECRET } }
    if (this.mode === 'blocks the answer') return candidate(SECRET, 'SAFETY')
    if (this.mode === 'has nothing') return candidate('', 'STOP')
    return candidate(this.pieces.join(''), this.#end)
  }

  get #end(): string {
    return this.mode === 'reaches its limit' ? 'MAX_TOKENS' : 'STOP'
  }
}

function candidate(text: string, finishReason?: string): object {
  const content = {
    role: 'model',
    parts: text === '' ? [] : [{ text: `${SECRET} thought`, thought: true }, { text }],
  }
  return { candidates: [{ content, ...(finishReason === undefined ? {} : { finishReason }) }] }
}

function fail(res: ServerResponse, code: number, status: string): void {
  res
    .writeHead(code, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { code, message: SECRET, status } }))
}

function cut(res: ServerResponse, text: string): void {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  res.write(text, () => res.destroy())
}
