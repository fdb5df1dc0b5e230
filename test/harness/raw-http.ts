import { connect, type Socket } from 'node:net'

export interface RawResponse {
  /** 0 if the connection closed, or no answer came in time. */
  readonly status: number
  readonly head: string
  readonly body: string
}

const CLOSED: RawResponse = { status: 0, head: '', body: '' }
/** uWebSockets closes connections that get no answer after ten seconds; the test does not wait for that. */
const PATIENCE_MS = 1_500

/**
 * A client that sends bytes as they are, one request after another, on a connection that it opens again after it was
 * closed.
 */
export class RawHttp {
  #socket: Socket | undefined
  #received = Buffer.alloc(0)
  #take: (() => void) | undefined

  constructor(private readonly port: number) {}

  /** @param hasBody false for HEAD, whose answer has no body whatever its length says. */
  async send(bytes: string | Buffer, hasBody = true): Promise<RawResponse> {
    const socket = (this.#socket ??= this.#open())
    this.#received = Buffer.alloc(0)
    socket.write(bytes)
    const response = await this.#answer(socket, hasBody)
    if (response.status === 0 || /\r\nconnection: close/i.test(response.head)) this.close()
    return response
  }

  /** Sends more on the open connection, and waits for nothing. */
  push(bytes: Buffer): void {
    this.#socket?.write(bytes)
  }

  /** Sends no more, and waits until the server, which has then read everything, has closed. */
  async finish(): Promise<void> {
    const socket = this.#socket
    if (socket === undefined) return
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.end()
    await closed
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #open(): Socket {
    const socket = connect(this.port, '127.0.0.1')
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#take?.()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined
      this.#take?.()
    })
    return socket
  }

  #answer(socket: Socket, hasBody: boolean): Promise<RawResponse> {
    return new Promise((resolve) => {
      const end = (response: RawResponse): void => {
        clearTimeout(timer)
        this.#take = undefined
        resolve(response)
      }
      const timer = setTimeout(() => {
        end(CLOSED)
      }, PATIENCE_MS)
      this.#take = () => {
        const whole = parse(this.#received, hasBody)
        if (whole !== undefined) end(whole)
        else if (socket.destroyed || socket.readableEnded) end(parse(this.#received, false) ?? CLOSED)
      }
    })
  }
}

function parse(bytes: Buffer, hasBody: boolean): RawResponse | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = bytes.toString('latin1', 0, end)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0)
  // uWebSockets sends it before the answer if the body has not arrived with the head.
  if (status === 100) return parse(bytes.subarray(end + 4), hasBody)
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? -1)
  const body = bytes.subarray(end + 4)
  if (!hasBody || status === 204 || status === 304) return { status, head, body: '' }
  // The parser's refusals have no length: they end with the connection.
  if (length < 0 || body.length < length) return undefined
  return { status, head, body: body.toString('utf8', 0, length) }
}
