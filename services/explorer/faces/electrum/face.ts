import type { Origin } from '../../../access/client-address.js'
import { EXPLORER_ELECTRUM, EXPLORER_ELECTRUM_TLS } from '../../../process/ports.js'
import type { RequestLimit } from '../../core/answering/request-limit.js'
import type { Core } from '../../core/core.js'
import { errorAnswer, failedAsJson, GET } from '../../http/answer.js'
import type { HttpFace, ListenerFace } from '../face.js'
import type { CertificateFiles } from './transports/certificate.js'
import { ElectrumListener } from './transports/listener.js'
import type { Hosts } from './hosts.js'
import { type Status, status } from './reads/histories.js'
import { isPassing } from './refusal.js'
import { MAX_MESSAGE_BYTES, Session, type Shared } from './session.js'
import { Shares } from './shares.js'
import { socketSession } from './transports/socket.js'
import { Turns } from './turns.js'
import { HeaderWatch } from './watches/header-watch.js'
import { type ReadStatuses, StatusWatch } from './watches/status-watch.js'

export interface ElectrumOptions {
  readonly limit: RequestLimit
  readonly observe: Shared['observe']
  readonly notified: Shared['notified']
  readonly clientOf: (origin: Origin) => string
  readonly hosts: Hosts
  /** The certificate for TLS; undefined if there is none. */
  readonly certificate: CertificateFiles | undefined
}

/** The Electrum protocol over each transport. Clients of all of them share limits and watches. */
export interface ElectrumFaces {
  readonly tcp: ListenerFace
  readonly tls: ListenerFace
  /** WebSocket at /electrum. */
  readonly web: HttpFace
  /** The number of connected clients, and of their subscriptions to scripts. */
  readonly clients: number
  readonly subscriptions: number
  close(): void
}

/** The maximum number of connections, and of subscriptions to scripts, in this process. */
const CONNECTIONS = { all: 10_000, each: 1_000 }
const SUBSCRIPTIONS = { all: 1_000_000, each: 250_000 }
/** The answers that are made at once: fewer than an explorer makes, so that other faces have room. */
const MAX_ANSWERS = 200
/** The bytes that may wait for a WebSocket client. */
const MAX_BACKLOG_BYTES = 32 * 2 ** 20
const PATH = '/electrum'

/** Returns the faces of the Electrum protocol. Source: `content/explorer-api/electrum.md`. */
export function electrumFaces(core: Core, options: ElectrumOptions): ElectrumFaces {
  const statuses: StatusWatch = new StatusWatch(core, (hashes) => readStatuses(own)(hashes))
  const headers = new HeaderWatch(core, () => {
    statuses.tipChanged()
  })
  const subscriptions = new Shares(SUBSCRIPTIONS)
  const shared: Shared = { core, ...options, headers, statuses, subscriptions, turns: new Turns(MAX_ANSWERS) }
  // Reads for all subscribers.
  const own = new Session(shared, {
    origin: { peer: new Uint8Array(), forwardedFor: '' },
    answer: () => Promise.resolve(),
    send: () => undefined,
    end: () => undefined,
  })
  headers.start()
  const connections = new Shares(CONNECTIONS)
  const listeners = { shared, connections, logger: core.logger }
  return {
    tcp: new ElectrumListener(listeners, EXPLORER_ELECTRUM),
    tls: new ElectrumListener(listeners, EXPLORER_ELECTRUM_TLS, options.certificate),
    web: webFace(shared, connections),
    get clients() {
      return connections.total
    },
    get subscriptions() {
      return subscriptions.total
    },
    close: () => {
      headers.close()
      statuses.close()
      own.close()
    },
  }
}

const readStatuses =
  (own: Session): ReadStatuses =>
  async (hashes) => {
    const answers = await own.readAll(hashes.map((hash) => ({ read: status, args: { hash } })))
    const read = answers.filter(([, answer]) => typeof answer === 'string' || !isPassing(answer))
    return new Map(
      read.map(([{ args }, answer]) => [
        args['hash'] ?? '',
        typeof answer === 'string' ? (JSON.parse(answer) as Status) : undefined,
      ]),
    )
  }

/** Returns the face of the protocol as WebSocket messages. */
function webFace(shared: Shared, connections: Shares): HttpFace {
  const handle = () => errorAnswer('HW_UPGRADE_REQUIRED', 'Upgrade Required', [['upgrade', 'websocket']])
  return {
    routes: [{ pattern: PATH, methods: GET, isLimited: false, handle }],
    failed: failedAsJson,
    sockets: [
      {
        paths: [PATH],
        // Clients need not offer a protocol.
        choose: (offered) => offered,
        sizes: { message: MAX_MESSAGE_BYTES, backlog: MAX_BACKLOG_BYTES },
        open: (socket, origin) => {
          const client = shared.clientOf(origin)
          const isTaken = connections.take(client)
          const session = socketSession(socket, origin, shared)
          if (!isTaken) socket.close(TRY_AGAIN_LATER, 'too many connections')
          return {
            message: (text, isBinary) => {
              if (isTaken) session.message(text, isBinary)
            },
            closed: (code, reason) => {
              session.closed(code, reason)
              if (isTaken) connections.give(client, 1)
            },
          }
        },
      },
    ],
  }
}

const TRY_AGAIN_LATER = 1013
