import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import uWS from 'uWebSockets.js'

export interface StoredAnswer {
  /** 200 by default. */
  readonly status?: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** An answer as it is sent to the child process: bytes as base64. */
type Message = readonly (readonly [
  path: string,
  status: string,
  headers: StoredAnswer['headers'],
  body: string,
])[]

/**
 * Starts the baseline of reads: a process that sends stored answers by path and does nothing else.
 * @param library the HTTP server of the process.
 */
export async function startBareServer(
  answers: ReadonlyMap<string, StoredAnswer>,
  library: 'uWebSockets' | 'node:http' = 'uWebSockets',
): Promise<{ url: string; close(): Promise<void> }> {
  const child = fork(fileURLToPath(import.meta.url), [library], { stdio: 'inherit' })
  const message: Message = [...answers].map(([path, { status = '200 OK', headers, body }]) => [
    path,
    status,
    headers,
    body.toString('base64'),
  ])
  child.send(message)
  const [port] = (await once(child, 'message')) as [number]
  return {
    url: `http://127.0.0.1:${String(port)}`,
    close: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** Returns answers with their headers, as a server sends them now, without compression. */
export async function storedAnswers(
  url: string,
  paths: readonly string[],
  accept = '*/*',
): Promise<Map<string, StoredAnswer>> {
  const stored = new Map<string, StoredAnswer>()
  for (const path of paths) {
    const answer = await fetch(new URL(path, url), { headers: { accept, 'accept-encoding': 'identity' } })
    if (!answer.ok) throw new Error(`${path}: HTTP ${String(answer.status)}`)
    const headers = [...answer.headers].filter(
      ([name]) => !/^(date|content-length|connection|uwebsockets)/.test(name),
    )
    stored.set(path, { headers, body: Buffer.from(await answer.arrayBuffer()) })
  }
  return stored
}

function serve(message: Message): void {
  const answers = new Map<string, StoredAnswer>(
    message.map(([path, status, headers, body]) => [
      path,
      { status, headers, body: Buffer.from(body, 'base64') },
    ]),
  )
  if (process.argv[2] === 'node:http') {
    serveByNode(answers)
    return
  }
  const app = uWS.App()
  app.get('/*', (res, req) => {
    const answer = answers.get(req.getUrl())
    if (answer === undefined) {
      res.writeStatus('404 Not Found').end()
      return
    }
    if (answer.status !== undefined) res.writeStatus(answer.status)
    for (const [name, value] of answer.headers) res.writeHeader(name, value)
    res.end(answer.body)
  })
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('the bare server cannot listen')
    process.send?.(uWS.us_socket_local_port(socket))
  })
}

function serveByNode(answers: ReadonlyMap<string, StoredAnswer>): void {
  const server = createServer((req, res) => {
    const answer = answers.get(req.url ?? '')
    if (answer === undefined) {
      res.writeHead(404).end()
      return
    }
    const { headers, body } = answer
    res.writeHead(200, [...headers.flat(), 'content-length', String(body.length)])
    res.end(body)
  })
  server.listen(0, '127.0.0.1', () => {
    process.send?.((server.address() as AddressInfo).port)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.once('message', serve)
