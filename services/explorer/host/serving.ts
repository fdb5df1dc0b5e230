import { StartRefused } from '../../../pipelines/errors.js'
import type { Core } from '../core/core.js'
import type { HttpFace, ListenerFace } from '../faces/face.js'
import { type ElectrumFaces, electrumFaces } from '../faces/electrum/face.js'
import { esploraFace } from '../faces/esplora/face.js'
import { ESPLORA } from '../faces/esplora/forms.js'
import { graphqlFace } from '../faces/graphql/face.js'
import { grpcFace } from '../faces/grpc/face.js'
import { pagesFace } from '../faces/pages/face.js'
import { Documents } from '../faces/rest/description/documents.js'
import { restFace } from '../faces/rest/face.js'
import { websocketFace } from '../faces/websocket/face.js'
import { clientOf } from '../../access/client-address.js'
import { EXPLORER_ESPLORA } from '../../process/ports.js'
import { RequestLimit } from '../core/answering/request-limit.js'
import { ReadAnswers } from '../http/read-answers.js'
import { attachFaces, Dispatcher } from './http/dispatch.js'
import { NodeServer } from './http/node-server.js'
import type { Server } from './http/server.js'
import type { Metrics } from './metrics.js'
import { type ExplorerOptions, PAGES_PER_REQUEST } from './options.js'
import { limitOf } from './reading.js'
import { type MetricsText, statusRoutes } from './status.js'

/** The faces of an explorer. Those of HTTP are attached to its server. */
export interface Serving {
  readonly grpc: ListenerFace
  readonly esplora: ListenerFace
  readonly electrum: ElectrumFaces
}

/** Builds the faces, and attaches the HTTP faces to the server. @throws StartRefused if a path is not free. */
export function servingOf(
  core: Core,
  options: ExplorerOptions,
  { server, metrics }: { readonly server: Server; readonly metrics: Metrics },
): Serving {
  const { explorerUrl, docsUrl, docsPort, basePath, healthToken, member } = options
  const { reader, reads } = core
  const answers = new ReadAnswers(reader)
  const enabled = { hasToken: healthToken !== undefined, hasBroadcast: core.commands !== undefined, basePath }
  const documents = new Documents(reads, () => reader.chain, enabled)
  const metricsText: MetricsText = member?.metricsText ?? (() => metrics.text())
  const openApi = (): string => documents.of('openapi').body.toString()
  const electrum = electrumOf(core, options, metrics)
  const pagesMost = PAGES_PER_REQUEST * (options.rateLimitPerMinute ?? 0)
  const pagesLimit = new RequestLimit(limitOf('pages', pagesMost, options))
  // One line for each face; if two faces have a path, the first face answers.
  const faces: readonly HttpFace[] = [
    restFace({ core, answers, documents }),
    pagesFace({
      core,
      openApi,
      basePath,
      explorerUrl,
      docsUrl,
      docsPort,
      limit: pagesLimit,
      logger: options.logger,
    }),
    graphqlFace(core, basePath),
    websocketFace(core),
    electrum.web,
    statusRoutes(core, metricsText),
  ]
  const dispatcher = attachFaces(server, { faces, reader, answers, metrics, defect: core.defect })
  assertFree(basePath, dispatcher)
  const grpc = grpcFace(core, (method, code, seconds) => {
    metrics.observeCall(method, code, seconds)
    if (code === 'INTERNAL') metrics.defect('grpc')
  })
  return { grpc, esplora: esploraOf(core, options, metrics), electrum }
}

/** Builds Esplora's HTTP API, which has a listener and a rate limit of its own. */
function esploraOf(core: Core, options: ExplorerOptions, metrics: Metrics): ListenerFace {
  const { reader, defect } = core
  const limit = new RequestLimit(limitOf('esplora', options.esploraRateLimitPerMinute, options))
  const answers = new ReadAnswers(reader, limit, 'esplora ')
  const face = esploraFace(core, answers)
  const faces = [face]
  const dispatcher = new Dispatcher({ faces, reader, answers, defect })
  return new NodeServer(
    {
      answer: (request) => dispatcher.answer(request),
      ready: (url, head) => dispatcher.ready(url, head),
      refusal: (request) => dispatcher.socketRefusal(request),
      sockets: face.sockets,
      observe: (path, answer, seconds) => {
        metrics.observe(answer.route ?? ESPLORA + dispatcher.patternOf(path), answer, seconds)
      },
    },
    { what: EXPLORER_ESPLORA, alias: '/api' },
  )
}

/** Builds the Electrum protocol over TCP, TLS and WebSocket, which have a rate limit of their own. */
function electrumOf(core: Core, options: ExplorerOptions, metrics: Metrics): ElectrumFaces {
  const { electrumHosts: hosts = {}, electrumCertificate: certificate, trustedProxyHops = 0 } = options
  return electrumFaces(core, {
    limit: new RequestLimit(limitOf('electrum', options.electrumRateLimitPerMinute, options)),
    observe: (method, code, seconds) => {
      metrics.observeElectrum(method, code, seconds)
    },
    notified: (method) => {
      metrics.notified(method)
    },
    clientOf: (origin) => clientOf(origin, trustedProxyHops),
    hosts,
    certificate,
  })
}

/**
 * Checks that the path below which clients reach the explorer is not a path of the explorer itself: below `/block`, a proxy that
 * removes the path could not be distinguished from a proxy that does not. @throws StartRefused.
 */
function assertFree(basePath = '', dispatcher: Dispatcher): void {
  const [, first = ''] = basePath.split('/')
  const paths = [`/${first}`, `/${first}/x`].filter((path) => dispatcher.patternOf(path) !== 'unknown')
  if (first !== '' && (paths.length > 0 || `/${first}` === '/api'))
    throw new StartRefused(`BASE_PATH ${basePath} is a path of the explorer itself: choose another one`)
}
