import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { coded, StartRefused } from '../../pipelines/errors.js'

/** The uses of the explorer's ports, for the error if one is in use. */
export const EXPLORER_HTTP = 'the explorer (EXPLORER_PORT)'
export const EXPLORER_ESPLORA = 'the Esplora API (ESPLORA_PORT)'
export const EXPLORER_ELECTRUM_TLS = 'the Electrum protocol over TLS (ELECTRUM_TLS_PORT)'
export const EXPLORER_ELECTRUM = 'the Electrum protocol (ELECTRUM_PORT)'
export const EXPLORER_GRPC = 'gRPC of the explorer (EXPLORER_GRPC_PORT)'

/** The port is in use by another process. */
export class PortTaken extends coded('HW_PORT_IN_USE', StartRefused) {
  constructor(port: number, host: string, what: string) {
    super(
      `Port ${String(port)} on ${host}, needed for ${what}, is in use: stop the process that listens there or choose another port`,
    )
  }
}

/**
 * Ports below the range that operating systems give to outgoing connections (Linux: from 32768): a port of that range may be free
 * now, and in use by a connection of any process before the caller listens.
 */
const FREE_PORTS = { from: 12_000, to: 32_000 }
const TRIES = 100

/**
 * Returns a port that is free now, and that no process of this machine receives from this function until this process has ended.
 * @param range from the first number to that after the last.
 * @throws Error if this machine cannot listen on the host.
 */
export async function freePort(host = '127.0.0.1', range = FREE_PORTS): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(range.from, range.to)
    try {
      await reserve(port)
      await listenOnce(port, host)
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempt >= TRIES) throw error
    }
  }
}

/** Returns a port after checking that it is free; for port 0 a port that is free now. @throws PortTaken, StartRefused. */
export async function availablePort(port: number, host: string, what: string): Promise<number> {
  if (port === 0) return freePort(host)
  await assertPortFree(port, host, what)
  return port
}

/** Checks that a port is free. @throws PortTaken if it is in use, StartRefused if this machine cannot listen on it. */
export async function assertPortFree(port: number, host: string, what: string): Promise<void> {
  try {
    await listenOnce(port, host)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') throw new PortTaken(port, host, what)
    throw new StartRefused(`Cannot listen on port ${String(port)} of ${host} for ${what}: ${message}`)
  }
}

/** Returns whether a process accepts connections on a port, or on the path of a Unix socket. */
export async function isOpen(
  at: { readonly port: number; readonly host: string } | { readonly path: string },
): Promise<boolean> {
  const socket = connect(at)
  const isOpened = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpened
}

/** Formats a host for a URL. */
export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** Returns the host for a URL by which this machine reaches its own server that listens on `host`. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return hostInUrl(host === '::' ? '::1' : host)
}

/**
 * Reserves a number among processes that choose ports at the same time: each would find it free until the first one listens. The UDP
 * port with the same number serves as the lock, because the system releases it when its process ends.
 * @throws Error with EADDRINUSE if another process, or this one, has reserved it.
 */
async function reserve(port: number): Promise<void> {
  const socket = createSocket('udp4').unref()
  try {
    await once(socket.bind({ port, address: '127.0.0.1', exclusive: true }), 'listening')
  } catch (error) {
    socket.close()
    throw error
  }
}

async function listenOnce(port: number, host: string): Promise<number> {
  const server = createServer().listen({ port, host, exclusive: true })
  await once(server, 'listening')
  const actual = (server.address() as AddressInfo).port
  server.close()
  await once(server, 'close')
  return actual
}
