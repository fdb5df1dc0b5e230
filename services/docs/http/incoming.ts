import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Origin } from '../../access/client-address.js'
import { addressBytes } from '../../access/ip-address.js'
import { Refusal } from './reply.js'

/** The maximum length of a URL, in characters. Those that have a meaning have some hundreds at most. */
const MAX_URL = 8_192

/** A request as handlers receive it. */
export interface Incoming {
  /** Method in upper case; GET for HEAD. */
  readonly method: string
  /** Segments of the path, percent-decoded, so they may contain slashes. The last is empty if the path ends in a slash. */
  readonly segments: readonly string[]
  readonly query: URLSearchParams
  /** Returns the value of a header, with repetitions joined by commas; empty if it is missing. */
  readonly header: (name: string) => string
  readonly origin: Origin
  /** Aborted if the client disconnects before its answer was sent. */
  readonly disconnected: AbortSignal
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

/** Parses a request. @throws Refusal if its URL is too long or malformed. */
export function incomingOf(req: IncomingMessage, res: ServerResponse): Incoming {
  const url = req.url ?? '/'
  if (url.length > MAX_URL) throw new Refusal('HW_URI_TOO_LONG', 'URI Too Long')
  const { path, query } = splitUrl(url)
  const header = (name: string): string => {
    const value = req.headers[name]
    return Array.isArray(value) ? value.join(', ') : (value ?? '')
  }
  const disconnected = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) disconnected.abort()
  })
  const peer = addressBytes(req.socket.remoteAddress ?? '')
  return {
    method: req.method === 'HEAD' ? 'GET' : (req.method ?? 'GET'),
    segments: path.slice(1).split('/').map(decode),
    query: new URLSearchParams(query),
    header,
    origin: { peer, forwardedFor: header('x-forwarded-for') },
    disconnected: disconnected.signal,
    req,
    res,
  }
}

/** Returns path and query of a request's target, which may be an absolute URL (as for proxies). */
export function splitUrl(url: string): { path: string; query: string } {
  const target = url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/#.*$/, '')
  const at = target.indexOf('?')
  const path = at < 0 ? target : target.slice(0, at)
  return { path: path.startsWith('/') ? path : `/${path}`, query: at < 0 ? '' : target.slice(at + 1) }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new Refusal('HW_INVALID_ARGUMENT', 'The path is not percent-encoded UTF-8')
  }
}

/**
 * Reads the body of a request as JSON.
 * @throws Refusal 413 if it is larger than `most` bytes, 400 if it is incomplete or not JSON.
 */
export async function readJson({ req, header, res }: Incoming, most: number): Promise<unknown> {
  const tooLarge = new Refusal('HW_BODY_TOO_LARGE', `The body must be at most ${String(most)} bytes`, {
    connection: 'close',
  })
  if (Number(header('content-length')) > most) throw tooLarge
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    // The rest is not read: the connection is closed after the answer.
    if (size > most) throw tooLarge
    chunks.push(chunk)
  }
  if (!req.complete || res.destroyed) throw new Refusal('HW_INVALID_ARGUMENT', 'The body is incomplete')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)))
  } catch {
    throw new Refusal('HW_INVALID_ARGUMENT', 'The body is not valid JSON')
  }
}

/** Returns whether an Accept header prefers Markdown to HTML: it names Markdown, with at least the weight of HTML. */
export function prefersMarkdown(accept: string): boolean {
  const weights = new Map<string, number>()
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(type, q === undefined ? 1 : Number(q.slice(2)) || 0)
  }
  const markdown = weights.get('text/markdown') ?? weights.get('text/x-markdown') ?? 0
  return markdown > 0 && markdown >= (weights.get('text/html') ?? 0)
}
