import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Logger } from '../../../../../pipelines/logger.js'
import type { Origin } from '../../../../access/client-address.js'
import { addressBytes } from '../../../../access/ip-address.js'
import { assertPortFree } from '../../../../process/ports.js'
import { Backlog } from '../../../http/backlog.js'
import type { ListenAddress, Listener, ListenerFace } from '../../face.js'
import type { Shared } from '../session.js'
import type { Shares } from '../shares.js'
import { type CertificateFiles, followCertificate, readCertificate } from './certificate.js'
import { Connection } from './connection.js'

const BACKLOG_CHECK_MS = 1_000
const SOCKET_OPTIONS = { noDelay: true, keepAlive: true }
/** The time within which a client must have agreed on the encryption. */
const HANDSHAKE_MS = 10_000

interface Listeners {
  readonly shared: Shared
  readonly connections: Shares
  readonly logger: Logger
}

/** The protocol over TCP or TLS. */
export class ElectrumListener implements ListenerFace {
  readonly #parts: Listeners
  readonly #what: string
  readonly #certificate: CertificateFiles | undefined

  /** @param what the use of the port, for the error if it is in use. @param certificate undefined for TCP. */
  constructor(parts: Listeners, what: string, certificate?: CertificateFiles) {
    this.#parts = parts
    this.#what = what
    this.#certificate = certificate
  }

  async listen({ host, port, isShared }: ListenAddress): Promise<Listener> {
    // The primary of several processes has checked a port that they share.
    if (port !== 0 && !isShared) await assertPortFree(port, host, this.#what)
    const connections = new Set<Connection>()
    const backlog = new Backlog()
    const { server, end } = await this.#server((socket) => {
      this.#accept(socket, connections)
    })
    server.listen({ host, port, exclusive: !isShared })
    await once(server, 'listening')
    const checking = setInterval(() => {
      backlog.check(connections)
    }, BACKLOG_CHECK_MS).unref()
    return {
      port: (server.address() as AddressInfo).port,
      get streams() {
        return connections.size
      },
      setServing: () => undefined,
      close: async () => {
        clearInterval(checking)
        end()
        const closed = once(server, 'close')
        server.close()
        for (const connection of connections) connection.close()
        await closed
      },
    }
  }

  #accept(socket: Socket, open: Set<Connection>): void {
    const { shared, connections } = this.#parts
    const origin: Origin = { peer: addressBytes(socket.remoteAddress ?? ''), forwardedFor: '' }
    const client = shared.clientOf(origin)
    if (!connections.take(client)) {
      socket.destroy()
      return
    }
    const connection = new Connection(socket, origin, shared)
    open.add(connection)
    socket.once('close', () => {
      open.delete(connection)
      connections.give(client, 1)
    })
  }

  /** Returns a server that hands over its connections, and a function that ends what it follows. @throws StartRefused for the certificate. */
  async #server(
    accept: (socket: Socket) => void,
  ): Promise<{ readonly server: Server; readonly end: () => void }> {
    const files = this.#certificate
    // Half open: a client may end its side after its last request, as `nc -N` does.
    if (files === undefined)
      return {
        server: createServer({ ...SOCKET_OPTIONS, allowHalfOpen: true }, accept),
        end: () => undefined,
      }
    const secure = { ...SOCKET_OPTIONS, ...(await readCertificate(files)), handshakeTimeout: HANDSHAKE_MS }
    const server = createTlsServer(secure, accept)
    // A client that did not complete the handshake: its connection is closed.
    server.on('tlsClientError', () => undefined)
    return { server, end: followCertificate(server, files, this.#parts.logger) }
  }
}
