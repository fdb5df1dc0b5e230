import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errorBody } from '../../pipelines/errors.js'
import { compress } from '../compression.js'
import { codingFor } from '../http/content-coding.js'
import { assertPortFree } from '../process/ports.js'

export interface Health {
  /** True returns 200, false 503. */
  readonly isWell: boolean
  readonly body: Readonly<Record<string, unknown>>
}

export interface ObservationOptions {
  readonly host: string
  /** The port to listen on; 0 picks a free one. */
  readonly port: number
  /** The purpose of the port and the name of its setting, for error messages. */
  readonly what: string
  /** Returns the metrics in Prometheus' text format. */
  readonly metrics: () => Promise<{ readonly text: string; readonly type: string }>
  readonly health: () => Health
}

export interface Observation {
  readonly port: number
  close(): void
}

/** Serves `/metrics` and `/health` of a process that has no other HTTP server. @throws PortTaken, StartRefused. */
export async function serveObservation(options: ObservationOptions): Promise<Observation> {
  const { host, port, what } = options
  if (port !== 0) await assertPortFree(port, host, what)
  const server: Server = createServer((request, response) => {
    respond(request, response, options).catch(() => {
      response.writeHead(500).end()
    })
  })
  await once(server.listen(port, host), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function respond(
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
  options: ObservationOptions,
): Promise<void> {
  const { status, type, text } = await answer(url, options)
  const whole = Buffer.from(text)
  const coding = codingFor(whole, headers['accept-encoding'] ?? '')
  const body = coding === undefined ? whole : await compress(whole, coding)
  const coded = coding === undefined ? {} : { 'content-encoding': coding }
  response.writeHead(status, { 'content-type': type, vary: 'accept-encoding', ...coded }).end(body)
}

async function answer(
  path: string,
  { metrics, health }: ObservationOptions,
): Promise<{ status: number; type: string; text: string }> {
  if (path === '/metrics') return { status: 200, ...(await metrics()) }
  const type = 'application/json'
  if (path !== '/health')
    return { status: 404, type, text: JSON.stringify(errorBody('HW_NOT_FOUND', 'Not Found')) }
  const { isWell, body } = health()
  return { status: isWell ? 200 : 503, type, text: JSON.stringify(body) }
}
