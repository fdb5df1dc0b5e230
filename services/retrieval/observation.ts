import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Retrieval } from '../../pipelines/retrieval/retrieval.js'
import { assertPortFree } from '../ports.js'
import type { Metrics } from './metrics.js'

export interface ObservationOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly retrieval: Retrieval
  readonly metrics: Metrics
}

/** `/metrics` and `/health` of the worker, for those who watch it. @throws PortTaken, StartRefused. */
export async function serveObservation(
  options: ObservationOptions,
): Promise<{ port: number; close(): void }> {
  const { host, port } = options
  if (port !== 0) await assertPortFree(port, host, 'the metrics of retrieval (RETRIEVAL_METRICS_PORT)')
  const server: Server = createServer((request, response) => {
    answer(request.url ?? '', options).then(
      ({ status, type, text }) => {
        response.writeHead(status, { 'content-type': type }).end(text)
      },
      () => {
        response.writeHead(500).end()
      },
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function answer(
  path: string,
  { retrieval, metrics }: ObservationOptions,
): Promise<{ status: number; type: string; text: string }> {
  if (path === '/metrics') return { status: 200, ...(await metrics.text()) }
  if (path === '/health') {
    const { indexBuiltMs, indexStale, reason, ...status } = retrieval.status()
    const index = { built_at: new Date(indexBuiltMs).toISOString(), stale: indexStale }
    const text = JSON.stringify({ status: 'ok', service: 'retrieval', ...status, reason, index })
    return { status: 200, type: 'application/json', text }
  }
  return { status: 404, type: 'application/json', text: '{"error":"Not Found"}' }
}
