import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { coded, StartRefused } from '../pipelines/errors.js'

/** Somebody else listens there. */
export class PortTaken extends coded('HW_PORT_IN_USE', StartRefused) {
  constructor(port: number, host: string, what: string) {
    super(
      `Port ${String(port)} on ${host}, needed for ${what}, is in use: stop the process that listens there or choose another port`,
    )
  }
}

/** A port that nobody listens on at this moment; another process may take it before you do. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  return listenOnce(0, host)
}

/** @throws PortTaken where somebody listens on it, StartRefused where this machine cannot listen there. */
export async function assertPortFree(port: number, host: string, what: string): Promise<void> {
  try {
    await listenOnce(port, host)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') throw new PortTaken(port, host, what)
    throw new StartRefused(`Cannot listen on port ${String(port)} of ${host} for ${what}: ${message}`)
  }
}

/** Whether somebody listens there and takes connections: on a port of this machine, or on a socket's path. */
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

/** A host as URLs have it. */
export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** The host in URLs by which this machine reaches a server of its own that listens on `host`. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return hostInUrl(host === '::' ? '::1' : host)
}

async function listenOnce(port: number, host: string): Promise<number> {
  const server = createServer().listen({ port, host, exclusive: true })
  await once(server, 'listening')
  const taken = (server.address() as AddressInfo).port
  server.close()
  await once(server, 'close')
  return taken
}
