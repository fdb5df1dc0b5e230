import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { assertPortFree, EXPLORER_ELECTRUM } from '../../../process/ports.js'
import type { RequestLimit } from '../../core/answering/request-limit.js'
import type { Core } from '../../core/core.js'
import type { Listener, ListenerFace } from '../face.js'
import { Connection } from './connection.js'
import { type Status, status } from './reads/histories.js'
import { Session, type Shared } from './session.js'
import { HeaderWatch } from './watches/header-watch.js'
import { StatusWatch } from './watches/status-watch.js'

export interface ElectrumOptions {
  readonly limit: RequestLimit
  readonly observe: Shared['observe']
}

const MAX_CONNECTIONS = 10_000

/** Returns the face of the Electrum protocol, over TCP. Source: `content/explorer-api/electrum.md`. */
export function electrumFace(core: Core, options: ElectrumOptions): ListenerFace {
  return {
    async listen({ host, port, isShared }): Promise<Listener> {
      // The primary of several processes has checked a port that they share.
      if (port !== 0 && !isShared) await assertPortFree(port, host, EXPLORER_ELECTRUM)
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
      const server = createServer({ noDelay: true, keepAlive: true }, (socket) => {
        const connection = new Connection(socket, shared)
        connections.add(connection)
        socket.once('close', () => connections.delete(connection))
      })
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
