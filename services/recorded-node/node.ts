import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callMethod } from './methods.js'
import { Playback } from './playback.js'
import { INVALID_REQUEST, PARSE_ERROR, RpcError } from './rpc-error.js'
import { Timeline } from './timeline.js'

export interface RecordedNodeOptions {
  /** The recording: JSON lines, gzipped where the name ends in .gz. */
  readonly timeline: string
  /** 0 or left out: a free one. */
  readonly port?: number
  /** The frame to begin with, from 0; beyond the last it is the last. */
  readonly frame?: number
}

export interface RecordedNode {
  readonly url: string
  /** Moves on by n frames, at most to the last. @returns the frame that is shown then. */
  step(n: number): number
  frame(): number
  /** How many frames the recording has. */
  readonly frames: number
  close(): Promise<void>
}

/** Serves a recording as the node it was taken from. Rejects where the recording cannot be read or the port is taken. */
export async function startRecordedNode(options: RecordedNodeOptions): Promise<RecordedNode> {
  const node = new Playback(Timeline.open(options.timeline), options.frame ?? 0)
  const server = createServer((request, response) => {
    answer(node, request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined)
    })
  })
  // Longer than any client keeps a connection: closing must not race with the next request.
  server.keepAliveTimeout = 120_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    frames: node.frames,
    frame: () => node.frame,
    step: (n) => {
      node.step(n)
      return node.frame
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      }),
  }
}

async function answer(node: Playback, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const url = new URL(request.url ?? '/', 'http://node')
  if (url.pathname.startsWith('/control')) {
    control(node, request.method ?? 'GET', url, response)
    return
  }
  if (request.method !== 'POST') {
    send(response, 405, 'JSONRPC server handles only POST requests')
    return
  }
  const { status, body } = answerBody(node, Buffer.concat(parts).toString())
  send(response, status, JSON.stringify(body))
}

function control(node: Playback, method: string, url: URL, response: ServerResponse): void {
  const frames = url.searchParams.get('frames') ?? '1'
  if (method === 'POST' && url.pathname === '/control/step' && /^\d{1,9}$/.test(frames))
    node.step(Number(frames))
  else if (method !== 'GET' || url.pathname !== '/control') {
    send(response, 400, JSON.stringify({ error: 'GET /control or POST /control/step?frames=N' }))
    return
  }
  send(response, 200, JSON.stringify({ frame: node.frame, frames: node.frames }))
}

function answerBody(node: Playback, text: string): { status: number; body: unknown } {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return failure(new RpcError(PARSE_ERROR, 'Parse error'), null)
  }
  if (!Array.isArray(parsed)) return answerCall(node, parsed)
  return { status: 200, body: parsed.map((call: unknown) => answerCall(node, call).body) }
}

function answerCall(node: Playback, call: unknown): { status: number; body: unknown } {
  const {
    id = null,
    method,
    params = [],
  } = (call ?? {}) as { id?: unknown; method?: unknown; params?: unknown }
  try {
    if (typeof method !== 'string') throw new RpcError(INVALID_REQUEST, 'Method must be a string')
    if (!Array.isArray(params)) throw new RpcError(INVALID_REQUEST, 'Params must be an array or object')
    return { status: 200, body: { result: callMethod(node, method, params), error: null, id } }
  } catch (error) {
    return failure(error instanceof RpcError ? error : new RpcError(-1, String(error)), id)
  }
}

function failure(error: RpcError, id: unknown): { status: number; body: unknown } {
  return {
    status: error.status,
    body: { result: null, error: { code: error.code, message: error.message }, id },
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
}
