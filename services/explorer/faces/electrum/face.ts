import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Logger } from '../../../../pipelines/logger.js'
import { assertPortFree, EXPLORER_ELECTRUM, EXPLORER_ELECTRUM_TLS } from '../../../process/ports.js'
import type { RequestLimit } from '../../core/answering/request-limit.js'
import type { Core } from '../../core/core.js'
import type { Listener, ListenerFace } from '../face.js'
import { type CertificateFiles, followCertificate, readCertificate } from './certificate.js'
import { Connection } from './connection.js'
import { type Status, status } from './reads/histories.js'
import { Session, type Shared } from './session.js'
import { HeaderWatch } from './watches/header-watch.js'
import { StatusWatch } from './watches/status-watch.js'

export interface ElectrumOptions {
  readonly limit: RequestLimit
  readonly observe: Shared['observe']
  /** The certificate for TLS. Not set: connections are not encrypted. */
  readonly tls?: CertificateFiles | undefined
}

const MAX_CONNECTIONS = 10_000

/** Returns the face of the Electrum protocol, over TCP or TLS. Source: `content/explorer-api/electrum.md`. */
export function electrumFace(core: Core, options: ElectrumOptions): ListenerFace {
  return {
    async listen({ host, port, isShared }): Promise<Listener> {
      // The primary of several processes has checked a port that they share.
      const what = options.tls === undefined ? EXPLORER_ELECTRUM : EXPLORER_ELECTRUM_TLS
      if (port !== 0 && !isShared) await assertPortFree(port, host, what)
      const statuses: StatusWatch = new StatusWatch(core, (hash) => currentStatus(own, hash))
      const headers = new HeaderWatch(core, () => {
        statuses.tipChanged()
      })
      const shared: Shared = { core, ...options, headers, statuses }
      // Reads for all subscribers.
      const own = new Session(shared, {
        origin: { peer: new Uint8Array(), forwardedFor: '' },
        send: () => undefined,
        end: () => undefined,
      })
      const connections = new Set<Connection>()
      const accept = (socket: Socket): void => {
        const connection = new Connection(socket, shared)
        connections.add(connection)
        socket.once('close', () => connections.delete(connection))
      }
      const { server, end } = await serverOf(accept, options.tls, core.logger)
      server.maxConnections = MAX_CONNECTIONS
      server.listen({ host, port, exclusive: !isShared })
      await once(server, 'listening')
      headers.start()
      return {
        port: (server.address() as AddressInfo).port,
        get streams() {
          return connections.size
        },
        setServing: () => undefined,
        close: async () => {
          headers.close()
          statuses.close()
          own.close()
          end()
          const closed = once(server, 'close')
          server.close()
          for (const connection of connections) connection.close()
          await closed
        },
      }
    },
  }
}

async function currentStatus(own: Session, hash: string): Promise<Status | undefined> {
  const answer = await own.read({ read: status, args: { hash } })
  return typeof answer === 'string' ? (JSON.parse(answer) as Status) : undefined
}

const SOCKET_OPTIONS = { noDelay: true, keepAlive: true }
/** The time within which a client must have agreed on the encryption. */
const HANDSHAKE_MS = 10_000

/** Returns a server that hands over its connections, and a function that ends what it follows. @throws StartRefused for the certificate. */
async function serverOf(
  accept: (socket: Socket) => void,
  files: CertificateFiles | undefined,
  logger: Logger,
): Promise<{ readonly server: Server; readonly end: () => void }> {
  if (files === undefined) return { server: createServer(SOCKET_OPTIONS, accept), end: () => undefined }
  const secure = { ...SOCKET_OPTIONS, ...(await readCertificate(files)), handshakeTimeout: HANDSHAKE_MS }
  const server = createTlsServer(secure, accept)
  // A client that did not complete the handshake: its connection is closed.
  server.on('tlsClientError', () => undefined)
  return { server, end: followCertificate(server, files, logger) }
}
